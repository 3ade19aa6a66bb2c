"""The mechanism with kinds of its own, one option of every type."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intarsia.errors import SpecError
from intarsia.spec import (
    Bool,
    Enum,
    Float,
    Int,
    Kind,
    Level,
    ListOf,
    MapOf,
    Option,
    Order,
    Placed,
    Spec,
    SpecOf,
    Str,
    Tag,
    TagTable,
    list_of_specs,
    read,
    read_list,
    schema,
)


def _fill(options: Mapping[str, Any]) -> Mapping[str, Any]:
    return options if options.get("word") != "fill" else {"count": 1, **options}


def _check(options: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    if options.get("word") == "bad":
        yield "word", "must not be bad"


TYPES = {
    "flag": Bool(),
    "count": Int(),
    "cap": Int(minimum=1),
    "rate": Float(),
    "word": Str(),
    "mode": Enum(("fast", "slow")),
    "names": ListOf(Str()),
    "set": ListOf(Str(), Order.FREE),
    "signs": ListOf(Str(), Order.SIGNED),
    "nested": ListOf(ListOf(ListOf(Str()))),
    "sizes": MapOf(Int()),
    "lists": MapOf(ListOf(Str())),
    "maps": ListOf(MapOf(Str())),
    "child": SpecOf("thing"),
    "things": list_of_specs("thing"),
}
FULL = Kind(
    name="full",
    meaning="has everything",
    options=schema(
        Option(name=name, type=type_, meaning="for tests", older=("kid",) if name == "child" else ())
        for name, type_ in TYPES.items()
    ),
    fill=_fill,
    check=_check,
)
BARE = Kind(name="bare", meaning="has nothing", options=schema())


class Thing(Spec[Kind]):
    __slots__ = ()

    def __init__(self, form: object) -> None:
        spec = read(LEVEL, form)
        self._fix(spec.kind, spec.options, spec.tags)


LEVEL = Level(
    name="thing",
    type=Thing,
    kinds={"full": FULL, "bare": BARE},
    tags=TagTable(),
    elsewhere={"executor": "it belongs to the executor"},
)


@pytest.fixture(autouse=True)
def _tags_of_one_test() -> Iterator[None]:
    with LEVEL.tags.scope():
        yield


def tag(name: str, form: object, level: str = "thing", **variants: object) -> None:
    LEVEL.tags.register(name, Tag(name=name, level=level, form=form, variants=variants))


def problems(form: object) -> str:
    with pytest.raises(SpecError) as caught:
        Thing(form)
    return str(caught.value)


# laws

STRINGS = st.text(st.sampled_from("ab+'\"\\ ,=-{[}:\t\n\x00é\u2003\ud800"), max_size=8) | st.text(max_size=5)
NAMES = st.lists(STRINGS, max_size=3)


def _dicts(children: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"kind": st.just("full")},
        optional={
            "flag": st.booleans(),
            "count": st.integers(),
            "cap": st.integers(min_value=1),
            "rate": st.floats(allow_nan=False, allow_infinity=False),
            "word": STRINGS.filter(lambda word: word not in {"bad", "fill"}),
            "mode": st.sampled_from(["fast", "slow"]),
            "names": NAMES,
            "set": NAMES,
            "signs": st.lists(st.from_regex("[+-]?[ab]", fullmatch=True), max_size=6),
            "nested": st.lists(st.lists(NAMES, max_size=2), max_size=2),
            "sizes": st.dictionaries(STRINGS, st.integers(), max_size=3),
            "lists": st.dictionaries(STRINGS, NAMES, max_size=2),
            "maps": st.lists(st.dictionaries(STRINGS, STRINGS, max_size=2), max_size=2),
            "tag": NAMES | STRINGS,
            "child": children,
            "things": st.lists(children | children.map(lambda d: d | {"kind": d["kind"] + ":1"}), max_size=2),
        },
    )


LEAVES: st.SearchStrategy[dict[str, Any]] = st.just({"kind": "bare"})
FORMS = st.recursive(LEAVES, _dicts, max_leaves=4)


@given(FORMS)
def test_every_output_form_parses_back(form: dict[str, Any]) -> None:
    thing = Thing(form)
    for back in (Thing(str(thing)), Thing(thing.json()), Thing(thing.export()), Thing(thing)):
        assert back == thing
        assert hash(back) == hash(thing)
        assert back.tags == thing.tags
        assert str(back) == str(thing)
        assert back.json() == thing.json()


@given(FORMS)
def test_export_is_pure_json(form: dict[str, Any]) -> None:
    exported = Thing(form).export()
    assert json.loads(json.dumps(exported)) == exported


@given(FORMS, FORMS)
def test_equality_is_equality_of_keys(one: dict[str, Any], other: dict[str, Any]) -> None:
    left, right = Thing(one), Thing(other)
    assert (left == right) == (left.key == right.key)
    assert left == Thing(left.key)


@given(st.lists(FORMS, min_size=1, max_size=3))
def test_a_list_of_texts_is_a_text_of_a_list(forms: list[dict[str, Any]]) -> None:
    things = [Thing(form) for form in forms]
    assert list(read_list(LEVEL, ", ".join(map(str, things)))) == things
    assert list(read_list(LEVEL, things)) == things
    assert list(read_list(LEVEL, json.dumps([thing.export() for thing in things]))) == things


WORDS = (
    """full bare v/t kind tag true null executor child things names {"kind": "full" 1 12 +a - -- = , : ' " \\ { } ["""
)
WORKLOADS = st.sampled_from([*TYPES, *WORDS.split(" "), " ", " ", ", ", "\t", "\n", "\x00", "é", "1e999"])
MUTATED = st.builds(
    lambda text, at, drop, put: text[: at % (len(text) + 1)] + put + text[at % (len(text) + 1) + drop :],
    st.sampled_from(
        [
            "full -flag -count=3 -mode=fast -names='a b',c -signs=+a,-b",
            "full --word 'it\\'s' -sizes=a=1,b=2 count=3, bare:2, v/t -flag",
            """full -child='full -things="bare, full -word=\\'x y\\'"' -nested="'a,b','c'",d -tag=v/t""",
            '{"kind": "full", "child": {"kind": "bare"}, "names": ["a", "\\"b"], "rate": 1.5e3}',
            '[{"tag": "v/t", "count": 1}, "bare:1"]',
        ]
    ),
    st.integers(0, 100),
    st.integers(0, 3),
    WORKLOADS | st.text(max_size=2),
)
TEXTS = st.lists(WORKLOADS, max_size=12).map("".join) | st.lists(WORKLOADS).map(" ".join) | MUTATED | st.text()


