"""Get better: imitation and, in time, reinforcement learning."""
