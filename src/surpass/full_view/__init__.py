"""The full view: the agent sees the whole list at every step and points into it, so it has no table.

agent               what such an agent is, how it runs a batch, and teachers of this kind
graph, messages     the paper's network for it, and the compiled sum over all pairs of positions
progress, hinting   how far lists have come, by a hint of their task, and the compiled loop that reads it
imitation           a graph network learns from a teacher
policy_gradient     a graph network surpasses a teacher, or learns from nothing

The rest of the package knows an agent of this kind as one without a table, which runs itself.
"""
