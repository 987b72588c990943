"""Measure it: any agent on any task and sizes, and the tables of the paper beside ours."""
