"""Pictures of an episode: what a task shows of its memory, laid out, and drawn as pixels or SVG."""
