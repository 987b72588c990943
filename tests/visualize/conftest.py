"""A real browser, started once for the tests of this folder, and pages for it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync --hide-scrollbars --force-device-scale-factor=1"
)


class Browser:
    """Opens pages, and tells what they ask for and complain about."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, path: Path) -> None:
        """Open a file, and forget what was logged before."""
        self.driver.get("about:blank")
        self.complaints()
        self.requests()
        self.driver.get(path.as_uri())

    def run(self, script: str, *arguments: Any) -> Any:
        """Return what a script returns; `viewer` is the page's viewer."""
        viewer = "const viewer = document.querySelector('.surpass-viewer').surpassViewer;"
        return self.driver.execute_script(viewer + script, *arguments)

    def press(self, *keys: str) -> None:
        """Press keys, by what a browser calls them."""
        from selenium.webdriver.common.action_chains import ActionChains

        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def resize(self, width: int, height: int = 900, scheme: str = "light") -> None:
        """Make the window as large as this, light or dark."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def complaints(self) -> list[str]:
        """Return what the console says since it was last asked."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Return what was requested since it was last asked."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [event for event in events if event["method"] == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in asked]

    def wait(self, script: str) -> None:
        """Wait until a script returns something true."""
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, 60, poll_frequency=0.05).until(lambda _: self.run(f"return {script}"))


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="the tests in a browser need selenium")
    from selenium.webdriver.chrome.service import Service

    binary = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver_file = shutil.which("chromedriver")
    if not binary or not driver_file:
        pytest.skip("there is no Chromium with its chromedriver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(driver_file))
    try:
        yield Browser(driver)
    finally:
        driver.quit()
