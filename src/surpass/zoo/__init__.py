"""Trained agents, as data: `surpass.agents.zoo` reads them."""
