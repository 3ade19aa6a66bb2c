from __future__ import annotations

import threading
import time

from intarsia.serving.instances import Instances

LONG_S = 120.0


def test_each_is_taken_once_and_given_back() -> None:
    instances = Instances(["a", "b"])
    deadline = time.monotonic() + LONG_S
    taken = {instances.take(deadline), instances.take(deadline)}
    assert taken == {"a", "b"}
    assert instances.take(time.monotonic() - 1) is None
    instances.give_back("a")
    assert instances.take(deadline) == "a"


def test_who_waits_longest_is_served_first() -> None:
    lengths: list[int] = []
    changed = threading.Condition()

    def tell(length: int) -> None:
        with changed:
            lengths.append(length)
            changed.notify_all()

    instances = Instances(["only"], tell)
    first = instances.take(0.0)
    served: list[int] = []

    def wait(number: int) -> None:
        found = instances.take(time.monotonic() + LONG_S)
        assert found == "only"
        served.append(number)
        instances.give_back(found)

    threads = []
    for number in range(4):
        threads.append(threading.Thread(target=wait, args=(number,)))
        threads[-1].start()
        with changed:
            assert changed.wait_for(lambda: max(lengths, default=0) == len(threads), LONG_S)
    assert first is not None
    instances.give_back(first)
    for thread in threads:
        thread.join(LONG_S)
    assert served == [0, 1, 2, 3]
    assert lengths[-1] == 0


def test_who_gave_up_is_not_served() -> None:
    instances = Instances(["only"])
    assert instances.take(time.monotonic() + LONG_S) == "only"
    assert instances.take(time.monotonic() + 0.01) is None
    instances.give_back("only")
    assert instances.take(0.0) == "only"
