"""The questions: tasks, their instances and one registry."""
