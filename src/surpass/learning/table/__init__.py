"""The table learner: natural policy gradient on a table of logits. Start reading at `learner.py`."""