@settings(max_examples=2000)
@given(TEXTS)
def test_any_text_gives_a_value_or_our_error(text: str) -> None:
    with warnings.catch_warnings(), LEVEL.tags.scope():
        tag("v/t", "full -flag")
        warnings.simplefilter("ignore", DeprecationWarning)
        for make in (Thing, lambda form: read_list(LEVEL, form)):
            try:
                made = make(text)
            except SpecError:
                continue
            assert made is not None


JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.binary(max_size=2) | WORKLOADS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*TYPES, "kind", "tag", "features", "x"]) | st.integers(), inner, max_size=4)
    ),
    max_leaves=8,
)


@settings(max_examples=500)
@given(JUNK)
def test_any_data_gives_a_value_or_our_error(data: object) -> None:
    for make in (Thing, lambda form: read_list(LEVEL, form)):
        try:
            made = make(data)
        except SpecError:
            continue
        assert made is not None


# text


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("full", {}),
        ("  full  ", {}),
        ("full -flag", {"flag": True}),
        ("full -flag false", {"flag": False}),
        ("full -flag word=x", {"flag": True, "word": "x"}),
        ("full --flag=TRUE ---count 7", {"flag": True, "count": 7}),
        ("full count=7", {"count": 7}),
        ("full -count=-7", {"count": -7}),
        (f"full -count={2**80}", {"count": 2**80}),
        ("full -rate=1e-3", {"rate": 0.001}),
        ("full -word=a=b", {"word": "a=b"}),
        ("full -word='a b'", {"word": "a b"}),
        ("full -word 'a b'", {"word": "a b"}),
        ("full -word='-x'", {"word": "-x"}),
        (r"full -word='\'\\\'blah\\\'\''", {"word": r"'\'blah\''"}),
        ("full -names='fred, foo, bar',baz", {"names": ("fred, foo, bar", "baz")}),
        (r"full -names='fr\'ed','f\'oo',' bar,baz '", {"names": ("fr'ed", "f'oo", "bar,baz")}),
        ("full -names='-a:uint=1,-b=2'", {"names": ("-a:uint=1", "-b=2")}),
        ("full -names=-danny,-sammy=1", {"names": ("-danny", "-sammy=1")}),
        ("full -names=a,,b", {"names": ("a", "b")}),
        ("full -names=a,'',b", {"names": ("a", "", "b")}),
        ("full -names=''", {"names": ()}),
        ("full -set=b,a,b", {"set": ("a", "b")}),
        ("full -signs=+c,+b,-a,+a,+d", {"signs": ("+a", "+b", "+c", "+d")}),
        ("full -signs=+c,-a,+b", {"signs": ("+c", "-a", "+b")}),
        ("full -nested=\"'a,b','c'\",'d'", {"nested": ((("a", "b"), ("c",)), (("d",),))}),
        ("full -sizes=b=2,a=1", {"sizes": {"a": 1, "b": 2}}),
        ("full -sizes='a b'=1,'c=d'=2", {"sizes": {"a b": 1, "c=d": 2}}),
    ],
)
def test_text_form(text: str, options: dict[str, object]) -> None:
    assert dict(Thing(text).options) == options


