"""Get better: by imitation, by reinforcement learning, and by a search for programs. `methods` reads first.

methods          the ways to learn, by name, and the learner of each
imitation        a network learns what a teacher does (DAgger)
policy_gradient  a network learns by n-step policy gradient (A2C), with a teacher or from nothing
table            a table of logits learns by natural policy gradient, with a teacher or from nothing
discover         islands edit programs, beside runs of the table learner

sources, curriculum     the instances to learn on: from where, and of which sizes
unsolved, renamings     what no solution costs; what becomes of a task if two variables change their names
updates, adam           what learners share: networks, saved states, the optimizer

runs, status, tensorboard  the folder of a run, how far it has come, and its curves
settings, recipes          what can be set, and files that say it
jobs, sweeps               runs as commands, and all runs of a grid
"""
