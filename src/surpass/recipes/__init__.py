"""Recipes that ship with surpass, as TOML: the paper's own sweeps, those of its curves, and small quick ones."""
