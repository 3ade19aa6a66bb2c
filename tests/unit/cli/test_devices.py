from __future__ import annotations

import json

from tests.cli_fakes import Fakes, invoke


def test_a_device_is_listed_with_the_engines_that_are_usable_on_it(fakes: Fakes) -> None:
    report = json.loads(invoke("devices", "--json").stdout)
    assert [(each["device"], each["engines"], each["is_software"]) for each in report["devices"]] == [
        ("cpu", ["mnn"], False),
        ("vulkan:0", ["mnn"], True),
        ("vulkan:1", [], False),
    ]
    assert report["absent"] == {"cuda": "this machine shows no cuda device; fix it"}


def test_what_bounds_the_threads_is_told(fakes: Fakes) -> None:
    done = invoke("devices")
    assert done.exit_code == 0
    assert "2 threads for us: 8 logical cores, affinity to 4, a quota of 2.5 CPUs; 12.0 GiB of memory" in done.stdout


def test_this_machine_has_a_cpu_that_the_reference_serves() -> None:
    report = json.loads(invoke("devices", "--json").stdout)
    host = report["devices"][0]
    assert host["device"] == "cpu"
    assert "reference" in host["engines"]
    assert 1 <= report["cores"]["budget"] <= report["cores"]["shown"]
    assert report["memory_bytes"] > 0
