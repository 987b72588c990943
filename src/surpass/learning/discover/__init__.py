"""Discover, top to bottom: `learner` reads first; the rest is what it stands on.

config         the settings
learner        the plan of the work, and the state of a run
front          what comes out: the front of programs, and how they came about
population     the programs, and the islands that edit them
worker         what each worker answers
gradients      runs of the table learner, in parts
attempts       an attempt: some rounds of edits of one program, made simpler and checked
rounds         a round: sets of edited programs, tried on ever more instances
objective      what a program costs, and the instances that count
trials         a trial runs programs on the same instances; a screen edits a program by the thousand
trial_kernels  the loop of a screen; draft_kernels edits programs there, drafts are programs as arrays
edits          edits that are made in Python: what can be left out, and rules written anew

An island makes one chain of attempts after another. An attempt has four rounds, and then makes the program simpler. A
round has some sets of candidates, by default 40 of 1024. A set goes through three stages, on ever more instances.

The settings and the curves count attempts as `rounds`, while the class `Round` is a part of an attempt.
"""
