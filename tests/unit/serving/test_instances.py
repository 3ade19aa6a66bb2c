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
    instances = Instances(["only"])
    first = instances.take(0.0)
    served: list[int] = []
    pause = threading.Event()

    def wait(number: int) -> None:
        found = instances.take(time.monotonic() + LONG_S)
        assert found == "only"
        served.append(number)
        instances.give_back(found)

    threads = []
    for number in range(4):
        threads.append(threading.Thread(target=wait, args=(number,)))
        threads[-1].start()
        while instances.waiting < len(threads):
            pause.wait(0.005)
    assert first is not None
    instances.give_back(first)
    for thread in threads:
        thread.join(LONG_S)
    assert served == [0, 1, 2, 3]
    assert instances.waiting == 0


def test_what_nobody_uses_is_had_without_waiting() -> None:
    instances = Instances(["only"])
    assert instances.take_idle() == "only"
    assert instances.take_idle() is None
    instances.count_waiting(2)
    assert instances.waiting == 2
    instances.count_waiting(-2)
    instances.give_back("only")
    assert instances.take_idle() == "only"
    assert instances.waiting == 0


def test_who_gave_up_is_not_served() -> None:
    instances = Instances(["only"])
    assert instances.take(time.monotonic() + LONG_S) == "only"
    assert instances.take(time.monotonic() + 0.01) is None
    instances.give_back("only")
    assert instances.take(0.0) == "only"
