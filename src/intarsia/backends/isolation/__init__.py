"""Engines in another interpreter: for those that cannot share an environment with the rest.

`backend` is what the rest of Intarsia sees, `process` talks to the other process, `server` runs there, and `message` is
what they send each other.
"""
