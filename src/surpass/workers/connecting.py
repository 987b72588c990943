"""Finding Ray and a cluster of it; whatever is wrong with either is one sentence."""

from __future__ import annotations

import logging
import os
import socket
from typing import Any

from surpass.engine.run import core_count
from surpass.errors import SettingError
from surpass.extras import load
from surpass.printing import truncate
from surpass.reading import show

NEAR = "127.0.0.1"
"""The address of a Ray of our own: it is reached from this machine alone."""
REACHED_WITHIN = 5.0
"""Seconds in which a machine must answer."""
STARTS = 3
"""How often it is tried to start a Ray of our own."""
QUIETLY = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_NUM_REDIS_GET_RETRIES": "3",
    "RAY_worker_niceness": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
"""Ray reports to nobody, does not try for a quarter of an hour to reach a cluster, lets its workers run like any
process, and does not warn of the future."""


def import_ray() -> Any:
    """Return the module of Ray."""
    for name, value in QUIETLY.items():
        os.environ.setdefault(name, value)
    load("ray.exceptions")
    return load("ray")


def connect(ray: Any, address: str, processes: int | None) -> bool:
    """Connect this process to a cluster; return whether it was not before.

    Without an address it is that of the variable RAY_ADDRESS, or a Ray of our own on this machine is started.
    """
    if ray.is_initialized():
        return False
    address = address or os.environ.get("RAY_ADDRESS", "")
    quiet = {"log_to_driver": False, "configure_logging": False, "logging_level": logging.CRITICAL}
    if not address:
        own = {"num_cpus": processes or core_count(), "include_dashboard": False, "_node_ip_address": NEAR}
        for attempt in range(STARTS):
            try:
                ray.init(address="local", **own, **quiet)
                return True
            except Exception as error:  # on a busy machine its patience is too short
                ray.shutdown()
                if attempt == STARTS - 1:
                    raise SettingError(f"Ray does not start on this machine: {_gist(error)}") from None
    _reach(address)
    try:
        ray.init(address=address, **quiet)
    except Exception as error:
        said = _gist(error)
        if "ersion mismatch" in said:
            raise SettingError(f"the Ray cluster at {address} has another version than here: {said}") from None
        raise SettingError(f"no Ray cluster at {address} can be used: {said}") from None
    return True


def _reach(address: str) -> None:
    """Raise an error unless something answers at an address; Ray itself would try for many minutes."""
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if address.startswith("ray://") or not host or not port.isdecimal() or int(port) > 65535:
        raise SettingError(
            f"the address of the Ray cluster is {show(address)}; it must be HOST:PORT, as ray start --head prints it"
        )
    try:
        socket.create_connection((host, int(port)), REACHED_WITHIN).close()
    except OSError as error:
        raise SettingError(f"there is no Ray cluster at {address}: {_gist(error)}") from None


def _gist(error: Exception) -> str:
    """Return what an error says in one line, without where it came from."""
    text = str(error).partition("Traceback (most recent call last)")[0]
    return truncate(" ".join(text.split()), 400)
