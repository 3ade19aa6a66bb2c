"""What every fuzzer runs its cases with: the command in a process of its own, watched for all that it must never do.

A worker imports the command once and forks for each case, so that a case costs what it does and not what Python's start
does; a crash, a hang or a lost descriptor of one case is nothing to the next. Engines are imported by the case itself.
"""

from __future__ import annotations

import gc
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from tests.fuzz.patience import ends

OUTPUT_CHARACTERS = 4000
MEMORY_BYTES = 10 * 2**30
"""Address space of a case: a shape that grew must end the case and not the machine."""
FILE_BYTES = 2**30
EXIT_CODES = frozenset({0, 2, 3, 4, 5, 6, 7, 8, 130})
"""Those that ``intarsia --help`` promises, but for 1, which says that nobody foresaw it."""

_TEMPORARY, _CACHE, _HOME = ".tmp", ".cache", ".home"
_COMPILERS = ("cc", "gcc", "c++", "g++", "clang", "clang++", "ld", "ar", "as", "objdump")
_TOOLS = frozenset({"uname", "ldconfig", "openssl", *_COMPILERS})
"""Programs that Python's own library and compilers of engines start; inductor digests a header by openssl."""
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = {
    "os.remove": (0,),
    "os.rmdir": (0,),
    "os.mkdir": (0,),
    "os.rename": (0, 1),
    "os.link": (1,),
    "os.symlink": (1,),
    "os.truncate": (0,),
    "os.chmod": (0,),
    "os.chown": (0,),
    "os.utime": (0,),
    "shutil.rmtree": (0,),
}
"""Which arguments of an audit event are paths that it changes."""
_STARTS = frozenset({"subprocess.Popen", "os.exec", "os.posix_spawn", "os.system"})
_OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What a terminal obeys instead of showing it: controls, and marks that turn the direction of writing."""


@dataclass(frozen=True)
class Case:
    """One call of the command.

    Attributes:
        name: Says seed and mutation, enough to replay it.
        argv: Arguments of ``intarsia``; paths among them are absolute, or relative to the folder.
        folder: The only place that may be written; its temporary files, cache and home lie in it, too.
        compile_s: Seconds that an engine's own compiler may take, besides what every case may.
    """

    name: str
    argv: tuple[str, ...]
    folder: Path
    compile_s: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """What became of a case.

    Attributes:
        exit_code: ``None`` if a signal or the time limit ended it.
        signal: The signal that ended it, unless that was the time limit's.
        seconds: How long it took.
        output: The end of what it printed on both streams.
        foreign: Writes outside of its folder, and processes and libraries that it started and did not need.
    """

    exit_code: int | None
    signal: int | None
    seconds: float
    output: str
    foreign: tuple[str, ...]


def run_cases(
    cases: Iterable[Case],
    *,
    limit_s: float = 10.0,
    workers: int = 2,
    environment: Mapping[str, str] | None = None,
) -> Iterator[tuple[Case, Outcome]]:
    """Run each case; outcomes come in the order in which the cases end, and a line at the end says how many ended how.

    Cases are taken as workers are free, so that they may be made on the way.

    Args:
        cases: What to run.
        limit_s: Seconds after which a case is killed, without those that it waits for a processor.
        workers: How many run at one time.
        environment: Variables that every case has besides; ``XDG_CACHE_HOME`` among them is a cache that all share.
    """
    ends, longest_s = Counter[str](), 0.0
    for case, outcome in _run(cases, limit_s, workers, dict(environment or {})):
        ends[_end(outcome)] += 1
        longest_s = max(longest_s, outcome.seconds)
        yield case, outcome
    told = ", ".join(f"{end}: {number}" for end, number in sorted(ends.items()))
    print(f"{ends.total()} cases ({told}); the longest took {longest_s:.1f} s")  # noqa: T201 - pytest shows it with -rA


def _run(
    cases: Iterable[Case], limit_s: float, workers: int, environment: dict[str, str]
) -> Iterator[tuple[Case, Outcome]]:
    with ExitStack() as stack:
        idle = [stack.enter_context(_Worker(environment)) for _ in range(workers)]
        running: dict[Connection[Any, Any], tuple[_Worker, Case]] = {}
        for case in cases:
            if not idle:
                yield from _ended(running, idle)
            worker = idle.pop()
            worker.begin(case, limit_s + case.compile_s)
            running[worker.wire] = worker, case
        while running:
            yield from _ended(running, idle)


def _end(outcome: Outcome) -> str:
    if outcome.signal is not None:
        return signal.Signals(outcome.signal).name
    return "no end" if outcome.exit_code is None else f"exit code {outcome.exit_code}"


def faults(outcome: Outcome) -> list[str]:
    """Which rules the outcome breaks; none of them may be broken whatever the command was given."""
    found = [*outcome.foreign]
    if outcome.signal is not None:
        found.append(f"ended by {signal.Signals(outcome.signal).name}")
    elif outcome.exit_code is None:
        found.append(f"no end within {outcome.seconds:.0f} s")
    elif outcome.exit_code not in EXIT_CODES:
        found.append(f"exit code {outcome.exit_code}")
    if "Traceback (most recent call last)" in outcome.output:
        found.append("a traceback")
    controls = sorted(set(map(ascii, _OBEYED.findall(outcome.output))))
    if controls:
        found.append(f"control characters on the terminal: {', '.join(controls)}")
    return found


def _ended(
    running: dict[Connection[Any, Any], tuple[_Worker, Case]], idle: list[_Worker]
) -> Iterator[tuple[Case, Outcome]]:
    """The cases that ended, at least one; their workers are idle again."""
    for wire in wait(list(running)):
        assert isinstance(wire, Connection)
        worker, case = running.pop(wire)
        outcome = worker.outcome()
        idle.append(worker)
        yield case, outcome


class _Worker:
    """A process that forks for each case."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        import intarsia

        ours, theirs = socket.socketpair()
        sources = str(Path(intarsia.__file__).parents[1]), str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, (*sources, environment.get("PYTHONPATH"), os.environ.get("PYTHONPATH"))))
        inherited = {name: value for name, value in os.environ.items() if name != "XDG_CACHE_HOME"}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                # Threads of numpy's own would be left out of what is forked.
                env={**inherited, "OPENBLAS_NUM_THREADS": "1", **environment, "PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        self.wire: Connection[Any, Any] = Connection(ours.detach())

    def begin(self, case: Case, limit_s: float) -> None:
        self.wire.send({"argv": list(case.argv), "folder": str(case.folder.absolute()), "limit_s": limit_s})

    def outcome(self) -> Outcome:
        told = self.wire.recv()
        return Outcome(**{**told, "foreign": tuple(told["foreign"])})

    def __enter__(self) -> _Worker:
        return self

    def __exit__(self, *_: object) -> None:
        """The worker ends when its wire does; one that is busy is ended, and its case with it."""
        self.wire.close()
        self._process.terminate()
        self._process.wait()


def _serve(wire: Connection[Any, Any]) -> None:
    """Run cases until nobody asks for any more. In the process of a case this returns, to leave as a command does."""
    import intarsia.cli.main
    import intarsia.driver
    import intarsia.graph.normalisation.normalise
    import intarsia.runtime.model

    del intarsia
    gc.collect()
    gc.freeze()
    while True:
        try:
            asked = wire.recv()
        except EOFError:
            return
        output, report = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - both ends use them
        with output, report:
            begun = time.monotonic()
            child = os.fork()
            if not child:
                wire.close()
                _become(asked["argv"], Path(asked["folder"]), output.fileno(), report.fileno())
            status = _awaited(child, asked["limit_s"])
            seconds = time.monotonic() - begun
            words, foreign = _text(output.fileno(), OUTPUT_CHARACTERS * 4), _text(report.fileno(), 2**20)
        code = None if status is None else os.waitstatus_to_exitcode(status)
        wire.send(
            {
                "exit_code": code if code is not None and code >= 0 else None,
                "signal": -code if code is not None and code < 0 else None,
                "seconds": seconds,
                "output": words[-OUTPUT_CHARACTERS:],
                "foreign": list(dict.fromkeys(foreign.splitlines())),
            }
        )


def _awaited(child: int, limit_s: float) -> int | None:
    """The status with which a process ended, or ``None`` if it was killed at its time limit; its own end with it."""
    is_over = ends(child, limit_s)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    with suppress(ProcessLookupError):  # before it made a group of its own
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return status if is_over else None


def _text(descriptor: int, most: int) -> str:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, most, max(0, size - most)).decode(errors="replace")


