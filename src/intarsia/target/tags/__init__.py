"""The one namespace of tags: what is registered, the user's own files, the shipped rows beside this file, plug-ins.

Nothing is read before a name needs it; `intarsia.target.tagging` adds to it.
"""

from __future__ import annotations

from pathlib import Path

from intarsia.spec.tag_sources import PlugIns, UserFolder, VendorFolder
from intarsia.spec.tags import TagTable
from intarsia.target.aliases import ALIASES
from intarsia.target.kinds.catalogue import KINDS

PLUGIN_GROUP = "intarsia.tags"
"""Entry points of this group name vendors: vendor → its `Tag` values, or a function that returns them."""


def user_folder() -> Path:
    """Where a user's own tag files stand: ``tags`` in Intarsia's configuration folder, such as ``~/.config``'s."""
    import platformdirs  # the first parse needs it, starting does not

    return Path(platformdirs.user_config_dir("intarsia")) / "tags"


SHIPPED = VendorFolder(Path(__file__).parent)
"""The rows that Intarsia brings, a file per vendor, each row with its source."""


def is_taken(name: str) -> bool:
    """Whether a name means a target without any tag."""
    return name in KINDS or name in ALIASES


TAGS = TagTable(
    UserFolder(user_folder, over=(SHIPPED,), is_taken=is_taken),
    SHIPPED,
    PlugIns(PLUGIN_GROUP, over=(SHIPPED,)),
)
"""Tags of every level, by name."""
