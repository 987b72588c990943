"""Improvement, top to bottom: `learner` reads first; the rest is what it stands on.

config         the settings
learner        the rounds, the end, the checks, the state of a run
rounds         a round: sets of edited programs, tried on ever more instances
trials         a trial runs programs on the same instances; a screen edits a program by the thousand
trial_kernels  the loop of a screen; draft_kernels edits programs there, drafts are programs as arrays
edits          edits that are made in Python: what can be left out, and rules written anew
"""
