"""Loads a deployed model for a server: on its machines, called once."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from intarsia.config.deployment import Deployment
from intarsia.deploy.artifact import DeployedArtifact
from intarsia.deploy.machines import machines_of
from intarsia.deploy.model import DeployedModel
from intarsia.remote.model import AT_ONE_TIME
from intarsia.runtime import random_feeds
from intarsia.runtime.artifact.trust import Trust
from intarsia.serving.loaded import WARM_UP_SEED, Loaded
from intarsia.serving.metadata import described


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedLoading:
    """How the artifact of a deployed model is loaded.

    Attributes:
        deployment: Where the machines are.
        trust: What the stages of this machine may do.
        instances: How many requests are in hand at one time: enough for each machine to have one while another is sent.
    """

    deployment: Deployment
    trust: Trust
    instances: int

    @classmethod
    def of(cls, path: Path, deployment: Deployment, trust: Trust) -> DeployedLoading:
        """What loads the artifact of a file, and those that take its place. It is to be made on the main thread.

        Raises:
            ArtifactError: It is none of a deployed model.
            ConfigError: A machine of the deployment cannot be one.
            RemoteError: There is no cluster where one is named.
        """
        stages = DeployedArtifact(path).description.stages
        for machine in machines_of(deployment).values():
            machine.connect()
        return cls(deployment=deployment, trust=trust, instances=AT_ONE_TIME * len(stages))

    def __call__(self, name: str, version: str, path: Path) -> Loaded:
        """The model, loaded on its machines and called once; errors are those of `intarsia.load_deployment`."""
        began = time.monotonic()
        model = DeployedModel(DeployedArtifact(path), machines_of(self.deployment), self.trust)
        try:
            model(random_feeds(model.sample_inputs, WARM_UP_SEED))
            metadata = described(name, version, model.inputs, model.outputs)
        except BaseException:
            model.close()
            raise
        return Loaded(
            metadata=metadata,
            instances=[model] * self.instances,
            facts={
                "file": str(path),
                "machines": [stage.machine for stage in model.stages],
                "instances": self.instances,
                "seconds": round(time.monotonic() - began, 3),
            },
            close=model.close,
        )
