"""Policy gradient on a table of logits: mirror descent, with a critic that may see more than the agent."""
