from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.target.features import Features, features_of

CASCADELAKE = features_of("llvm", {"mtriple": "x86_64--", "mcpu": "cascadelake"})


def test_asked_by_attribute() -> None:
    assert CASCADELAKE.has_avx512_vnni is True
    assert CASCADELAKE.has_amx_int8 is False
    assert CASCADELAKE.has_sve is None
    assert CASCADELAKE.woof is None
    assert CASCADELAKE.is_woof is None
    assert (CASCADELAKE.is_x86, CASCADELAKE.is_aarch64, CASCADELAKE.is_m_profile) == (True, False, False)


def test_asked_by_name() -> None:
    assert "avx512vnni" in CASCADELAKE
    assert "sve" not in CASCADELAKE
    assert 3 not in CASCADELAKE
    assert CASCADELAKE.get("has_avx2") is True
    assert CASCADELAKE.get("has_sve") is None
    assert CASCADELAKE.get("has_sve", True) is True
    assert CASCADELAKE.get("has_amx_int8", True) is False
    assert list(CASCADELAKE) == sorted(CASCADELAKE)


def test_facts_of_a_kind() -> None:
    features = Features({"is_test": True, "has_lanes": 16})
    assert (features.is_test, features.has_lanes, features.get("test"), features.has("lanes")) == (
        True,
        16,
        None,
        False,
    )
    assert features != Features()
    assert features.is_aarch64 is None
    assert repr(features) == "Features({'is_test': True, 'has_lanes': 16}, architecture='', on={})"


def test_profiles_of_arm() -> None:
    of = {name: features_of("llvm", {"mcpu": name}) for name in ("cortex-a53", "cortex-r82", "cortex-r5", "cortex-m3")}
    profiles = {name: (each.is_a_profile, each.is_r_profile, each.is_m_profile) for name, each in of.items()}
    assert profiles == {
        "cortex-a53": (True, False, False),
        "cortex-r82": (False, True, False),
        "cortex-r5": (False, True, False),
        "cortex-m3": (False, False, True),
    }


def test_they_are_read_only_and_compare_by_value() -> None:
    with pytest.raises(AttributeError, match="change those"):
        CASCADELAKE.has_sve = True
    again = features_of("llvm", {"mtriple": "x86_64--", "mcpu": "cascadelake"})
    assert again == CASCADELAKE
    assert hash(again) == hash(CASCADELAKE)
    assert again != features_of("llvm", {"mcpu": "skylake"})
    assert again != "cascadelake"


def test_they_copy_and_pickle() -> None:
    assert copy.deepcopy(CASCADELAKE) == CASCADELAKE
    assert pickle.loads(pickle.dumps(CASCADELAKE)) == CASCADELAKE


@given(st.text(max_size=30))
def test_any_name_may_be_asked(name: str) -> None:
    assert CASCADELAKE.get(f"has_{name}") in (True, False, None)
    assert CASCADELAKE.has(name) in (True, False)
