"""A Ray cluster for tests: nodes on this machine, which labels tell apart."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from unittest.mock import patch

import psutil

STORE_BYTES = 80_000_000
MACHINES = ("a", "b")


class RunningCluster:
    """Some nodes; each has the label and the resource of its name."""

    def __init__(self, machines: Sequence[str] = MACHINES) -> None:
        from ray.cluster_utils import Cluster

        self._cluster: Any = Cluster()
        self._nodes: dict[str, Any] = {}
        for name in machines:
            self.add(name)
        self.address = str(self._cluster.address)

    def add(self, name: str) -> None:
        """Start a node, the first one as the head."""
        self._nodes[name] = self._cluster.add_node(
            num_cpus=1,
            object_store_memory=STORE_BYTES,
            include_dashboard=False,
            labels={"machine": name},
            resources={f"machine-{name}": 1},
        )

    def remove(self, name: str) -> None:
        """Kill a node, as when its machine is switched off."""
        processes = psutil.Process(self.raylet(name)).children(recursive=True)
        self._cluster.remove_node(self._nodes.pop(name), allow_graceful=False)
        for each in processes:
            with suppress(psutil.NoSuchProcess):
                each.kill()

    def raylet(self, name: str) -> int:
        """The process that starts all others of a node."""
        return int(self._nodes[name].all_processes["raylet"][0].process.pid)

    def runtime(self, name: str, timeout: float = 60.0) -> str:
        """The runtime that names a node."""
        return f"ray -address={self.address} -label=machine={name} -timeout={timeout}"

    def deployment(self, timeout: float = 60.0) -> dict[str, Any]:
        """Both machines."""
        return {
            "machines": {
                "a": {"targets": ["onnxruntime"], "runtime": self.runtime("a", timeout)},
                "b": {"targets": ["openvino"], "runtime": self.runtime("b", timeout)},
            }
        }

    def end(self) -> None:
        """End all of it."""
        import ray

        ray.shutdown()
        self._cluster.shutdown()


@contextmanager
def running_cluster(machines: Sequence[str] = MACHINES) -> Iterator[RunningCluster]:
    """A cluster, until the block is done."""
    folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")  # the path of a socket has 107 bytes at most
    with patch.dict(os.environ, {"RAY_USAGE_STATS_ENABLED": "0", "RAY_TMPDIR": folder}):
        cluster = RunningCluster(machines)
        try:
            yield cluster
        finally:
            cluster.end()
            shutil.rmtree(folder, ignore_errors=True)
