"""What Ray Serve is told: how replicas are placed, bounded and scaled, and where its proxies listen."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from intarsia.addresses import Address
from intarsia.config import RunSettings
from intarsia.serving.access import Access
from intarsia.serving.limits import KEEP_ALIVE_S, OTHER_CALLS, Limits
from intarsia.serving.loaded import Loading, batch_of
from intarsia.serving.replicas.scale import Scale

_BUSY: Final = 2
"""Requests for each instance that keep it at work: one is answered, one waits."""
_LOOK_BACK_S: Final = 15.0
"""More than the ten seconds after which replicas and proxies tell what they have in hand."""
_UPSCALE_S: Final = 5.0
_DOWNSCALE_S: Final = 120.0
_LOOK_S: Final = 0.5
"""How often a replica that is to end looks whether it has answered all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What the models of a replica ask for.

    Attributes:
        processors: Those that the largest of them uses.
        busy: Requests in hand that keep the instances of the smallest of them at work; with batches, no more than half
            of those that it lets wait wait.
        calls: Requests that one replica may have in hand.
    """

    processors: int
    busy: int
    calls: int

    @classmethod
    def of(cls, models: Collection[RunSettings], loading: Loading, limits: Limits) -> Load:
        """That of models with these plans.

        Raises:
            ConfigError: One cannot be loaded with such batches.
        """
        counts = [loading.instances or each.instances for each in models]
        at_work = [count * batch_of(each, loading.batch) for count, each in zip(counts, models, strict=True)]
        return cls(
            processors=max(count * each.threads for count, each in zip(counts, models, strict=True)),
            busy=min(
                each + min(each, max(count, limits.waiting // _BUSY))
                for each, count in zip(at_work, counts, strict=True)
            ),
            calls=sum(each + limits.waiting for each in at_work) + OTHER_CALLS,
        )


def deployment_options(load: Load, scale: Scale, limits: Limits) -> dict[str, Any]:
    """Of the deployment: what a replica refuses itself comes before Ray Serve refuses anything."""
    return {
        "ray_actor_options": {"num_cpus": load.processors},
        "max_ongoing_requests": load.calls,
        "max_queued_requests": load.calls,
        "backpressure_config": {"status_code": 503, "retry_after_s": 1},
        "graceful_shutdown_timeout_s": 2 * limits.timeout_s,
        "graceful_shutdown_wait_loop_s": _LOOK_S,
        "max_constructor_retry_count": 1,
        "logging_config": quiet(),
        **_number(load, scale),
    }


def _number(load: Load, scale: Scale) -> dict[str, Any]:
    if scale.least == scale.most:
        return {"num_replicas": scale.least}
    return {
        "autoscaling_config": {
            "min_replicas": scale.least,
            "max_replicas": scale.most,
            "target_ongoing_requests": load.busy,
            "look_back_period_s": _LOOK_BACK_S,
            "upscale_delay_s": _UPSCALE_S,
            "downscale_delay_s": _DOWNSCALE_S,
        }
    }


def http_options(address: Address, access: Access, limits: Limits) -> dict[str, Any]:
    """Of the proxies: they wait longer than a replica does, so that its answer is the one that comes."""
    return {
        "host": address.host,
        "port": address.port,
        "request_timeout_s": 2 * limits.timeout_s,
        "keep_alive_timeout_s": KEEP_ALIVE_S,
        "ssl_certfile": None if access.certificate is None else str(access.certificate.absolute()),
        "ssl_keyfile": None if access.key is None else str(access.key.absolute()),
    }


def quiet() -> dict[str, Any]:
    """Of Ray Serve's own log: what goes wrong, and no line for each request."""
    return {"log_level": "WARNING", "enable_access_log": False}
