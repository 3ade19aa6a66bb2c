"""``intarsia targets``: what can be described, and what a description says; loads no engine and probes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import click

from intarsia.cli.console import print_answer, print_table, print_text
from intarsia.cli.options import json_option, verbose_option
from intarsia.errors import SpecError
from intarsia.wording import counted

if TYPE_CHECKING:
    from intarsia.target import Target

Answer = tuple[dict[str, Any], Callable[[Mapping[str, Any]], None]]
"""What there is to say, as JSON, and what prints it for a person."""


_HELP = """List what can be described; search it; or explain one kind or spec.

\b
intarsia targets                      the kinds, and whose products have tags
intarsia targets 'nvidia/*rtx*'       kinds, aliases and tags of such a name
intarsia targets rtx                  those that have it in their name
intarsia targets llvm                 a kind, its options, and what reads each
intarsia targets aot                  the same of an executor or a runtime, of config and deployment
intarsia targets 'aws/c5 -threads=2'  where each field of a spec comes from
"""


@click.command(help=_HELP, short_help="List, search and explain targets.")
@click.argument("what", metavar="[PATTERN|KIND|SPEC]", required=False)
@json_option
@verbose_option
def targets(what: str | None, as_json: bool) -> None:
    """Answer with what there is to say of kinds, tags and specs."""
    data, show = _answer(what.strip() if what is not None else "")
    print_answer(data, show, as_json=as_json)


def _answer(what: str) -> Answer:
    if not what:
        return _everything(), _print_everything
    kinds = _kinds()
    if what in kinds:
        return {"kind": _with_effects(kinds[what])}, _print_kind
    of_level = _kind_of_level(what)
    if of_level is not None:
        return {"kind": of_level}, _print_kind
    is_one_word = len(what.split()) == 1 and not what.startswith(("{", "["))
    if is_one_word and ("*" in what or "?" in what):
        return _search(what), _print_found
    try:
        return _explained(what), _print_explained
    except SpecError:
        found = _search(f"*{what}*", what) if is_one_word else {"found": []}
        if not found["found"]:
            raise
        return found, _print_found


def _kinds() -> dict[str, dict[str, Any]]:
    from intarsia.target.describe import describe_kinds

    return {name: asdict(kind) for name, kind in describe_kinds().items()}


def _with_effects(kind: dict[str, Any]) -> dict[str, Any]:
    """The kind, and of each of its options what reads it."""
    from intarsia.planning.effects import effects
    from intarsia.target import KINDS

    read_by = effects(KINDS[kind["name"]])
    return kind | {"options": [option | {"read_by": read_by[option["name"]]} for option in kind["options"]]}


def _kind_of_level(name: str) -> dict[str, Any] | None:
    """An executor, a runtime, or what a configuration, a deployment or a link says, as a kind of target."""
    from intarsia.config.levels import LEVELS
    from intarsia.target.describe import describe_option

    for level, kinds in LEVELS.items():
        kind = kinds.get(name)
        if kind is None:
            continue
        # Both load numpy, which most answers do without.
        from intarsia.planning.availability import RUNNING
        from intarsia.planning.effects import level_effects

        read_by = level_effects(level, kind)
        options = [
            asdict(describe_option(name, option, level=level)) | {"read_by": read_by[option.name]}
            for option in kind.options.values()
        ]
        runs = name in RUNNING if level in ("executor", "runtime") else level == "config"
        return {"name": name, "level": level, "meaning": kind.meaning, "runs": runs, "options": options}
    return None


def _everything() -> dict[str, Any]:
    from intarsia.target import ALIASES, Target, list_tags

    kinds = [{name: value for name, value in kind.items() if name != "options"} for kind in _kinds().values()]
    vendors = Counter(name.partition("/")[0] for name in list_tags())
    return {
        "kinds": kinds,
        "aliases": {name: str(Target(alias.form)) for name, alias in ALIASES.items()},
        "tags": dict(vendors),
    }


def _print_everything(data: Mapping[str, Any]) -> None:
    rows = [
        (each["name"], _level(each), each["device_type"], _other(each), _runs(each), each["meaning"])
        for each in data["kinds"]
    ]
    print_table(("kind", "level", "device", "engines, or devices", "runs here", "meaning"), rows)
    print_text(f"\naliases: {', '.join(data['aliases'])}")
    vendors = ", ".join(f"{vendor}/* ({count})" for vendor, count in data["tags"].items())
    print_text(f"\n{counted(sum(data['tags'].values()), 'tag')}: {vendors}")


def _level(kind: Mapping[str, Any]) -> str:
    return f"{kind['level']}, partial" if kind["is_partial"] else str(kind["level"])


def _other(kind: Mapping[str, Any]) -> str:
    return ", ".join(kind["engines"] or kind["serves"])


def _runs(kind: Mapping[str, Any]) -> str:
    """What of a kind has a backend."""
    from intarsia.target.describe import runs

    return "as its targets" if kind["level"] == "syntax" else runs(kind["runs_here"], kind["as_c"])


def _print_kind(data: Mapping[str, Any]) -> None:
    kind = data["kind"]
    print_text(f"{kind['name']}: {kind['meaning']}\n")
    is_target = "is_partial" in kind
    facts = (
        {}
        if not is_target
        else {
            "level": _level(kind),
            "device": kind["device_type"],
            "keys": ", ".join(kind["keys"]),
            "engines": ", ".join(kind["engines"]),
            "devices": ", ".join(kind["serves"]),
            "runs here": _runs(kind),
        }
    )
    facts = facts or {"level": kind["level"], "runs here": "yes" if kind["runs"] else "no"}
    for name, text in facts.items():
        if text:
            print_text(f"{name:<11}{text}", later=" " * 11)
    click.echo()
    options = kind["options"]
    columns = ("name", "type", "default", "unit", "read_by", "meaning")
    rows = [tuple(each[column] for column in columns) for each in options]
    print_table(("option", "type", "default", "unit", "read by", "meaning"), rows)
    if options and kind["level"] not in ("config", "deployment", "link"):
        print_text(f"\nOn the command line: {options[0]['flag']}=VALUE, and so on.")


def _search(pattern: str, word: str = "") -> dict[str, Any]:
    """What has a name of this pattern; or, where nothing has, the tags that have a word in them, separators aside."""
    import intarsia.config  # noqa: F401 - its levels have tags too, and add themselves
    from intarsia.spec.similar_names import tags_with
    from intarsia.target import ALIASES, LEVELS, Target, list_tags

    known = [(name, f"{kind['level']} kind", kind["meaning"]) for name, kind in _kinds().items()]
    known += [(name, "alias", str(Target(alias.form))) for name, alias in ALIASES.items()]
    found = [
        {"name": name, "what": what, "means": means, "source": ""}
        for name, what, means in known
        if fnmatchcase(name, pattern)
    ]
    tags = list_tags(pattern)
    if word and not found and not tags:
        every = list_tags()
        tags = {name: every[name] for name in tags_with(word, every)}
    for name, tag in tags.items():
        for label, variant in ((name, ""), *((f"{name}:{variant}", variant) for variant in tag.variants)):
            chosen = tag.chosen(variant)
            level = "" if chosen is None else chosen.level
            means = _untagged(LEVELS[level](label)) if level in LEVELS else ""
            found.append({"name": label, "what": f"{level} tag", "means": means, "source": tag.source})
    return {"pattern": pattern, "found": found}


def _untagged(spec: Any) -> str:
    return str(spec.text(tags=False))


def _print_found(data: Mapping[str, Any]) -> None:
    found = data["found"]
    if not found:
        raise SpecError(f"no kind, alias or tag is called {data['pattern']!r}; intarsia targets lists what there is")
    print_table(("name", "what", "means"), [(each["name"], each["what"], each["means"]) for each in found])


def _explained(spec: str) -> dict[str, Any]:
    from intarsia.config import CompilationConfig
    from intarsia.config.cli_overrides import Rewrites, merge_all
    from intarsia.config.cli_overrides.account import account
    from intarsia.config.files import target_text
    from intarsia.target import LEVELS, TAGS

    text = target_text(spec)
    level = TAGS.level_of(text)
    if level in LEVELS and level not in ("target", "config"):
        return {"level": level, "text": _untagged(LEVELS[level](text)), "targets": [], "leaves": []}
    merged = merge_all(rewrites=Rewrites(target=text))
    config = CompilationConfig.of(dict(merged.form))
    leaves = [asdict(leaf) for leaf in account(merged, config) if not leaf.path.startswith("targets[")]
    stated = any(leaf["by"] not in ("derived", "default") for leaf in leaves)
    return {
        "level": "target" if len(config.targets) == 1 and not stated else "config",
        "text": str(config),
        "targets": [_target(target) for target in config.flatten()],
        "leaves": leaves,
    }


def _target(target: Target) -> dict[str, Any]:
    from intarsia.target.explain import explain

    fields = [asdict(field) for field in explain(target)]
    return {"text": str(target), "kind": target.kind.name, "tags": list(target.tags), "fields": fields}


def _print_explained(data: Mapping[str, Any]) -> None:
    print_text(f"{data['level']}: {data['text']}")
    for target in data["targets"]:
        print_text("" if data["level"] == "target" else f"\n{target['text']}")
        fields = [field for field in target["fields"] if field["name"] != "features"]
        print_table(("field", "value", "from"), [(each["name"], each["value"], _from(each)) for each in fields])
        _print_remarks(target["fields"])
    if data["level"] == "config":
        click.echo()
        print_table(("leaf", "value", "from"), [(leaf["path"], leaf["value"], _said(leaf)) for leaf in data["leaves"]])


def _said(leaf: Mapping[str, Any]) -> str:
    by = str(leaf["by"])
    return f"tag {leaf['tag']}" if leaf["tag"] else "user" if by.startswith("--") else by


def _from(field: Mapping[str, Any]) -> str:
    return f"{field['origin']} {field['tag']}".strip()


def _print_remarks(fields: Iterable[Mapping[str, Any]]) -> None:
    """What is too long for a table: the features, and the sources of tags."""
    remarks = {field["name"]: field["value"] for field in fields if field["name"] == "features"}
    remarks |= {field["tag"]: field["source"] for field in fields if field["tag"]}
    if remarks:
        click.echo()
    for name, text in remarks.items():
        print_text(f"{name}: {text}")
