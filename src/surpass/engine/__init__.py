"""Run it fast: tables in compiled code on many instances."""
