"""Speed, as ratios measured in one run: `python -m bench` from the root of the repository.

A benchmark is a module whose docstring says in its first line what is measured, with a function `measure(rounds)` that
returns a `Report`. To add one, write that file and add its line to `registry.py`.
"""
