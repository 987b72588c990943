"""Read it: the observations that an agent meets as a table, and the table as a program with few, exact rules."""
