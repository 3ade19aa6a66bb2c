"""What is compiled for, and how: the compilation configuration, and the settings of a plan's run and search."""

from __future__ import annotations

from intarsia.config.compilation import CompilationConfig, engines
from intarsia.config.settings import RunSettings, SearchSettings, Spin

__all__ = ["CompilationConfig", "RunSettings", "SearchSettings", "Spin", "engines"]