def test_nested_specs_in_text() -> None:
    thing = Thing("full -child='full -child=bare' -things='full -names=a,b, bare:3'")
    assert thing["child"]["child"] == Thing("bare")
    assert thing["things"] == (Thing({"kind": "full", "names": ["a", "b"]}), Placed(Thing("bare"), 3))


def test_json_within_text() -> None:
    assert Thing("""full -child='{"kind": "full", "count": 2}'""")["child"]["count"] == 2


# errors, word for word


def test_every_problem_of_a_text_is_shown_with_a_caret() -> None:
    assert problems("full -cuont=1 -flag=perhaps -mode=fsat foo -cap=0") == "\n".join(
        (
            "5 problems:",
            "cannot recognize 'cuont' as an option of 'full'; did you mean 'count'?",
            "  full -cuont=1 -flag=perhaps -mode=fsat foo -cap=0",
            "        ^^^^^",
            "flag: 'perhaps' (str) is not a bool; write true or false",
            "  full -cuont=1 -flag=perhaps -mode=fsat foo -cap=0",
            "                      ^^^^^^^",
            "mode: 'fsat' (str) is not one of fast, slow; did you mean 'fast'?",
            "  full -cuont=1 -flag=perhaps -mode=fsat foo -cap=0",
            "                                    ^^^^",
            "options start with '-'; a further target needs a comma and a blank before it",
            "  full -cuont=1 -flag=perhaps -mode=fsat foo -cap=0",
            "                                         ^^^",
            "cap: 0 (int) is too small; the least value is 1",
            "  full -cuont=1 -flag=perhaps -mode=fsat foo -cap=0",
            "                                                  ^",
        )
    )


def test_a_caret_reaches_into_nested_quotes() -> None:
    assert problems("""full -things="'full -child=\\"bare -oops\\"',bare\"""") == "\n".join(
        (
            "things[0].child: cannot recognize 'oops' as an option of 'bare'; it has no options",
            """  full -things="'full -child=\\"bare -oops\\"',bare\"""",
            """                                     ^^^^""",
        )
    )


