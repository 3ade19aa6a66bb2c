"""The machines of a deployment as the caller reaches them: this one, one with a worker, or a node of a cluster."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from intarsia import driver
from intarsia.config import CompilationConfig
from intarsia.config.deployment import Deployment
from intarsia.config.drives import is_elsewhere
from intarsia.cost.worker.progress import Watcher
from intarsia.deploy.link_figures import LinkFigures, measured
from intarsia.driver.settings import CompileSettings
from intarsia.errors import BackendUnavailableError, ConfigError
from intarsia.remote.reach import Place, connect, place_of, reached
from intarsia.remote.verbs import compile_on, load_on
from intarsia.runtime import Artifact, CompiledModel
from intarsia.runtime.artifact.trust import OWN, Trust


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One machine of a deployment.

    Attributes:
        name: As the deployment calls it.
        config: What is compiled for it, without the way to it.
        place: Where its worker listens, or which node of a cluster it is; ``None`` for this machine.
    """

    name: str
    config: CompilationConfig
    place: Place | None = None

    def connect(self) -> None:
        """Connect this process to the cluster that the machine is a node of, if it is one; errors are those of `load`.

        On the main thread this leaves signals to whom they belong to; on another one Ray keeps SIGTERM for itself.
        """
        if self.place is not None:
            connect(self.place)

    def compile(self, model: Path, settings: CompileSettings, watch: Watcher) -> CompiledModel:
        """The model, compiled there; errors are those of `intarsia.compile`."""
        if self.place is None:
            return driver.compile(model, self.config, settings=settings, progress=watch)
        return compile_on(self.place, model, self.config, settings=settings, progress=watch)

    def load(self, artifact: Path, trust: Trust = OWN) -> CompiledModel:
        """An artifact that was compiled for it, loaded there; errors are those of `intarsia.load` and `RemoteError`."""
        if self.place is not None:
            return load_on(self.place, artifact)
        model = CompiledModel(Artifact(artifact, trust))
        model.load()
        return model

    def link(self) -> LinkFigures | None:
        """How fast the way there is; ``None`` for this machine. A `RemoteError` if nothing is there."""
        if self.place is None:
            return None
        with closing(reached(self.place)) as worker:
            return measured(worker)


def machines_of(deployment: Deployment) -> dict[str, Machine]:
    """The machines of a deployment by name. One that is nowhere else is this machine.

    Raises:
        BackendUnavailableError: More than one is nowhere else: only one can be this machine.
        ConfigError: A machine's runtime is of no Python process, or what it names of its worker cannot be read.
    """
    here = [name for name, config in deployment.machines.items() if not is_elsewhere(config.runtime)]
    for name in here:
        if str(deployment.machines[name].runtime) != "python":
            raise ConfigError(
                f"machines.{name}: the runtime {str(deployment.machines[name].runtime)!r} is of no part of a "
                "deployment; leave it out, or state where a worker listens (rpc -address=HOST:PORT) or which node of "
                "a cluster it is (ray -label=KEY=VALUE)"
            )
    if len(here) > 1:
        raise BackendUnavailableError(
            f"{' and '.join(here)} have no worker, and only one machine can be this one: start a worker on the others "
            "(intarsia worker), and state it as the machine's runtime: rpc -address=HOST:PORT; or name nodes of a Ray "
            "cluster: ray -label=KEY=VALUE"
        )
    return {name: _machine(name, config) for name, config in deployment.machines.items()}


def _machine(name: str, config: CompilationConfig) -> Machine:
    if not is_elsewhere(config.runtime):
        return Machine(name=name, config=config)
    there = CompilationConfig.of({field: value for field, value in config.export().items() if field != "runtime"})
    return Machine(name=name, config=there, place=place_of(config.runtime, name))
