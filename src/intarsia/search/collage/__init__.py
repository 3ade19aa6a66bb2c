"""The search proper: segments, transition costs, and the cheapest path over the engines."""
