"""See it: recordings of runs, for a browser, for slides and for the terminal; plots; the report."""
