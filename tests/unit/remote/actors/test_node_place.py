"""Which node a runtime names, and what is refused of one."""

from __future__ import annotations

import pytest

from intarsia.addresses import Address
from intarsia.config import Runtime
from intarsia.config.drives import is_elsewhere
from intarsia.errors import ConfigError, SpecError
from intarsia.remote.actors.node_place import NodePlace
from intarsia.remote.reach import place_of

NODE = {"Alive": True, "Labels": {"machine": "server"}, "Resources": {"gpu-box": 1.0, "CPU": 4.0}}


def test_a_runtime_names_a_node_by_its_label_or_a_resource() -> None:
    runtime = Runtime("ray -label=machine=server -address=head:6379 -timeout=5")
    assert is_elsewhere(runtime)
    place = place_of(runtime, "server")
    assert place == NodePlace(label=("machine", "server"), address=Address("head", 6379), timeout=5.0, machine="server")
    assert str(place) == "machine server (the Ray node with the label machine=server)"
    other = NodePlace.of_runtime(Runtime("ray -resource=gpu-box"))
    assert (other.resource, other.address, other.timeout) == ("gpu-box", None, 30.0)
    assert str(other) == "the Ray node with the resource gpu-box"


@pytest.mark.parametrize("runtime", ["ray -label=machine=server", "ray -resource=gpu-box", "ray -label=machine=a=b"])
def test_a_node_is_told_from_others(runtime: str) -> None:
    place = NodePlace.of_runtime(Runtime(runtime))
    assert place.is_of(NODE) == (runtime != "ray -label=machine=a=b")
    assert not place.is_of(NODE | {"Alive": False})
    assert not place.is_of({"Alive": True, "Labels": None, "Resources": {}})


@pytest.mark.parametrize(
    ("runtime", "words"),
    [
        ("ray -label=a=b -resource=c", "one of label and resource says which node it is"),
        ("ray -label=machine", "write KEY=VALUE"),
        ("ray -label==b", "write KEY=VALUE"),
        ("ray -resource=a -address=ray://head:10001", "give HOST:PORT of the cluster"),
        ("ray -resource=a -timeout=0", "give seconds above 0"),
    ],
)
def test_what_names_no_node_is_refused(runtime: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        Runtime(runtime)


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="the runtime 'ray' does not say which node it is"):
        place_of(Runtime("ray"))
    with pytest.raises(ConfigError, match="is no address"):
        NodePlace.of_runtime(Runtime("ray -resource=a -address=6379"))
