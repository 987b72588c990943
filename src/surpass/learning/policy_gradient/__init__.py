"""The policy gradient, top to bottom: `learner` reads first; the rest is what it stands on.

learner     settings, the update, the round, the state of a run
gradient    the losses of a batch and their gradient, from the layers that sampling has left behind
sampler     many episodes at once, each distinct decision evaluated once
compiled    the loops below as a template of the engine
kernels     those loops; forward evaluates the networks, arrays are what they read and write
tree        how an interface's actions are chosen, as arrays
"""
