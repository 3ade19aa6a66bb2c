"""From a sub-graph to an ncnn network: layers, weight blocks and blob names, without touching the engine.

`lower` translates what `refusal` accepts: both run the same functions, so they cannot disagree.
"""

from intarsia.backends.ncnn.lowering.network import Border, Network, lower, refusal

__all__ = ["Border", "Network", "lower", "refusal"]
