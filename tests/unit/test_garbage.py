import gc

import pytest

from intarsia.garbage import collected_later


def test_cycles_are_searched_for_again_afterwards() -> None:
    assert gc.isenabled()
    with collected_later():
        assert not gc.isenabled()
        with collected_later():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ValueError, match="wrong"), collected_later():
        raise ValueError("wrong")
    assert gc.isenabled()


def test_who_has_switched_it_off_finds_it_off() -> None:
    gc.disable()
    try:
        with collected_later():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_function_may_run_so() -> None:
    @collected_later()
    def is_searched_for() -> bool:
        return gc.isenabled()

    assert not is_searched_for()
    assert gc.isenabled()
