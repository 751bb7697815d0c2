"""Kills processes in the middle of every kind of work, and looks at what they leave.

`Ground` is a process that imported everything once. For each trial it forks a child that works and
says aloud what was acknowledged; the child is killed (SIGKILL) at a random moment, or kills itself
right before or after a call of its store, or loses its connections to PostgreSQL, or has no room
left on its disk. Another child then looks: nothing acknowledged may be lost, nothing forgotten be
found, `check()` has nothing to say, and what was begun can be finished.
"""

from __future__ import annotations

import importlib
import inspect
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from asking import _receive, _send
from msgspec import Struct

_PATIENCE = 300.0  # seconds for a piece of work that nobody kills: it is broken if it takes as long
_LIVES = 12  # trials in one tenant, before the next has a new one


class Trial(Struct, frozen=True):
    """What is to be tried: `kills` kills in this kind of work."""

    kind: str
    home: str
    scratch: str
    kills: int
    seed: int
    # or "connection", on PostgreSQL; "disk", "size", in a folder
    ways: tuple[str, ...] = ("moment", "before", "after")
    disk: str = ""  # the small disk that the home is on, for "disk"


class Found(Struct):
    """What came of it."""

    kills: int = 0  # times that it was killed, cut off, or refused for want of room
    acknowledged: int = 0
    wrong: list[str] = []


