"""A server beside the same calls in process: python -m bench.serve --help.

The server is a process of its own, behind its guard; the client keeps its connections. Both see the
same memory, and take turns, so that they see the same machine. The CPU of a request is that of the
server's process, which a busy machine changes less than times.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any

from remloom import Memory
from remloom.memory import Home
from remloom.settings import Settings
from remloom.tenancy.api_keys import SCOPES, ApiKeys

from . import data, stores
from .measure import RESULTS, Results, Timing, timing
from .served import Connection, Server

AT_ONCE = 8  # connections that ask at the same time
LABELS = 50  # of one call
WRITES = 100  # records a second, beside those who ask
BATCH = 10  # records of a call of the writer
TENANT = "busy"

Call = Callable[[Any], Any]


class Bench:
    """A filled memory, in process and served, and what is measured of them."""

    def __init__(
        self, results: Results, home: str, memory: Memory, server: Server, size: int
    ) -> None:
        self._results = results
        self._home, self._memory, self._server = home, memory, server
        with ApiKeys(Settings.load(home=home, key=stores.KEY)) as keys:
            self._key = keys.create("one", SCOPES, tenant=TENANT).key
            self._key_of_all = keys.create("all", SCOPES).key
        self._names = data.names(size)
        texts = [chunk.content for chunk in stores.chunks(min(size, 1_000))]
        self._questions = data.questions(300, texts)
        self._vectors = list(data.vectors(300, start=50_000_000, total=size))

    def beside_process(self, share: float) -> None:
        """Measure single calls over REST, and the same in process, in turns."""
        memory, names, questions = self._memory, self._names, self._questions
        self._race(
            "lookup", round(4_000 * share),
            lambda n: ("/v1/lookup", {"labels": [names[n % len(names)]]}),
            lambda n: memory.lookup(names[n % len(names)]),
        )  # fmt: skip
        many = [names[start : start + LABELS] for start in range(0, len(names) - LABELS, LABELS)]
        self._race(
            f"lookup of {LABELS}", round(600 * share),
            lambda n: ("/v1/lookup", {"labels": many[n % len(many)]}),
            lambda n: memory.lookup(*many[n % len(many)]),
        )  # fmt: skip
        self._race(
            "search", round(1_000 * share),
            lambda n: ("/v1/search", {"vector": self._vector(n).tolist()}),
            lambda n: memory.search(vector=self._vector(n)),
        )  # fmt: skip
        self._race(
            "search of text", round(1_000 * share),
            lambda n: ("/v1/search/text", {"text": questions[n % 300], "schema": "resources"}),
            lambda n: memory.search_text(questions[n % 300], schema="resources"),
        )  # fmt: skip
        self._race(
            "recall", round(300 * share), self._recall,
            lambda n: memory.recall(questions[n % 300], vector=self._vector(n)),
        )  # fmt: skip

    def at_once(self, share: float) -> None:
        """Measure eight connections that ask, alone and beside one that writes."""
        for name, request, count in (
            (
                "lookup",
                lambda n: ("/v1/lookup", {"labels": [self._names[n % len(self._names)]]}),
                8_000,
            ),
            ("recall", self._recall, 800),
        ):
            for beside in ("", ", writer beside"):
                with self._writer() if beside else nullcontext():
                    asked = self._together(request, round(count * share / AT_ONCE))
                times = round(asked.p99 / asked.p50, 2)
                label = f"{name}, {AT_ONCE} connections{beside}"
                self._results.add(label, asked, **{"p99 by p50": times})

    def mcp(self, share: float) -> None:
        """Measure tools over MCP, in both revisions, beside the same tools over REST."""
        for tool, name, count in (("lookup", "labels", 2_000), ("recall", "question", 300)):
            values = [[label] for label in self._names] if tool == "lookup" else self._questions
            asked = [{name: values[n % len(values)]} for n in range(round(count * share))]
            doors = {
                "REST": _rest(tool),
                "MCP 2025-11-25": _mcp(tool, "2025-11-25"),
                "MCP 2026-07-28": _mcp(tool, "2026-07-28"),
            }
            spent = dict.fromkeys(doors, 0.0)
            with Connection(self._server.port, self._key) as client:
                for turn in _turns(asked):
                    for door, request in doors.items():
                        spent[door] += self._cpu(partial(_all, client, request, turn))[0]
            costs = {f"{door}, us": round(cost / len(asked) * 1e6) for door, cost in spent.items()}
            ratios = {f"{door}, times": round(spent[door] / spent["REST"], 2) for door in spent}
            del ratios["REST, times"]
            self._results.add(f"tool {tool}, CPU by door", **costs, **ratios)

    def tenants(self, count: int) -> None:
        """Open so many tenants, one after another, and see what the server holds afterwards."""
        home = Home(self._home, key=stores.KEY)
        names = [f"tenant-{number}" for number in range(count)]
        for name in names:
            home.create(name)
        marks = (count // 10, count * 3 // 10, count)
        with Connection(self._server.port, self._key_of_all) as client:
            for opened, name in enumerate(names, 1):
                person = {"schema": "entities", "type": "person", "name": f"Ann of {name}"}
                headers = {"X-Remloom-Tenant": name}
                client.ask("POST", "/v1/write", {"records": [person]}, headers)
                client.ask("POST", "/v1/lookup", {"labels": [person["name"]]}, headers)
                if opened in marks:
                    self._results.add(f"{opened} tenants, one after another", **self._held())

    def soak(self, seconds: float) -> None:
        """Ask and write for so long, and see what grows."""
        before = self._held()
        deadline = time.monotonic() + seconds
        asked = 0
        with self._writer(), Connection(self._server.port, self._key) as client:
            for number in itertools.count():
                if time.monotonic() > deadline:
                    break
                label = self._names[number % len(self._names)]
                client.ask("POST", "/v1/lookup", {"labels": [label]})
                client.ask("POST", *self._recall(number))
                asked += 2
                # what it needs once is there after a tenth of the time
                if time.monotonic() < deadline - seconds * 0.9:
                    before = self._held()
        after = self._held()
        grown = {f"{name} before": value for name, value in before.items()}
        self._results.add(f"soak of {seconds:g} s", requests=asked, **after, **grown)

    def _race(
        self, name: str, count: int, request: Callable[[int], tuple[str, Any]], inside: Call
    ) -> None:
        """Measure one call over REST and in process: times, and CPU."""
        served: list[float] = []
        direct: list[float] = []
        of_server = of_thread = 0.0
        with Connection(self._server.port, self._key) as client:

            def over(number: int) -> None:
                client.ask("POST", *request(number))

            for number in range(20):
                over(number)
                inside(number)
            for turn in _turns(range(count)):
                cpu, spent = self._cpu(partial(_each, over, turn))
                of_server += cpu
                served += spent
                began = time.thread_time()
                direct += _each(inside, turn)
                of_thread += time.thread_time() - began
        costs = {
            "cpu": round(of_server / count * 1e6),
            "cpu in process": round(of_thread / count * 1e6),
            "cpu ratio": round(of_thread / of_server, 3),
        }
        ours, reference = timing(served), timing(direct)
        more = round((ours.p50 - reference.p50) / 1000, 2)
        self._results.add(
            name, ours, reference, against="in process", **costs, **{"p50 more, ms": more}
        )

    def _cpu(self, work: Callable[[], list[float]]) -> tuple[float, list[float]]:
        before = self._server.cpu()
        spent = work()
        return self._server.cpu() - before, spent

    def _together(self, request: Callable[[int], tuple[str, Any]], count: int) -> Timing:
        spent: list[float] = []

        def ask(first: int) -> None:
            with Connection(self._server.port, self._key) as client:
                numbers = range(first * count, (first + 1) * count)
                times = _each(lambda n: client.ask("POST", *request(n)), numbers)
                # the first open what is opened once
                spent.extend(times[5:])

        threads = [Thread(target=ask, args=(first,)) for first in range(AT_ONCE)]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = timing(spent)
        rate = len(spent) / (time.perf_counter() - began)
        return replace(found, rate=round(rate, 1))

    @contextmanager
    def _writer(self) -> Iterator[None]:
        """Write a hundred records a second meanwhile: the same thousand again and again, so that
        what grows does not grow with the memory."""
        ended = Event()

        def write() -> None:
            with Connection(self._server.port, self._key) as client:
                for number in itertools.count():
                    if ended.wait(BATCH / WRITES):
                        return
                    names = [f"New {number % 100} {one}" for one in range(BATCH)]
                    people = [
                        {"schema": "entities", "type": "person", "name": name} for name in names
                    ]
                    client.ask("POST", "/v1/write", {"records": people})

        thread = Thread(target=write)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _recall(self, number: int) -> tuple[str, Any]:
        question, vector = self._questions[number % 300], self._vector(number).tolist()
        return "/v1/recall", {"question": question, "vector": vector}

    def _vector(self, number: int) -> Any:
        return self._vectors[number % 300]

    def _held(self) -> dict[str, float]:
        return {"MB": round(self._server.memory(), 1), "files": self._server.files()}


def _turns(items: Sequence[Any], turns: int = 5) -> Iterator[Sequence[Any]]:
    for start in range(turns):
        yield items[start::turns]


def _each(call: Call, items: Sequence[Any]) -> list[float]:
    """Call with each item, and give the seconds of each call."""
    spent = []
    for item in items:
        began = time.perf_counter()
        call(item)
        spent.append(time.perf_counter() - began)
    return spent


# what `Connection.ask` is given for the arguments of a tool
_Request = Callable[[Any], tuple[str, str, Any, dict[str, str]]]


def _all(client: Connection, request: _Request, items: Sequence[Any]) -> list[float]:
    return _each(lambda item: client.ask(*request(item)), items)


def _rest(tool: str) -> _Request:
    return lambda arguments: ("POST", f"/v1/tools/{tool}", arguments, {})


def _mcp(tool: str, revision: str) -> _Request:
    """Make calls of a tool, as a client of that revision makes them, without a session."""
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": revision}
    params: dict[str, Any] = {"name": tool}
    if revision >= "2026":
        headers |= {"Mcp-Method": "tools/call", "Mcp-Name": tool}
        about = "io.modelcontextprotocol"
        params["_meta"] = {
            f"{about}/protocolVersion": revision,
            f"{about}/clientInfo": {"name": "bench", "version": "1"},
            f"{about}/clientCapabilities": {},
        }
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    return lambda arguments: (
        "POST", "/mcp", {**call, "params": {**params, "arguments": arguments}}, headers,
    )  # fmt: skip


def main() -> None:
    """Measure what is asked for, and keep it in bench/results/serve.json."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--records", type=int, default=10_000, help="with a vector, and as many names"
    )
    parser.add_argument("--tenants", type=int, default=1_000, help="opened one after another")
    parser.add_argument("--soak", type=float, default=60.0, help="seconds")
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of serve.json")
    given = parser.parse_args()
    share = 0.1 if given.quick else 1.0
    measure(
        Results("serve", given.results),
        records=round(given.records * share),
        tenants=round(given.tenants * share),
        soak=given.soak * share,
        share=share,
    )


def measure(results: Results, *, records: int, tenants: int, soak: float, share: float) -> None:
    """Fill a memory, serve it, and measure.

    Args:
        share: of the calls that a whole run makes.
    """
    with (
        tempfile.TemporaryDirectory() as home,
        stores.open_memory(Path(home), TENANT, encrypted=True) as memory,
    ):
        stores.write_all(memory, stores.chunks(records))
        stores.write_all(memory, stores.named(records))
        memory.admin.optimize()
        with Server(home, stores.KEY) as server:
            bench = Bench(results, home, memory, server, records)
            bench.beside_process(share)
            bench.mcp(share)
            bench.at_once(share)
            bench.soak(soak)
            bench.tenants(tenants)


if __name__ == "__main__":
    main()
