"""Each engine alone: tuning it, leaving out what is hopeless, and what a mix could gain on it."""
