"""Tables of what serving costs, beside another server, under too much and over two machines, and of its throughput."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_RESULTS = Path(__file__).parent / "results"
SERVING = _RESULTS / "serving.json"
BESIDE = _RESULTS / "serving_beside.json"
OVERLOAD = _RESULTS / "overload.json"
PROTOCOL = _RESULTS / "protocol_beside.json"
THROUGHPUT = _RESULTS / "throughput.json"
DEPLOYMENTS = _RESULTS / "deployments.json"
OWN, OTHER = "intarsia", "kserve"
IN_PROCESS, QUEUE = "in the process", "openvino-queue"
OTHERS_WAYS: Mapping[str, str] = {
    "test_http.test_without_an_id_the_answer_has_none": "makes up an id",
    "test_http.test_a_bad_request_is_refused_and_the_server_goes_on": "refuses 12 with `detail` in place of `error`; "
    "takes an input twice, a size of -1, null for numbers, an output twice",
    "test_http.test_a_wrong_number_of_bytes_is_refused": "takes a byte too many behind the tensors",
    "test_http.test_a_wrong_size_of_a_tensor_is_refused": "takes a size of 513 where 512 bytes are there",
    "test_grpc.test_only_the_outputs_that_are_named_come": "gives all outputs",
    "test_grpc.test_a_bad_request_is_refused_and_the_server_goes_on": "takes an output that the model does not have",
}
"""What the other server does where a test of ours fails there, in words."""
Json = Mapping[str, Any]
Rows = Iterator[tuple[str, ...]]


def overhead(found: Json) -> Rows:
    """What a request costs one client over the call in the process, and what 16 clients get."""
    ms, many = found["one_client"]["ms"], found["many_clients"]
    rates = many["per_second"]
    best = max(rate for name, rate in rates.items() if name.startswith(IN_PROCESS))
    yield ("", "p50, ms", "p99, ms", "16 clients: requests/s", "of the process alone")
    yield (
        "calls in the process",
        f"{ms[IN_PROCESS]['p50']:.2f}",
        f"{ms[IN_PROCESS]['p99']:.2f}",
        f"{best:.0f}",
        "1.00",
    )
    for name, rate in many["of_best_in_process"].items():
        single = ms.get(name)
        alone = ("-", "-") if single is None else (f"{single['p50']:.2f}", f"{single['p99']:.2f}")
        yield (name, *alone, f"{rates[name]:.0f}", f"{rate:.2f}")
    for name, by in (("http", "HTTP, bytes; asked in Python"), ("grpc", "gRPC; asked in Python")):
        yield (by, f"{ms[name]['p50']:.2f}", f"{ms[name]['p99']:.2f}", "-", "-")


def beside(found: Json) -> Rows:
    """Requests a second and p99 of both servers."""
    yield ("", "clients", "intarsia, requests/s", "kserve, requests/s", "times as many", "intarsia, p99", "kserve, p99")
    for door, by_clients in found["doors"].items():
        for clients, each in by_clients.items():
            rates, p99, times = each["per_second"], each["p99_ms"], each["times_as_many"]
            yield (
                door,
                clients,
                *(f"{rates[name]['median']:.0f}" for name in (OWN, OTHER)),
                f"{_interval(times)}{' (void)' * each['void']}",
                *(f"{p99[name]:.1f} ms" for name in (OWN, OTHER)),
            )


def overload(found: Json) -> str:
    """What minutes of too much showed, in sentences."""
    much, end, changed = found["overload"], found["sigterm"], found["reloads"]
    ends = [each.get(how, 0) for how in ("answered", "refused") for each in much["ends"].values()]
    answered, refused = sum(ends[:2]), sum(ends[2:])
    fits = f"{100 * much['growth']:+.1f} %"
    return (
        f"{much['seconds'] / 60:.0f} minutes of {100 * (1 + refused / answered):.0f} % of what is answered: {answered} "
        f"requests were answered, all of them rightly, and {refused} refused,\neach with a time to come again. 99 of "
        "100 answers came within "
        f"{much['answered_ms']['p99']:.0f} ms; `--timeout` was {much['limit_ms'] / 1e3:g} s. Memory changed by {fits} "
        f"after the first minute. At SIGTERM,\n{end['admitted_and_answered']} requests had been admitted and "
        f"{end['answers_that_came']} answers came. {changed['times']} changes of the file under load lost none of "
        f"{sum(sum(each.values()) for each in changed['ends'].values())} requests."
    )


def protocol(found: Json) -> Rows:
    """The tests of the protocol that the other server does not pass."""
    tests = found["tests"]
    yield ("test", "fails there", "what kserve's server does")
    for name, each in tests.items():
        if each["failed"]:
            file, _, test = name.partition(".")
            door = {"test_http": "HTTP", "test_grpc": "gRPC"}[file]
            words = test.removeprefix("test_").replace("_", " ")
            yield (f"{door}: {words}", f"{each['failed']} of {each['failed'] + each['passed']}", OTHERS_WAYS[name])


def throughput(found: Json) -> Rows:
    """Requests a second of what ships, of the best engine alone, and of OpenVINO's own queue."""
    yield ("", "instances x threads", "intarsia, requests/s", "best engine alone", "times as many", "OpenVINO's queue")
    for network, each in found["networks"].items():
        rates, way = each["requests_per_second"], each["ways"][OWN]
        others = {name: rate for name, rate in rates.items() if name not in (OWN, QUEUE)}
        best = max(others, key=others.__getitem__)
        times = each["times_as_many"][best]
        yield (
            f"{network}: {way['chosen']}",
            f"{way['instances']} x {way['threads']}",
            f"{rates[OWN]:.1f}",
            f"{others[best]:.1f} ({best})",
            f"{_interval(times)}{' (void)' * each['void']}",
            f"{rates[QUEUE]:.1f}" if QUEUE in rates else "-",
        )


def deployments(found: Json) -> Rows:
    """By network, link and objective what ships, and how fast the best division is beside the best machine alone."""
    yield ("network", "link", "objective", "best machine alone, ms", "division, ms", "times as fast", "ships")
    for network, links in found["networks"].items():
        for link, objectives in links.items():
            for objective, each in objectives.items():
                plans = {plan["name"]: plan for plan in each["plans"]}
                alone, division = plans[each["best_alone"]], plans.get("divided")
                shown = ("-", "-") if division is None else (f"{division['ms']:.1f}", _times(division, alone, each))
                yield (network, link, objective, f"{alone['ms']:.1f}", *shown, each["chosen"])


def _times(division: Json, alone: Json, each: Json) -> str:
    """The interval against the best machine alone; where another machine was the one to beat, the ratio of the two.

    With the control, where that is out.
    """
    control = f"; control {each['control']['median']:.2f}" if each["control"]["is_void"] else ""
    if alone["speed"]["median"] == 1.0:
        return _interval(division["speed"]) + control
    return f"{alone['ms'] / division['ms']:.2f}{control}"


def _interval(times: Json) -> str:
    return f"{times['median']:.2f} ({times['low']:.2f} to {times['high']:.2f})"
