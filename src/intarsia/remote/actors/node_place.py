"""Which node of a Ray cluster is meant, and how long its caller waits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from intarsia.addresses import Address
from intarsia.config.drives import Runtime
from intarsia.errors import ConfigError
from intarsia.remote.place import PATIENCE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePlace:
    """A node of a cluster as its caller sees it. One of label and resource says which node it is.

    Attributes:
        label: Key and value of a label that it alone has.
        resource: A resource that it alone has.
        address: Where the cluster listens; ``None`` for the one that this machine is a node of.
        timeout: Seconds that an answer may take, or a process that is started again.
        machine: What a deployment calls it, for messages.
    """

    label: tuple[str, str] | None = None
    resource: str | None = None
    address: Address | None = None
    timeout: float = PATIENCE_S
    machine: str = ""

    @classmethod
    def of_runtime(cls, runtime: Runtime, machine: str = "") -> NodePlace:
        """The node that the options of a runtime ``ray`` name; a `ConfigError` if they name none, or no address."""
        options: Mapping[str, Any] = runtime.options
        if "label" not in options and "resource" not in options:
            raise ConfigError(
                f"the runtime {str(runtime)!r} does not say which node it is: state the label or the resource that it "
                "alone has, as in 'ray -label=machine=server'"
            )
        key, divided, value = options.get("label", "").partition("=")
        address = options.get("address")
        return cls(
            label=(key, value) if divided else None,
            resource=options.get("resource"),
            address=None if address is None else Address.parse(address),
            timeout=float(options.get("timeout", PATIENCE_S)),
            machine=machine,
        )

    @property
    def mark(self) -> str:
        """What tells the node from others, as a person reads it."""
        return f"the resource {self.resource}" if self.label is None else f"the label {'='.join(self.label)}"

    def __str__(self) -> str:
        node = f"the Ray node with {self.mark}"
        return f"machine {self.machine} ({node})" if self.machine else node

    def is_of(self, node: Mapping[str, Any]) -> bool:
        """Whether it is this node, which Ray describes, and that is alive."""
        if not node.get("Alive"):
            return False
        if self.label is not None:
            key, value = self.label
            return bool((node.get("Labels") or {}).get(key) == value)
        return bool((node.get("Resources") or {}).get(self.resource))
