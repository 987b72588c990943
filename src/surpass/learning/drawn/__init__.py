"""Policy gradient over whole tables: one action is drawn for each observation, and holds for all episodes."""
