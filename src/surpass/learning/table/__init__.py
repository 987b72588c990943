"""The table learner: natural policy gradient on a table of logits. Read `learner` first.

learner         the settings, the phases of a run, and its state
candidates      the policies that a run improves, and what an estimator is
logits          the table of logits and its update; `cells` holds its compiled loops
critic          the phase `solve`: an actor-critic learns from nothing; `kernels` holds its compiled loops
deviations      an estimator: the same instance again, with another action at one step
sampled_tables  an estimator: whole tables compared on the same instances
repair          undoes changes of a policy that lose, that nothing tests, or that fail
features        which features a policy can do without
episodes        plays episodes by a table; the return of an episode
"""
