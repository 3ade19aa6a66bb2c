"""The folder of one compile: the saved graph and the reference's values, where workers find both."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from intarsia.cost.records.store import Store
from intarsia.cost.reference.reference import reference_values
from intarsia.cost.reference.reference_io import link_values
from intarsia.cost.worker.progress import Watcher, unwatched
from intarsia.errors import ConfigError, IntarsiaError
from intarsia.files import WORK, Scratch, make_folder, sweep, sweep_temporary
from intarsia.graph import Graph
from intarsia.target import Target


class Workspace:
    """A folder beside the record store, named after its process; what dead processes left there is removed."""

    def __init__(self, store: Store) -> None:
        self.store = store
        parent = store.folder / "work"
        try:
            make_folder(parent)
            sweep(parent, WORK)
            sweep(store.folder)
            sweep_temporary()
            self._made = Scratch(parent, "")
        except IntarsiaError:
            raise
        except OSError as error:
            told = f"{parent}: cannot be worked in ({error}); make room there, or name another store with --store"
            raise ConfigError(told) from error
        self.folder = self._made.path

    def compute_reference(
        self,
        graph: Graph,
        borders: Collection[str],
        seed: int,
        type_oracle: Target | None = None,
        watch: Watcher = unwatched,
        machine: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """Have the reference's values for the graph's inputs, outputs and borders at hand; see `reference_values`."""
        values = reference_values(self.store.folder / "reference", graph, borders, seed, type_oracle, watch, machine)
        link_values(self.folder, values)

    def keep_only(self, file: Path) -> None:
        """Remove everything but one file."""
        for path in self.folder.iterdir():
            if path.is_symlink() or path.is_file():
                if path != file:
                    path.unlink()
            else:
                shutil.rmtree(path, ignore_errors=True)

    def remove(self) -> None:
        """Remove the folder. Calling it twice is fine."""
        self._made.close()
