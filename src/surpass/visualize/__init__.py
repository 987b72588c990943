"""See it: films of runs, for a browser, for slides and for the terminal; plots; the report."""
