"""Modules made by hand, and what a kernel may do at worst with the memory that it is given."""

from __future__ import annotations

import random
from collections.abc import Mapping

from intarsia.codegen.arena import Arena
from intarsia.codegen.module import Buffer, Call, Overlap, Read, Scratch, SourceModule, View, Write


class Drawing:
    """A module that grows call by call; each call fills one buffer of bytes."""

    def __init__(self) -> None:
        self.buffers: dict[str, Buffer] = {}
        self.views: dict[str, View] = {}
        self.inputs: dict[str, Buffer] = {}
        self.outputs: dict[str, Buffer] = {}
        self.calls: list[Call] = []

    def buffer(self, size: int) -> str:
        name = f"b{len(self.buffers) + len(self.views) + len(self.inputs) + len(self.outputs)}"
        self.buffers[name] = Buffer(name=name, dtype="int8", shape=(size,))
        return name

    def input(self, size: int) -> str:
        name = self.buffer(size)
        self.inputs[name] = self.buffers.pop(name)
        return name

    def output(self, name: str) -> None:
        self.outputs[name] = self.buffers.pop(name)

    def call(
        self, size: int, *reads: str, ahead: Mapping[str, int] | None = None, scratch: tuple[int, ...] = ()
    ) -> str:
        name = self.buffer(size)
        self.calls.append(
            Call(
                function="f",
                arguments=(Write(name), *map(Read, reads), *map(Scratch, scratch)),
                overlaps=tuple(Overlap(write=name, read=read, ahead=least) for read, least in (ahead or {}).items()),
                nodes=(f"node of {name}",),
            )
        )
        return name

    def concat(self, *parts: str) -> str:
        name, offset = self.buffer(sum(self.buffers[part].size for part in parts)), 0
        for part in parts:
            self.views[part] = View(buffer=self.buffers.pop(part), of=name, offset=offset)
            offset += self.views[part].buffer.size
        return name

    def module(self) -> SourceModule:
        return SourceModule(
            inputs=self.inputs,
            outputs=self.outputs,
            buffers=self.buffers,
            views=self.views,
            constants={},
            functions={},
            calls=tuple(self.calls),
        )


def drawn(seed: int, count: int) -> SourceModule:
    """A random module of so many calls: reads that end early and late, in place or not, parts, and scratch memory.

    What is read is most often young; a fifth of the calls read any value, or the caller's input. Some of what nothing
    else reads is the caller's.
    """
    chance, drawing = random.Random(seed), Drawing()
    given = drawing.input(48)
    names = [drawing.call(chance.choice((1, 16, 40, 200)), given)]
    while len(drawing.calls) < count:
        parts = [name for name in dict.fromkeys(chance.choices(names[-4:], k=2)) if name in drawing.buffers]
        if len(parts) == 2 and chance.random() < 0.2:
            names.append(drawing.concat(*parts))
            continue
        young = [given, *names] if chance.random() < 0.2 else names[-5:]
        reads = chance.sample(young, min(len(young), chance.choice((1, 1, 1, 2, 2, 3))))
        ahead = {read: chance.choice((0, 0, 16, 40, -8)) for read in reads if chance.random() < 0.6}
        scratch = (chance.choice((8, 64)),) if chance.random() < 0.2 else ()
        names.append(drawing.call(chance.choice((1, 7, 16, 32, 48, 100, 200)), *reads, ahead=ahead, scratch=scratch))
    read = {name for call in drawing.calls for name in call.reads}
    for name in [each for each in drawing.buffers if each not in read]:
        if chance.random() < 0.5 and not any(view.of == name for view in drawing.views.values()):
            drawing.output(name)
    return drawing.module()


class _Memory:
    """What lies at each byte of the arena, and in the caller's buffers."""

    def __init__(self, module: SourceModule, arena: Arena) -> None:
        self.module, self.arena = module, arena
        every = (*module.buffers.values(), *module.inputs.values(), *module.outputs.values())
        self.sizes = {each.name: each.size for each in every}
        self.sizes |= {name: view.buffer.size for name, view in module.views.items()}
        self.given = {each.name for each in module.inputs.values()}
        self.bytes: dict[object, object] = {}
        self.written: dict[tuple[str, int], object] = {}

    def place(self, root: str, byte: int) -> object:
        return self.arena.offsets[root] + byte if root in self.arena.offsets else (root, byte)

    def expect(self, name: str, since: int, upto: int) -> None:
        root, start = self.module.root(name)
        for byte in range(start + since, start + upto):
            if root not in self.given:
                assert self.bytes[self.place(root, byte)] == self.written[root, byte], f"{name}, byte {byte}"


def run_at_worst(module: SourceModule, arena: Arena) -> None:
    """Run the calls on memory, each as late with its reads as it is allowed to be.

    Raises:
        AssertionError: A call reads a byte that is not what was written there.
    """
    memory = _Memory(module, arena)
    for number, call in enumerate(module.calls):
        ahead = {each.read: each.ahead for each in call.overlaps}
        seen = dict.fromkeys(call.reads, 0)
        start = arena.scratch.get(number, 0)
        memory.bytes |= dict.fromkeys(range(start, start + call.scratch), "scratch")
        (target,) = call.writes
        root, start = module.root(target)
        for byte in range(memory.sizes[target]):
            for read in seen.keys() & ahead.keys():
                upto = max(seen[read], min(memory.sizes[read], byte - ahead[read] + 1))
                memory.expect(read, seen[read], upto)
                seen[read] = upto
            memory.bytes[memory.place(root, start + byte)] = (number, byte)
        for read, since in seen.items():
            memory.expect(read, since, memory.sizes[read])
        memory.written |= {(root, start + byte): (number, byte) for byte in range(memory.sizes[target])}
