"""Deadlines by one timer: who is late is cancelled, who has ended is not, and each loop has a timer of its own."""

from __future__ import annotations

import asyncio

from intarsia.serving.http.deadlines import Deadlines, Open


async def held(deadlines: Deadlines, begun: list[Open], gate: asyncio.Event) -> str:
    watched = deadlines.begin()
    begun.append(watched)
    try:
        await gate.wait()
        return "ended"
    except asyncio.CancelledError:
        return "late" if watched.is_late else "cancelled"
    finally:
        deadlines.end(watched)


async def all_of_them(deadlines: Deadlines) -> list[str]:
    never, soon, begun = asyncio.Event(), asyncio.Event(), list[Open]()
    gates = (never, soon, never, soon, never)
    tasks = [asyncio.create_task(held(deadlines, begun, gate)) for gate in gates]
    await asyncio.sleep(0)
    tasks[2].cancel()
    soon.set()
    return await asyncio.gather(*tasks)


def test_who_is_late_is_cancelled_and_nobody_else() -> None:
    deadlines = Deadlines(0.3)
    for _ in range(2):
        assert asyncio.run(all_of_them(deadlines)) == ["late", "ended", "cancelled", "ended", "late"]
        assert not deadlines._open
        assert deadlines._timer is None


def test_a_later_one_is_late_too() -> None:
    async def one_by_one() -> list[str]:
        deadlines, begun, never = Deadlines(0.02), list[Open](), asyncio.Event()
        first = asyncio.create_task(held(deadlines, begun, never))
        await asyncio.sleep(0.01)
        second = asyncio.create_task(held(deadlines, begun, never))
        found = [await first, await second]
        assert begun[0].deadline < begun[1].deadline
        return found

    assert asyncio.run(one_by_one()) == ["late", "late"]
