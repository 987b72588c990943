"""Whatever is wrong with a cluster is one sentence, and nothing is left running after Ctrl-C."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import surpass
from surpass.errors import MissingExtraError, SettingError
from surpass.workers.runner import open_runner
from tests.engine.test_interrupts import hear_interrupts
from tests.workers.conftest import LOOPBACK, TwoNodes

ROOT = Path(__file__).parents[2]


@pytest.fixture
def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def refused(on: str, match: str) -> None:
    with pytest.raises(SettingError, match=match) as caught:
        surpass.evaluate("teacher:bubble_sort", sizes=[3], instances=4, on=on)
    assert "\n" not in str(caught.value)


def test_nothing_at_the_address(cluster: TwoNodes, free_port: int) -> None:
    refused(f"ray=127.0.0.1:{free_port}", f"there is no Ray cluster at 127.0.0.1:{free_port}: .*refused")


@pytest.mark.parametrize("address", ["ray://127.0.0.1:10001", "nowhere", "a:b", "a:99999999"])
def test_what_is_no_address(cluster: TwoNodes, address: str) -> None:
    refused(f"ray={address}", "it must be HOST:PORT")


def test_ray_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match="Ray"), open_runner("ray"):
        pass


def test_another_version_of_ray(cluster: TwoNodes, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    monkeypatch.setattr(ray, "__version__", "1.2.3")
    refused(f"ray={cluster.address}", "has another version than here: .*1.2.3")


def test_a_worker_without_the_package(cluster: TwoNodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    blocked = """
        import sys

        class Nowhere:
            def find_spec(self, name, *_):
                if name.partition(".")[0] == "surpass":
                    raise ModuleNotFoundError("No module named 'surpass'", name="surpass")

        sys.meta_path.insert(0, Nowhere())
    """
    (tmp_path / "sitecustomize.py").write_text(textwrap.dedent(blocked))
    known = ray.init

    def init_elsewhere(**options: object) -> object:
        return known(**options, runtime_env={"env_vars": {"PYTHONPATH": str(tmp_path)}})  # type: ignore[arg-type]

    monkeypatch.setattr(ray, "init", init_elsewhere)
    refused(f"ray={cluster.address}", "a worker of the Ray cluster has no surpass; install surpass there")


def test_a_worker_with_other_sources(cluster: TwoNodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surpass.workers.cluster.source_version", lambda: "another")
    refused(f"ray={cluster.address}", "has other sources of surpass; install the same version everywhere")


def test_a_full_object_store(cluster: TwoNodes, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    def full(*_: object, **__: object) -> None:
        raise ray.exceptions.ObjectStoreFullError("Failed to put\n object in the object store")

    with open_runner(f"ray={cluster.address}") as runner:
        replicas = runner.replicate(dict)
        monkeypatch.setattr(ray, "get", full)
        with pytest.raises(SettingError, match="object store"):
            replicas.ask("keys", [()])


def test_what_cannot_be_shared_out(cluster: TwoNodes, tmp_path: Path) -> None:
    with open_runner(f"ray={cluster.address}") as runner:
        for method, policy in (("imitation", {}), ("rl", {"policy": "network"})):
            with pytest.raises(SettingError, match="discover"):
                surpass.learn("search", method, out=tmp_path / "a", on=runner, settings=policy)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_workers_do_not_see(cluster: TwoNodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from surpass.workers.runner import Job

    monkeypatch.setattr(Path, "write_text", lambda *_: None)  # as a file system that only this machine has
    with open_runner(f"ray={cluster.address}") as runner, pytest.raises(SettingError, match=r"does not see .*share"):
        list(runner.run([Job("a", ("zoo",), tmp_path / "runs" / "a")]))


def test_nothing_is_left_running_after_an_interrupt(cluster: TwoNodes, tmp_path: Path) -> None:
    settings = {"sizes": "3,5", "sets": 1, "candidates": 16, "instances": 8, "gradients": 0}
    words = ["discover", "search", "--rounds", "100000", "--out", str(tmp_path / "run"), "--on", "ray"]
    words += [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    environment = {**os.environ, **LOOPBACK, "SURPASS_MARK": str(tmp_path)}
    environment.pop("RAY_ADDRESS", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "surpass", *words],
        cwd=ROOT,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
    )
    until = time.monotonic() + 300
    while not (tmp_path / "run" / "curves.csv").exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.2)
    assert len(marked(tmp_path)) > 3, "there is a Ray of its own"
    process.send_signal(signal.SIGINT)
    assert "surpass: interrupted" in process.communicate(timeout=120)[1]
    assert process.returncode == 130
    until = time.monotonic() + 60
    while marked(tmp_path) and time.monotonic() < until:
        time.sleep(0.2)
    assert not marked(tmp_path)


def marked(folder: Path) -> list[str]:
    """Return the processes that descend from one that was started with a mark in its environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"SURPASS_MARK={folder}".encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found
