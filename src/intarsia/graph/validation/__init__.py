"""Whether a model is what ONNX says a model is: all that is checked before anything is built from it.

Files come from anywhere. What ONNX Runtime refuses to load is refused here too, in words that name the place and a
cure; `docs/models.md` lists what is checked, and the few exceptions.
"""

from intarsia.graph.validation.model import check_model, check_types

__all__ = ["check_model", "check_types"]
