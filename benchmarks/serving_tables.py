"""Tables of what serving costs, beside another server and under too much, and of how that server answers our tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_RESULTS = Path(__file__).parent / "results"
SERVING = _RESULTS / "serving.json"
BESIDE = _RESULTS / "serving_beside.json"
OVERLOAD = _RESULTS / "overload.json"
PROTOCOL = _RESULTS / "protocol_beside.json"
OWN, OTHER = "intarsia", "kserve"
IN_PROCESS = "in the process"
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
                f"{times['median']:.2f} ({times['low']:.2f} to {times['high']:.2f}){' (void)' * each['void']}",
                *(f"{p99[name]:.1f} ms" for name in (OWN, OTHER)),
            )


def overload(found: Json) -> str:
    """What minutes of too much showed, in sentences."""
    much, end, changed = found["overload"], found["sigterm"], found["reloads"]
    ends = [each.get(how, 0) for how in ("answered", "refused") for each in much["ends"].values()]
    answered, refused = sum(ends[:2]), sum(ends[2:])
    fits = f"{100 * much['growth']:+.1f} %"
    return (
        f"{much['seconds'] / 60:.0f} minutes of {much['asked_per_second']:.0f} requests a second, where "
        f"{found['capacity_per_second']['both']:.0f} are answered: {answered} were answered, all of them rightly, "
        f"and {refused} refused,\neach with a time to come again. 99 of 100 answers came within "
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
