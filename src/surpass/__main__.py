"""Run the command line as `python -m surpass`."""

from surpass.cli.main import main

main()
