"""Improvement, top to bottom: `learner` reads first; the rest is what it stands on.

config         the settings
learner        the rounds, the end, the checks, the state of a run
rounds         a round: sets of edited programs, tried on ever more instances
trials         many programs on the same instances, side by side
trial_kernels  the loops that do this; draft_kernels edits programs there, drafts are programs as arrays
edits          edits that are made in Python: what can be left out, and rules written anew
"""
