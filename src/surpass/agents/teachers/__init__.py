"""The package's teachers: importing this makes them known."""

from surpass.agents.teachers import knapsack, search, sort_bubble, sort_full, sort_quick

__all__ = ["knapsack", "search", "sort_bubble", "sort_full", "sort_quick"]
