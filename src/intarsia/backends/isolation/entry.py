"""The script that another interpreter runs: makes this package importable there, and no other of our environment."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path


def main() -> None:
    """Prints what an engine's probe finds, or serves the engine on the socket whose number follows its name."""
    package = Path(__file__).parents[2]
    spec = spec_from_file_location("intarsia", package / "__init__.py", submodule_search_locations=[str(package)])
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    from intarsia.backends.isolation import server

    engine, *wire = sys.argv[1:]
    if wire:
        server.serve(engine, int(wire[0]))
    else:
        server.tell(engine)


if __name__ == "__main__":
    main()
