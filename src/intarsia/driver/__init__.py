"""A model and a machine in, a proven artifact out: the calls, their settings, and the stages that they run."""

from __future__ import annotations

from intarsia.driver.settings import CompileOptions, CompileSettings, Strategy
from intarsia.driver.verbs import build, compare, compile, partition, tune

__all__ = ["CompileOptions", "CompileSettings", "Strategy", "build", "compare", "compile", "partition", "tune"]
