"""The full view: the agent sees the whole list at every step and points into it, so it has no table.

agent              what such an agent is, how it runs a batch, and teachers of this kind
graph, messages    the paper's network for it, and its compiled sum over all pairs of positions
imitation          a graph network learns from a teacher
policy_gradient    a graph network surpasses a teacher, or learns from nothing

To the rest of the package an agent of this kind is one without a table, which runs itself.
"""
