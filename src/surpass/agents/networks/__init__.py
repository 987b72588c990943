"""Networks, the only agents that need PyTorch."""
