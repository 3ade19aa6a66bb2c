"""The command line as rewrites of a configuration: what its flags say, laid over a file and the built-in settings.

One rule merges them: a leaf replaces what stood there. `intarsia.config.files` finds and reads the files.
"""

from __future__ import annotations

from intarsia.config.cli_overrides.flags import Rewrites
from intarsia.config.cli_overrides.merge import Merged, merge_all

__all__ = ["Merged", "Rewrites", "merge_all"]
