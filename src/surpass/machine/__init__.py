"""The language: features, instructions, packing, the call stack and traces."""