def _become(argv: list[str], folder: Path, output: int, report: int) -> None:
    """Be the command, called with these arguments in this folder; leaves by `SystemExit`, as a command does."""
    from intarsia.cli.start import main

    os.setpgid(0, 0)
    report = os.dup(report)  # which is still there when the interpreter ends
    os.dup2(output, 1)
    os.dup2(output, 2)
    for most, kind in (
        (MEMORY_BYTES, resource.RLIMIT_AS),
        (FILE_BYTES, resource.RLIMIT_FSIZE),
        (0, resource.RLIMIT_CORE),
    ):
        resource.setrlimit(kind, (most, most))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    folder.mkdir(parents=True, exist_ok=True)
    for name in (_TEMPORARY, _CACHE, _HOME):
        (folder / name).mkdir(exist_ok=True)
    os.environ |= {
        "TMPDIR": str(folder / _TEMPORARY),
        "HOME": str(folder / _HOME),
        "XDG_CONFIG_HOME": str(folder / _HOME / ".config"),
    }
    os.environ.setdefault("XDG_CACHE_HOME", str(folder / _CACHE))
    tempfile.tempdir = None
    # What Python compiles as it imports is not what the command writes.
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.chdir(folder)
    sys.argv = ["intarsia", *argv]
    watch = _Watch(folder.resolve(), report)
    sys.addaudithook(watch)
    try:
        main()
    finally:
        watch.look_at_libraries()


