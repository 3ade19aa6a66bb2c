"""Rows about one target: how it is read, printed, given a host, and what follows from its options."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType

import pytest

from intarsia.config import CompilationConfig
from intarsia.errors import SpecError
from intarsia.spec.tags import Variant
from intarsia.target import ALIASES, KINDS, TAGS, Target, list_tags, register_kind, register_tag
from intarsia.target.features import has_features
from tests.conformance.rows.diagnostics import expect_error
from tests.conformance.rows.facts import check_target, form_of
from tests.conformance.rows.fixtures import kinds_of
from tests.conformance.rows.row import Row, form

ROUND_TRIPS: Mapping[str, Callable[[Target], object]] = MappingProxyType(
    {"str": str, "json": Target.json, "to_config": Target.export, "export": Target.export}
)
"""Forms that a row has a target go through."""


def run_target(row: Row) -> None:
    """A target in any form, perhaps with hosts: facts about it, or the error of reading it."""

    def read() -> Target:
        target = Target(row.input["target"], row.input.get("host"))
        for host in row.input.get("with_host_sequence", ()):
            target = target.with_host(host)
        return target

    with kinds_of(row):
        if row.error:
            expect_error(row, read)
        else:
            check_target(read(), row.expect)


def run_round_trip(row: Row) -> None:
    """A target that is written and read again, where it keeps all that it states."""
    with kinds_of(row):
        target = Target(row.input["target"], row.input.get("host"))
        again = Target(ROUND_TRIPS[row.input["via"]](target))
        assert (again, again.tags, again.host) == (target, target.tags, target.host)
        facts = {name: wanted for name, wanted in row.expect.items() if not name.startswith("reference_")}
        if "host_features" in facts:
            assert again.host is not None
            check_target(again.host, {"features": facts.pop("host_features")})
        check_target(again, facts)


def run_has_features(row: Row) -> None:
    """Whether a CPU has all of the features named, as LLVM calls them."""
    names = row.input["has_features"]
    found = has_features(Target(row.input["target"]), [names] if isinstance(names, str) else names)
    assert found == row.expect["value"]


def run_feature_query(row: Row) -> None:
    """Features that the kind does not know, asked for without and with a default."""
    with kinds_of(row):
        features = Target(row.input["target"]).features
        for name in row.input["feature_query"]:
            assert features.get(name) == row.expect["feature_without_default"]
            assert features.get(name, True) == row.expect["feature_with_default_true"]


def run_target_and_host(row: Row) -> None:
    """The older pair of arguments: a target, which may be missing, and a host."""
    target, host = row.input["canon_target_and_host"]

    def read() -> Target | None:
        config = CompilationConfig.of({"targets": [] if target is None else [form_of(target)], "host": host})
        (only,) = config.targets
        return only.with_host(config.host) if isinstance(only, Target) else None

    if row.error:
        expect_error(row, read)
        return
    found = read()
    assert found is not None
    check_target(found, row.expect["target"])


def run_register_kind(row: Row) -> None:
    """A kind that is added with the defaults of its options, and targets of it."""
    added = row.input["register"]
    with KINDS.scope():
        if row.error:
            expect_error(row, lambda: register_kind(added["name"], added["attrs"]))
            return
        register_kind(added["name"], added["attrs"])
        for form, facts in zip(row.input["targets"], row.expect["attrs"], strict=True):
            check_target(Target(form), {"attrs": facts})


def run_refines(row: Row) -> None:
    """Which kinds generate code for another target, and for which."""
    with kinds_of(row):
        kinds = {name: Target(name).kind for name in row.expect["is_external"]}
        assert {name: kind.is_external for name, kind in kinds.items()} == row.expect["is_external"]
        regular = Target(row.input["regular"])
        found = [
            [left, right, _named(left, regular).refines(_named(right, regular))]
            for left, right, _ in row.expect["external_for"]
        ]
        assert found == row.expect["external_for"]


def _named(name: str, regular: Target) -> Target:
    return regular if name == regular.kind.name else Target(name)


def run_register_tag(row: Row) -> None:
    """A tag that is defined twice."""
    first, second = row.input["register"], row.input["register_again"]
    with TAGS.scope():
        register_tag(*first)
        again = {"override": row.input.get("override", False)}
        if row.error:
            expect_error(row, lambda: register_tag(*second, **again))
        else:
            check_target(register_tag(*second, **again), row.expect)


def run_alias(row: Row) -> None:
    """A name for a composite: one of ours, or tagged here. In which order its devices are tried is the last fact."""
    name, definition = row.input["alias"], row.input["definition"]
    with TAGS.scope(), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the host may be written target_host
        if name not in ALIASES:
            register_tag(name, definition, source="a row")
        composite = Target(definition)
        config = CompilationConfig.of(row.input.get("use", {"target": name})["target"])
        assert config == CompilationConfig.of(definition)
    facts = dict(row.expect)
    order = [Target(device).kind for device in facts.pop("offload_order", ())]
    assert [target.kind for target in config.targets if isinstance(target, Target)][: len(order)] == order
    assert config.host == Target(facts.pop("rest_on", config.host))
    check_target(composite, facts)


def run_variants(row: Row) -> None:
    """Tags with a variant suffix. A name that stands for any product is tagged here, with the variant it is used by."""
    with TAGS.scope():
        for text in row.input["targets"]:
            name, _, variant = text.partition(":")
            if name not in list_tags():
                form = Variant(level="config", form={"targets": ["llvm"], "executor": variant})
                register_tag(name, "llvm", variants={variant: form}, source="a row")
            config = CompilationConfig.of(text)
            assert text in config.tags or any(text in target.tags for target in config.targets)
            with pytest.raises(SpecError, match="variant"):
                CompilationConfig.of(f"{name}:no-such-variant")


FORMS = (
    form(run_target, "target", "host with_host_sequence stage", areas="target tag"),
    form(run_round_trip, "target via", "host"),
    form(run_has_features, "target has_features"),
    form(run_feature_query, "target feature_query"),
    form(run_target_and_host, "canon_target_and_host"),
    form(run_register_kind, "register", "targets", areas="target"),
    form(run_refines, "kinds regular"),
    form(run_register_tag, "register register_again", "override", areas="tag"),
    form(run_alias, "alias definition", "use"),
    form(run_variants, "targets", areas="tag"),
)
