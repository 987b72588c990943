"""Trust it: one search for failures, certificates and smallest counter-examples."""

from surpass.checks.failures import NORMAL, QUICK, THOROUGH, Effort, find_failures

__all__ = ["NORMAL", "QUICK", "THOROUGH", "Effort", "find_failures"]