class _Watch:
    """Writes down what happens and should not; what it noted is there even if the process dies."""

    def __init__(self, folder: Path, report: int) -> None:
        self._folder = folder
        self._report = report
        self._places = tuple(_written(folder))
        self._code = tuple(_code_places(folder))
        self._programs = tuple(_programs())
        self._busy = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._busy:
            return
        self._busy = True
        try:
            self._look(event, arguments)
        finally:
            self._busy = False

    def _look(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & _WRITES:
                self._changed("wrote", path)
        elif event == "os.mkdir" and os.path.isdir(arguments[0]):
            return  # it ends in an error: that a folder is there is found out so
        elif event in _CHANGES:
            for place in _CHANGES[event]:
                self._changed(event, arguments[place])
        elif event in _STARTS:
            self._started(event, arguments)
        elif event == "ctypes.dlopen":
            self._loaded(arguments[0])

    def look_at_libraries(self) -> None:
        """Note libraries that engines' own code loaded, of which Python knows nothing."""
        for line in Path("/proc/self/maps").read_text(errors="surrogateescape").splitlines():
            _, rights, _, _, _, *path = line.split(maxsplit=5)
            if "x" in rights and path and path[0].startswith(os.sep):
                self._loaded(path[0])

    def _changed(self, what: str, path: object) -> None:
        if isinstance(path, int):
            return
        place = os.path.realpath(os.path.dirname(os.path.abspath(os.fsdecode(path))))  # type: ignore[arg-type]
        whole = os.path.join(place, os.path.basename(os.fsdecode(path)))  # type: ignore[arg-type]
        if not _lies_in(whole, self._places):
            self._note(f"{what} {whole}")

    def _started(self, event: str, arguments: tuple[Any, ...]) -> None:
        program = os.fsdecode(arguments[0])
        words = map(os.fsdecode, arguments[1]) if len(arguments) > 1 and isinstance(arguments[1], (list, tuple)) else ()
        if os.path.basename(program) not in _TOOLS and not _lies_in(os.path.realpath(program), self._programs):
            self._note(f"{event} {program} {' '.join(words)}")

    def _loaded(self, library: object) -> None:
        if library is None:
            return
        name = os.fsdecode(library)  # type: ignore[arg-type]
        if os.sep not in name or name.startswith(("/memfd:", "/dev/", "/SYSV")):
            return
        if not _lies_in(os.path.realpath(name), self._code):
            self._note(f"loaded {name}")

    def _note(self, what: str) -> None:
        os.write(self._report, (what.replace("\n", " ") + "\n").encode(errors="surrogateescape"))


def _written(folder: Path) -> Iterator[str]:
    """Where a case may write: its folder, a cache that it was told of, and devices that keep nothing."""
    yield str(folder)
    yield os.path.realpath(os.environ["XDG_CACHE_HOME"])
    yield from ("/dev/null", "/dev/shm", "/proc/self", f"/proc/{os.getpid()}", "/dev/tty")


def _code_places(folder: Path) -> Iterator[str]:
    """Where libraries may come from: the system, Python, our source, and what a case compiled for itself."""
    yield from ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
    yield from map(os.path.realpath, (sys.prefix, sys.base_prefix, *filter(None, sys.path)))
    yield os.path.dirname(os.path.realpath(sys.executable))
    yield from (str(folder / _TEMPORARY), os.path.realpath(os.environ["XDG_CACHE_HOME"]))


def _programs() -> Iterator[str]:
    """Programs that may be started: this very Python, and what engines have installed beside it."""
    yield os.path.realpath(sys.executable)
    if sys.prefix != sys.base_prefix:
        yield os.path.realpath(sys.prefix)


def _lies_in(path: str, places: tuple[str, ...]) -> bool:
    return any(path == place or path.startswith(place + os.sep) for place in places)


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1])))
