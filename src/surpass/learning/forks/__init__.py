"""Policy gradient from forks: what would have come if one action of an episode had been another."""
