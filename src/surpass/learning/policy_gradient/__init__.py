"""The paper's learner: n-step policy gradient (A2C) with a structured network. Read `learner` first.

The paper is "Strong Generalization and Efficiency in Neural Programs" (Li, Gimeno, Kohli and Vinyals, 2020).

learner     the equation, the settings, the update and the round
losses      the loss of a batch, over its distinct decisions
sampler     many episodes side by side
kernels     the compiled loop that plays them; `arrays` holds what it reads and writes
forward     the networks in compiled code, one decision at a time
tree        the decisions that make up an action, and the inputs that they set, as arrays
"""
