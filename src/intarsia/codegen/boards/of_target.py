"""What a target of a microcontroller means here: its memories, the emulated board that runs its programs, its flags."""

from __future__ import annotations

from dataclasses import replace

from intarsia.codegen.boards.board import EMULATED, FLASH, Board, Memory
from intarsia.errors import ConfigError
from intarsia.target import Target

_STEP = 32


def emulated(target: Target) -> Board | None:
    """The board that runs a target's programs, as the target says or else by its processor; ``None`` if none does.

    Its memories are the target's, where the target states them: so a program that does not fit the target does not fit
    here. Its flags are those of the target.

    Raises:
        ConfigError: A stated memory is larger than any of the emulated board.
    """
    found = _board(target)
    if found is None:
        return None
    return replace(_with_memories(found, target), flags=flags(target))


def _board(target: Target) -> Board | None:
    if target.board:
        return EMULATED[target.board]
    processor = target.mcpu.partition("+")[0]
    return next((each for each in EMULATED.values() if processor in each.processors), None)


def roomy(board: Board) -> Board:
    """The same board with all the memory that is emulated, for programs that need not fit into what a target states.

    Where code lies makes no difference to how many instructions are executed.
    """
    whole = replace(EMULATED[board.name], flags=board.flags)
    if board.flash.size <= whole.flash.size:
        return whole
    start, end = board.flash.address, board.flash.address + board.flash.size
    free = [each for each in whole.written if each.address >= end or each.address + each.size <= start]
    return replace(whole, memories=(*free, board.flash))


def memories(target: Target) -> tuple[Memory, ...]:
    """What may hold values, fastest first, and then ``flash``: as stated, else those of the emulated board.

    A memory that a target of no board states has the address 0. None are known of a target that states nothing.
    """
    if target.ram or target.flash:
        stated = [Memory(name=name, address=0, size=size) for name, size in target.ram.items()]
        if target.flash:
            stated.append(Memory(name=FLASH, address=0, size=target.flash, is_written=False))
        return tuple(stated)
    return EMULATED[target.board].memories if target.board else ()


def flags(target: Target) -> tuple[str, ...]:
    """For the compiler of Arm's microcontrollers: the processor, its extensions, and whether it has floats.

    Extensions that ``mattr`` takes away are taken away; a processor without ``mcpu`` is that of the stated board.
    """
    if not target.mcpu:
        march = str(target.options.get("march", ""))
        if march:
            return (f"-march={march}", "-mthumb")
        return EMULATED[target.board].flags if target.board else ("-mthumb",)
    features = target.features
    processor, *own = target.mcpu.split("+")
    has_floats = features.has("vfp2sp") and "nofp" not in own
    gone = {word.lstrip("-") for word in target.mattr if word.startswith("-")}
    own += [f"no{name}" for name in ("mve", "mve.fp", "dsp") if name in gone and not features.has(name)]
    own += [] if has_floats or not _may_have_floats(processor) else ["nofp"]
    floats = ("-mfpu=auto", "-mfloat-abi=hard") if has_floats else ("-mfloat-abi=soft",)
    return (f"-mcpu={'+'.join(dict.fromkeys([processor, *own]))}", "-mthumb", *floats)


def _may_have_floats(processor: str) -> bool:
    return Target(f"c -mcpu={processor}").features.has("vfp2sp")


def _with_memories(board: Board, target: Target) -> Board:
    """The board with memories of the stated names and sizes, each inside one that it has."""
    room = {each: each.size for each in board.memories}
    written = [_placed(board, room, name, size, is_written=True) for name, size in target.ram.items()]
    flash = [_placed(board, room, FLASH, target.flash, is_written=False)] if target.flash else [board.flash]
    return replace(board, memories=(*(written or board.written), *flash))


def _placed(board: Board, room: dict[Memory, int], name: str, size: int, *, is_written: bool) -> Memory:
    """A memory at the end of what is left of one: of that name or else the first that has the room."""
    fits = [each for each, left in room.items() if left >= size and is_written <= each.is_written]
    if not fits:
        raise ConfigError(f"{name}: the emulated board {board.name} has no memory of {size:,} bytes for it")
    found = next((each for each in fits if each.name == name), fits[0] if is_written else fits[-1])
    start = found.address + found.size - room[found]
    room[found] = max(0, room[found] - -(-size // _STEP) * _STEP)
    return Memory(name=name, address=start, size=size, is_written=is_written)
