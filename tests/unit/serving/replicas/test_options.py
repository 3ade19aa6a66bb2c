"""What Ray Serve is told, from plans, flags and bounds."""

from __future__ import annotations

from pathlib import Path

from intarsia.addresses import Address
from intarsia.config import RunSettings
from intarsia.serving.access import Access
from intarsia.serving.limits import OTHER_CALLS, Limits
from intarsia.serving.loaded import Loading
from intarsia.serving.replicas.options import Load, deployment_options, http_options
from intarsia.serving.replicas.scale import Scale

LIMITS = Limits(waiting=3, timeout_s=5.0)
ONE = RunSettings(threads=2)
MANY = RunSettings(threads=1, instances=4)


def test_a_replica_asks_for_the_processors_of_its_largest_model() -> None:
    assert Load.of([ONE], Loading(), LIMITS) == Load(processors=2, busy=2, calls=1 + 3 + OTHER_CALLS)
    assert Load.of([ONE, MANY], Loading(), LIMITS) == Load(processors=4, busy=2, calls=5 + 6 + OTHER_CALLS)
    assert Load.of([MANY], Loading(instances=2), LIMITS) == Load(processors=2, busy=4, calls=2 + 3 + OTHER_CALLS)


def test_replicas_follow_what_is_in_hand() -> None:
    load = Load.of([ONE], Loading(), LIMITS)
    found = deployment_options(load, Scale(least=1, most=4), LIMITS)
    scaling = found["autoscaling_config"]
    assert (scaling["min_replicas"], scaling["max_replicas"], scaling["target_ongoing_requests"]) == (1, 4, 2)
    assert found["max_ongoing_requests"] == found["max_queued_requests"] == load.calls
    assert found["ray_actor_options"] == {"num_cpus": 2}
    assert found["graceful_shutdown_timeout_s"] == 10.0
    assert "num_replicas" not in found


def test_one_number_is_not_scaled() -> None:
    found = deployment_options(Load.of([ONE], Loading(), LIMITS), Scale(least=2, most=2), LIMITS)
    assert found["num_replicas"] == 2
    assert "autoscaling_config" not in found


def test_the_proxy_waits_longer_than_a_replica_and_speaks_tls_where_that_is_asked_for() -> None:
    plain = http_options(Address("127.0.0.1", 8000), Access(), LIMITS)
    assert (plain["host"], plain["port"], plain["request_timeout_s"]) == ("127.0.0.1", 8000, 10.0)
    assert plain["ssl_certfile"] is plain["ssl_keyfile"] is None
    access = Access(certificate=Path("cert.pem"), key=Path("/key.pem"))
    encrypted = http_options(Address("::", 1), access, LIMITS)
    assert (encrypted["ssl_certfile"], encrypted["ssl_keyfile"]) == (str(Path.cwd() / "cert.pem"), "/key.pem")


def test_batches_are_in_hand_too() -> None:
    batched = RunSettings(threads=1, instances=2, batch=8)
    assert Load.of([batched], Loading(), Limits(waiting=64)) == Load(processors=2, busy=32, calls=80 + OTHER_CALLS)
    assert Load.of([batched], Loading(), Limits(waiting=8)).busy == 16 + 4
    assert Load.of([batched], Loading(batch=1), Limits(waiting=64)).busy == 4
