"""The process that measures: what it is asked, what it answers, and how long anyone waits for it."""
