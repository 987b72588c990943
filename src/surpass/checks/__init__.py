"""Trust it: exhaustive checks, certificates and smallest counter-examples."""
