"""Every task as a Gymnasium environment; importing this makes them known to Gymnasium, which loads no plugins."""

from surpass.environments.registration import register_environment, register_environments

__all__ = ["register_environment", "register_environments"]

register_environments()
