"""The evaluator of the onnx package, through `intarsia.graph.reference`: slow, always there, and defines correct."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
