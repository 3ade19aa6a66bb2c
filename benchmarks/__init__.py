"""What stands behind the figures in the README: the networks, the scripts that time them, and their results."""
