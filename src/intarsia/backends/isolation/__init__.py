"""Engines in another interpreter: for those that cannot share an environment with the rest.

`backend` is what the rest of Intarsia sees, `process` its end of the wire, `server` the other end, `parcel` what goes
over it.
"""