class Ground:
    """The process that forks. One for all trials of a test process."""

    def __init__(self) -> None:
        here = Path(__file__).parent
        path = [str(here), str(here.parent / "dream"), str(here.parent), *sys.path]
        self._process = subprocess.Popen(
            [sys.executable, "-c", "import mortal; mortal.main()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        )  # fmt: skip

    def try_(self, trial: Trial) -> Found:
        assert self._process.stdin
        assert self._process.stdout
        _send(self._process.stdin, trial)
        found = _receive(self._process.stdout)
        if found is None:
            raise RuntimeError("the process that kills has ended; see its traceback")
        if isinstance(found, str):
            raise RuntimeError(found)
        return found  # type: ignore[no-any-return]

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(_PATIENCE)
        self._process.stdout.close()


class Life:
    """What a child that works knows: where, whose, the number of this trial, and how to say what is
    done."""

    def __init__(self, trial: Trial, tenant: str, number: int, say: Callable[..., None]) -> None:
        self.home, self.tenant, self.number, self.say = trial.home, tenant, number, say
        self.kind = trial.kind
        self.scratch = Path(trial.scratch) / tenant
        self.scratch.mkdir(parents=True, exist_ok=True)
        self.watch: Callable[[Any], None] = lambda store: None

    def open(self, tenant: str = "", **given: Any) -> Any:
        from remloom import Memory
        from remloom.testing.embedder import WordEmbedder

        memory = Memory.open(
            self.home, tenant=tenant or self.tenant, **{"embedder": WordEmbedder(), **given}
        )
        self.watch(memory.admin.store)
        return memory


def main() -> None:
    """The process that forks: it opens nothing itself, so that it has no threads and no
    connections."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    import langgraph.graph  # noqa: F401 - so that all of it is there before the forks
    import psycopg  # noqa: F401
    import psycopg_pool  # noqa: F401

    import remloom.dream.learn.run
    import remloom.runs.rollback
    import remloom.store.postgres
    import remloom.store.sqlite
    import remloom.testing.models  # noqa: F401

    while (trial := _receive(sys.stdin.buffer)) is not None:
        try:
            _send(out, run(trial))
        except BaseException:
            _send(out, traceback.format_exc())


def run(trial: Trial) -> Found:
    """All kills of a trial."""
    from labours import KINDS

    kind = KINDS[trial.kind]
    chosen = random.Random(trial.seed)
    found = Found()
    number = 0
    acknowledged: list[Any] = []
    usual: tuple[float, int] = (0.0, 0)
    while found.kills < trial.kills and number < 8 * trial.kills + 8 and len(found.wrong) < 5:
        tenant = f"{trial.kind}-{trial.seed}-{number // _LIVES}"
        if number % _LIVES == 0:
            acknowledged = []
            _well(kind.base, trial, tenant, number, _PATIENCE)
        # nobody is killed in the first: it tells how long the work takes, and how many calls
        if number == 0:
            _well(kind.before, trial, tenant, number, _PATIENCE)
            usual, said = _measured(kind, trial, tenant, number)
            acknowledged += said
        else:
            _well(kind.before, trial, tenant, number, _PATIENCE)
            killed, said, way, trouble = _killed(kind, trial, tenant, number, usual, chosen)
            found.kills += killed
            acknowledged += said
            found.wrong += [f"{trial.kind} {number} ({way}): {line}" for line in trouble]
        found.acknowledged += len(said)
        wrong = _well(partial(_look, kind, acknowledged), trial, tenant, number, _PATIENCE)
        found.wrong += [
            f"{trial.kind} {number} ({'whole' if number == 0 else way}): {line}"
            for line in wrong or ()
        ]
        number += 1
    if found.kills < trial.kills and not found.wrong:
        found.wrong.append(
            f"{trial.kind}: only {found.kills} of {trial.kills} were killed before they were done"
        )
    return found


def _look(kind: Any, acknowledged: list[Any], life: Life) -> list[str]:
    looked: list[str] = kind.look(life, acknowledged)
    return looked


def _measured(
    kind: Any, trial: Trial, tenant: str, number: int
) -> tuple[tuple[float, int], list[Any]]:
    """How long the work takes, and how many calls of the store it makes."""
    counted = [0]
    said, trouble, _ = _child(kind, trial, tenant, number, _watching(counted, 0, after=False), None)
    calls = [told[1:] for told in said if told[0] == "calls"]
    if trouble or not calls:
        raise RuntimeError(
            f"{trial.kind} does not even work when nobody is killed: {trouble or said}"
        )
    seconds, number_of_calls = calls[0][1], calls[0][0]
    return (seconds, number_of_calls), [told for told in said if told[0] not in ("began", "calls")]


def _killed(
    kind: Any,
    trial: Trial,
    tenant: str,
    number: int,
    usual: tuple[float, int],
    chosen: random.Random,
) -> tuple[bool, list[Any], str, list[str]]:
    """Was it killed, what had it said, how, and what was wrong already."""
    way = trial.ways[number % len(trial.ways)]
    seconds, calls = usual
    # it opens stores of its own, whose calls nobody sees
    if not calls and way in ("before", "after"):
        way = "moment"
    at = chosen.randint(1, max(calls, 1))
    if way in ("disk", "size"):
        room = chosen.choice((0, 4, 16, 40, 90, 200, 400)) * 1024 + chosen.randrange(4096)
        ballast = _fill(Path(trial.disk), room) if way == "disk" else None
        begin = partial(_limit, trial.home, room) if way == "size" else None
        said, trouble, killed = _child(
            kind, trial, tenant, number, lambda store: None, None, begin=begin, full=True
        )
        if ballast:
            ballast.unlink()
        shown = f"{way} with room for {room} bytes"
    elif way in ("before", "after"):
        said, trouble, killed = _child(
            kind, trial, tenant, number, _watching([0], at, after=way == "after"), None
        )
        shown = f"{way} call {at}"
    else:
        delay = chosen.uniform(0.0, seconds)
        cut = (lambda: _cut(trial.home)) if way == "connection" else None
        said, trouble, killed = _child(
            kind, trial, tenant, number, lambda store: None, delay, cut=cut
        )
        shown = f"{way} after {delay * 1000:.0f} ms"
    return killed, [told for told in said if told[0] not in ("began", "calls")], shown, trouble


# They are not calls of the contract, or give a context.
_NOT_COUNTED = ("snapshot", "reading", "outgoing")


# They are not calls of the contract, or give a context.
_NOT_COUNTED = ("snapshot", "reading", "outgoing")


# They are not calls of the contract, or give a context.
_NOT_COUNTED = ("snapshot", "reading", "outgoing")


def _watching(counted: list[int], at: int, *, after: bool) -> Callable[[Any], None]:
    """Counts the calls of a store, and kills the process right before or after that of this number."""

    def watch(store: Any) -> None:
        parts = (store.records, store.graph, store.search, store.sql, store.vectors)
        for holder in (store, store.kv, store.admin, *parts):
            for name, _ in inspect.getmembers(type(holder), inspect.isfunction):
                if not name.startswith("_") and name not in _NOT_COUNTED:
                    setattr(holder, name, _deadly(getattr(holder, name)))

    def _deadly(call: Callable[..., Any]) -> Callable[..., Any]:
        def deadly(*args: Any, **given: Any) -> Any:
            counted[0] += 1
            mine = counted[0] == at
            if mine and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            done = call(*args, **given)
            if mine:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return deadly

    watch.counted = counted  # type: ignore[attr-defined]
    return watch


def _child(
    kind: Any,
    trial: Trial,
    tenant: str,
    number: int,
    watch: Any,
    delay: float | None,
    cut: Callable[[], int] | None = None,
    begin: Callable[[], None] | None = None,
    full: bool = False,
) -> tuple[list[Any], list[str], bool]:
    """What a child said, what went wrong in it, and whether it was killed (or cut off, or refused
    for want of room)."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        if begin is not None:
            begin()
        _work(kind, trial, tenant, number, watch, os.fdopen(writing, "wb"))
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        said: list[Any] = []
        end = time.monotonic() + _PATIENCE
        deadline: float | None = None
        cuts = 0
        while True:
            limit = deadline if deadline is not None else end
            if not select.select([stream], [], [], max(0.0, limit - time.monotonic()))[0]:
                if deadline is None:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                    return said, [f"it hung for {_PATIENCE:.0f} s"], False
                if cut is None:
                    os.kill(child, signal.SIGKILL)
                else:
                    cuts = cut()
                deadline = None
                continue
            told = _receive(stream)
            if told is None:
                break
            said.append(told)
            if told[0] == "began" and delay is not None:
                deadline = time.monotonic() + delay
    _, status = os.waitpid(child, 0)
    trouble = [str(told[1]) for told in said if told[0] == "trouble"]
    refused = [told for told in said if told[0] == "refused"]
    if refused and cut is None and not full:
        trouble += [f"refused: {told[1]}" for told in refused]
    kept = [told for told in said if told[0] not in ("trouble", "refused")]
    return kept, trouble, os.WIFSIGNALED(status) or cuts > 0 or (full and bool(refused))


def _work(kind: Any, trial: Trial, tenant: str, number: int, watch: Any, pipe: Any) -> None:
    """The child: it works until it is done or killed."""
    from remloom import RemloomError

    began = time.monotonic()

    def say(*told: Any) -> None:
        nonlocal began
        if told[0] == "began":
            began = time.monotonic()
        _send(pipe, told)

    try:
        life = Life(trial, tenant, number, say)
        life.watch = watch
        kind.work(life)
        say("calls", watch.counted[0] if hasattr(watch, "counted") else 0, time.monotonic() - began)
    except RemloomError as error:
        say("refused", f"{type(error).__name__}: {error}")
    except BaseException:
        say("trouble", traceback.format_exc())
    finally:
        os._exit(0)


def _well(
    work: Callable[[Life], Any], trial: Trial, tenant: str, number: int, patience: float
) -> Any:
    """What work returns in a process of its own that nobody kills."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        with os.fdopen(writing, "wb") as pipe:
            try:
                done = work(Life(trial, tenant, number, lambda *told: None))
                _send(pipe, ("done", done, list(sys.modules)))
            except BaseException:
                _send(pipe, ("trouble", traceback.format_exc()))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        if not select.select([stream], [], [], patience)[0]:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return [f"looking took more than {patience:.0f} s"]
        told = _receive(stream)
    os.waitpid(child, 0)
    if told is None:
        return ["the process that looked has died"]
    if told[0] != "done":
        return [told[1]]
    # what a child had to import, the next one finds
    for name in told[2]:
        if name not in sys.modules:
            with suppress(ImportError):
                importlib.import_module(name)
    return told[1]


def _cut(url: str) -> int:
    """End every connection to this database; how many there were."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        import psycopg

        ended = 0
        try:
            with psycopg.connect(
                url, autocommit=True, application_name="executioner"
            ) as connection:
                rows = connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                ).fetchall()
                ended = len(rows)
        finally:
            os.write(writing, ended.to_bytes(4))
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        ended = int.from_bytes(stream.read(4))
    os.waitpid(child, 0)
    return ended


def _fill(disk: Path, room: int) -> Path:
    """A file that leaves this much room on its disk."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as stream, suppress(OSError):
        while stream.write(bytes(65536)):
            pass
    os.truncate(ballast, max(0, ballast.stat().st_size - room))
    return ballast


def _limit(home: str, room: int) -> None:
    """From now on this process writes no byte of a file beyond this one: of every second trial
    beyond the end of the largest of the home, and this."""
    import resource

    if room % 2:
        room += max(
            (path.stat().st_size for path in Path(home).rglob("*") if path.is_file()), default=0
        )
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))


def files(home: str, tenant: str) -> Iterator[Path]:
    """The files of a tenant in a folder."""
    folder = Path(home) / "tenants" / tenant
    return (path for path in folder.rglob("*") if path.is_file())


def emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
