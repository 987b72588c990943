"""Every task as a Gymnasium environment; importing this registers them, since Gymnasium 1 loads no plugins."""

from surpass.environments.registration import register_environment, register_environments

__all__ = ["register_environment", "register_environments"]

register_environments()
