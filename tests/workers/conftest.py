from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from surpass.workers.connecting import QUIETLY

LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", **QUIETLY}
"""Ray takes 127.0.0.1 as it is, and no other address of this machine."""
NODE: dict[str, Any] = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "object_store_memory": 80 << 20}
SOON = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 20_000,
    "health_check_failure_threshold": 3,
}
"""So that a node that was killed is soon known to be."""


class TwoNodes:
    """A Ray cluster of two nodes on this machine, one of which can be killed and is then replaced."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        head = {**NODE, "include_dashboard": False, "_system_config": SOON}
        self.cluster = _patiently(lambda: Cluster(initialize_head=True, head_node_args=head))
        self._second: Any = None

    @property
    def address(self) -> str:
        return str(self.cluster.address)

    @property
    def has_lost_one(self) -> bool:
        return self._second is None

    def ready(self) -> TwoNodes:
        """Return the cluster once it has two nodes."""
        if self._second is None:
            self._second = _patiently(lambda: self.cluster.add_node(**NODE))
        self.cluster.wait_for_nodes()
        return self

    def kill_second(self) -> None:
        """Kill the second node, whatever it is doing, and return once it is dead."""
        second, self._second = self._second, None
        if second is not None:
            self.cluster.remove_node(second, allow_graceful=False)


def _patiently(start: Callable[[], Any]) -> Any:
    """Start something of Ray's, which gives up after half a minute: on a machine that busy it is tried again."""
    for _ in range(3):
        try:
            return start()
        except Exception as error:
            last = error
    raise last


@pytest.fixture(scope="module")
def cluster() -> Iterator[TwoNodes]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in LOOPBACK.items():
            patch.setenv(name, value)
        pytest.importorskip("ray", reason="Ray is not installed (pip install 'surpass[ray]')")
        found = TwoNodes()
        yield found
        found.cluster.shutdown()


@pytest.fixture
def two_nodes(cluster: TwoNodes) -> TwoNodes:
    return cluster.ready()
