"""See it: runs as moving pictures, plots, and the report."""
