"""What drives a model where its configuration leaves that open: open sizes, and processors that this machine is not."""

from __future__ import annotations

from intarsia.backends import registry
from intarsia.backends.contract.source import WritesPrograms, WritesSource
from intarsia.codegen import machines
from intarsia.codegen.boards.of_target import emulated
from intarsia.config import CompilationConfig
from intarsia.errors import ConfigError
from intarsia.graph.bind import Shapes, ranges_of
from intarsia.planning.availability import AHEAD, BARE
from intarsia.planning.engine_set import architecture_here
from intarsia.target import Target

_VM = "vm"
"""The executor of models whose shapes are not fixed."""
_PLACED = ("devices", "default_device", "libraries")
"""What says more of a machine than which processor it has."""


def driven(config: CompilationConfig, shapes: Shapes) -> tuple[CompilationConfig, tuple[str, ...]]:
    """The configuration with an executor and a runtime where it states none and needs others than the usual ones.

    Dimensions with ranges need ``vm``. A processor that this machine is not needs a program: ``aot`` and ``crt``. What
    was chosen is said, one sentence each.

    Raises:
        ConfigError: Dimensions have ranges, and another executor than ``vm`` is stated.
    """
    ranges = ranges_of(shapes)
    if not ranges:
        return _as_program(config) or (config, ())
    if config.executor.kind.name == _VM:
        return config, ()
    if "executor" in config.options:
        raise ConfigError(
            f"sizes of {', '.join(ranges)} may vary, which needs the executor {_VM}, and the configuration states "
            f"{str(config.executor)!r}: state {_VM}, or one size instead of a range"
        )
    return CompilationConfig.of({**config.export(), "executor": _VM}), ()


def _as_program(config: CompilationConfig) -> tuple[CompilationConfig, tuple[str, ...]] | None:
    """The configuration as a program for a processor that nothing but an emulator runs here; ``None`` if it is none."""
    options = config.options
    stated = {name: options[name].kind.name for name in ("executor", "runtime") if name in options}
    if stated.get("executor", AHEAD) != AHEAD or stated.get("runtime", BARE) != BARE:
        return None
    if any(name in options for name in _PLACED):
        return None
    targets = [target for target in config.targets if isinstance(target, Target)]
    host = _host(config, targets)
    kept = [target for target in targets if target.device_type in ("cpu", "ext_dev")]
    if len(targets) < len(config.targets) or not _is_elsewhere(host) or not all(map(_writes, kept)):
        return None
    if len(stated) == 2 and len(kept) == len(targets):
        return None
    rows = {
        **config.export(),
        "targets": [target.export() for target in kept] or [host.export()],
        "host": host.export(),
        "executor": options["executor"].export() if "executor" in options else AHEAD,
        "runtime": options["runtime"].export() if "runtime" in options else BARE,
    }
    dropped = [target for target in targets if target not in kept]
    remarks = [f"{each}: nothing here generates code for it; the processor takes the whole model" for each in dropped]
    if len(stated) < 2:
        remarks.append(
            f"{host} is not this machine's processor, so the model is written as a program for it: executor {AHEAD}, "
            f"runtime {BARE}"
        )
    return CompilationConfig.of(rows), tuple(remarks)


def _host(config: CompilationConfig, targets: list[Target]) -> Target:
    """The stated host; that of engines that are named for another processor alone is this processor."""
    bases = {target.base for target in targets}
    base = next(iter(bases)) if len(bases) == 1 else None
    if base is None or "host" in config.options or base.device_type != "cpu":
        return config.host
    return base


def _is_elsewhere(host: Target) -> bool:
    """Whether a compiler makes programs for a processor, and this machine has another one."""
    if machines.is_microcontroller(host):
        return emulated(host) is not None
    stated, here = host.features.architecture, architecture_here()
    return bool(stated and here and stated != here) and machines.family_of(host) is not None


def _writes(target: Target) -> bool:
    """Whether code can be written for a target: it is a processor, or its engine writes source."""
    if not target.kind.is_engine:
        return True
    return target.kind.name in registry.names() and isinstance(
        registry.get(target.kind.name), WritesSource | WritesPrograms
    )
