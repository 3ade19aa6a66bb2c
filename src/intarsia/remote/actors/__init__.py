"""Machines that are nodes of a Ray cluster: an actor on the node takes the place of a worker."""