def test_every_problem_of_a_dict_is_shown_with_its_path() -> None:
    form = {
        "kind": "full",
        "flag": "true",
        "count": True,
        "things": ["bare", {"kind": "full", "child": {"kind": "no"}}],
    }
    assert problems(form) == "\n".join(
        (
            "3 problems:",
            "flag: must be a bool, found 'true' (str)",
            "count: must be an int, found True (bool)",
            "things[1].child.kind: thing kind 'no' is not defined; known are full, bare",
        )
    )


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("", "empty thing"),
        ("fulll", "did you mean 'full'"),
        ("full -word=a -word=b", "'word' appears more than once"),
        ("full -child=bare -kid=bare", "'child' appears more than once"),
        ("full -kind=bare", "'kind' appears more than once"),
        ("full -tag=a -tag=b", "'tag' appears more than once"),
        ("full -word='abc", "quote never closes"),
        ("full -word=a\\", "escapes nothing"),
        ("full -word=", "no value after '='"),
        ("full -word", "needs a value (str)"),
        ("full -word -flag", "needs a value"),
        ("full -tag", "needs a value"),
        ("full --", "name is missing"),
        ("full -=1", "name is missing"),
        ("full wrod=1", "options start with '-'"),
        ("full -count=12abc", "cannot parse integer from '12abc'"),
        ("full -count=1.5", "cannot parse integer"),
        ("full -count=1_000", "cannot parse integer"),
        ("full -count=٣", "cannot parse integer"),
        pytest.param("full -count=" + "9" * 5000, "cannot parse integer", id="large-text"),
        ("full -count=2,bare", "a comma ends a target only if a blank follows"),
        ("full -rate=nan", "cannot parse number"),
        ("full -rate=1e999", "finite"),
        ("full -sizes=a", "name=value"),
        ("full -sizes=a=1,a=2", "name appears more than once"),
        ("full -executor=aot", "it belongs to the executor"),
        ("full -features=x", "'features' cannot be stated"),
        ("full, bare", "this is a list of 2; write one thing"),
        ("bare:1", "has no device index"),
        ("bare:a", "no variants"),
        ("full -word=bad", "must not be bad"),
        ('{"kind": "bare",}', "config dict"),
        ('{"kind": "bare", "kind": "full"}', "appears more than once"),
        ('{"kind": "full", "rate": NaN}', "not a JSON number"),
        pytest.param('{"kind": "full", "names": ' + "[" * 100_000, "config dict", id="deep"),
        ({}, "field 'kind' is not found"),
        ({"knid": "full"}, "'knid'"),
        ({"kind": 3}, "kind: must be a str"),
        ({"kind": "full -flag"}, "is not defined"),
        ({"kind": "full", "names": "a"}, "names: must be a list"),
        ({"kind": "full", "names": ["a", 1]}, "names[1]: must be a str"),
        ({"kind": "full", "sizes": {"a": "1"}}, "sizes.a: must be an int"),
        ({"kind": "full", "sizes": {1: 1}}, "must be a str, found 1"),
        ({"kind": "full", "sizes": [1]}, "must be a map"),
        pytest.param({"kind": "full", "count": 10**5000}, "too many digits", id="large"),
        ({"kind": "full", "rate": float("inf")}, "finite"),
        ({"kind": "full", "rate": 10**400}, "finite"),
        ({"kind": "full", "mode": 1}, "must be a str"),
        ({"kind": "full", "word": None}, "must be a str"),
        ({"kind": "full", "features": {}}, "'features' cannot be stated"),
        ({"kind": "full", "child": "bare:1"}, "has no device index"),
        ({"kind": "full", 1: 2}, "the name of an option must be a string"),
        ({"kind": "full", "tag": 1}, "tag: must be a list"),
        (None, "found None"),
        (3.5, "found 3.5"),
        (["bare"], "found a list"),
    ],
)
def test_errors_say_what_is_wrong(form: object, words: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        assert words in problems(form)


def test_a_spec_that_holds_itself_is_too_deep() -> None:
    form: dict[str, Any] = {"kind": "full"}
    form["child"] = form
    assert "nested deeper" in problems(form)


def test_a_long_text_is_shown_around_the_caret() -> None:
    lines = problems("full -word=" + "x" * 5000 + " -nope=1 -word2=" + "y" * 5000).split("\n")
    shown = lines[lines.index(next(line for line in lines if line.lstrip().startswith("^"))) - 1]
    assert "nope" in shown
    assert len(shown) < 120


def test_older_spellings_warn() -> None:
    with pytest.warns(DeprecationWarning, match="'kid' is an older spelling of 'child'"):
        assert Thing({"kind": "full", "kid": "bare"}) == Thing("full -child=bare")


def test_a_kind_fills_what_follows() -> None:
    assert Thing("full -word=fill")["count"] == 1
    assert Thing("full -word=fill -count=2")["count"] == 2


# tags


def test_a_tag_is_provenance() -> None:
    tag("v/t", "full -count=1 -flag")
    thing = Thing("v/t")
    assert thing == Thing("full -count=1 -flag")
    assert (thing.tag, thing.key) == ("v/t", "full -count=1 -flag=true")
    assert str(thing) == "full -count=1 -flag=true -tag=v/t"


@pytest.mark.parametrize("form", ["v/t -count=2", {"tag": "v/t", "count": 2}, '{"tag": ["v/t"], "count": 2}'])
def test_a_tag_takes_overrides(form: object) -> None:
    tag("v/t", {"kind": "full", "count": 1, "flag": True})
    thing = Thing(form)
    assert dict(thing.options) == {"count": 2, "flag": True}
    assert thing.tags == ("v/t",)


def test_a_tag_survives_the_round_trip_without_its_registration() -> None:
    with LEVEL.tags.scope():
        tag("v/t", "full -count=1")
        text = str(Thing("v/t -flag"))
    back = Thing(text)
    assert dict(back.options) == {"count": 1, "flag": True}
    assert back.tag == "v/t"


def test_a_tag_extends_a_tag() -> None:
    tag("base", "full -count=1 -word=x")
    tag("more", "base -count=2")
    tag("most", {"tag": "more", "flag": True})
    assert dict(Thing("most").options) == {"count": 2, "word": "x", "flag": True}
    assert Thing("most").tags == ("most",)


def test_several_tags_of_one_value() -> None:
    tag("aws/p3", "full -count=1")
    tag("nvidia/v100", "full -count=1 -flag")
    thing = Thing({"tag": ["aws/p3", "nvidia/v100"]})
    assert thing.tags == ("aws/p3", "nvidia/v100")
    assert dict(thing.options) == {"count": 1, "flag": True}
    assert Thing("full -tag=aws/p3,nvidia/v100").tags == thing.tags
    assert Thing("aws/p3 -tag=nvidia/v100").tags == thing.tags


def test_tags_that_disagree_name_no_value() -> None:
    tag("a", "full -count=1")
    tag("b", "full -count=2")
    tag("c", "bare")
    assert "differ in count" in problems({"tag": ["a", "b"]})
    assert "differ in kind" in problems({"tag": ["a", "c"]})


def test_variants() -> None:
    tag("soc", "full", aot="full -word=aot")
    assert Thing("soc:aot -flag")["word"] == "aot"
    assert Thing("soc:aot").tag == "soc:aot"
    assert "did you mean 'aot'" in problems("soc:aott")
    assert read_list(LEVEL, "soc:1, soc:aot:2") == (Placed(Thing("soc"), 1), Placed(Thing("soc:aot"), 2))


def test_a_tag_with_a_comma() -> None:
    tag("v/gt,128bit", "full -flag")
    assert Thing("v/gt,128bit")["flag"]
    assert len(read_list(LEVEL, "v/gt,128bit, bare")) == 2
    thing = Thing("v/gt,128bit -count=1")
    assert Thing(str(thing)).tags == ("v/gt,128bit",)


@pytest.mark.parametrize("form", ["nope", {"tag": "nope"}, {"tag": "full"}])
def test_unknown_tags(form: object) -> None:
    tag("nopes", "full")
    assert "not defined" in problems(form)


def test_tags_in_a_circle_and_of_another_level() -> None:
    tag("a", "b")
    tag("b", "a -flag")
    tag("other", {}, level="config")
    assert "a → b → a" in problems("a")
    assert "names a config" in problems("other")
    assert "is a tag, not a kind" in problems({"kind": "a"})


def test_a_fault_in_a_tag_is_said_to_be_the_tags() -> None:
    tag("a", {"kind": "full", "count": "x"})
    assert problems("a") == "tag 'a'.count: must be an int, found 'x' (str)"


# values


def test_values_are_frozen() -> None:
    thing = Thing({"kind": "full", "sizes": {"a": 1}})
    assert isinstance(thing["sizes"], MappingProxyType)
    with pytest.raises(AttributeError):
        thing.kind = BARE
    with pytest.raises(TypeError):
        thing.options["count"] = 1  # type: ignore[index]


def test_reading_an_option_the_kind_lacks() -> None:
    with pytest.raises(KeyError, match="did you mean 'count'"):
        Thing("full")["cuont"]


def test_unequal_to_other_types() -> None:
    assert Thing("bare") != "bare"
    assert Thing("bare") != Thing("full")


@pytest.mark.parametrize("form", ["full, " * 300 + "full", ["full"] * 301], ids=["text", "list"])
def test_a_list_that_is_no_machine_is_refused_before_it_is_read(form: object) -> None:
    with pytest.raises(SpecError, match="the list has 301 things; one machine has at most 200"):
        read_list(LEVEL, form)
