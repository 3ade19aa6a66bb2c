"""ONNX element types by their numpy names, the ones numpy lacks from ``ml_dtypes``."""

from __future__ import annotations

import numpy as np


def numpy_dtype(name: str) -> np.dtype:
    """The numpy dtype of an element type; strings are objects."""
    if name == "string":
        return np.dtype(object)
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes

        extended: np.dtype = np.dtype(getattr(ml_dtypes, name))
        return extended
