"""One tenant's calls beside sixteen clients of another: python -m bench.neighbours --help.

A client asks to recall now and then, while sixteen connections of another tenant do so as fast as
they are answered, or two export. It is measured alone, beside them, and as a control while they ask
another server on the same machine: the control has what the machine contributes.

The clients of the busy tenant are one process and one thread that sends bytes made beforehand, so
that the machine is the server's.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import selectors
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np

from remloom.settings import Settings
from remloom.tenancy.api_keys import SCOPES, ApiKeys

from . import data, stores
from .measure import RESULTS, Results, timing
from .served import Connection, Server

CLIENTS = {"recall": 16, "export": 2}  # of the busy tenant
RECORDS = 1_000  # of each tenant, with a vector
QUESTIONS = 300
PAUSE = 0.005  # seconds between two calls of the quiet tenant
ROUNDS = 3
QUIET, BUSY = "quiet", "busy"


class Neighbours:
    """Two servers of one home, and what one tenant's calls take there."""

    def __init__(self, home: str, results: Results, calls: int) -> None:
        self._home, self._results, self._calls = home, results, calls
        with ApiKeys(Settings.load(home=home, key=stores.KEY)) as keys:
            self._keys = {
                tenant: keys.create(tenant, SCOPES, tenant=tenant).key for tenant in (QUIET, BUSY)
            }
        texts = [chunk.content for chunk in stores.chunks(RECORDS)]
        vectors = data.vectors(QUESTIONS, start=50_000_000, total=RECORDS)
        self._asked = [
            {"question": question, "vector": vector.tolist()}
            for question, vector in zip(data.questions(QUESTIONS, texts), vectors, strict=True)
        ]

    def measure(self, server: Server, other: Server, kind: str) -> None:
        """Measure the quiet tenant alone, beside the busy one, and beside the other server, in
        turns.

        Args:
            kind: what the busy tenant does, one of `CLIENTS`.
        """
        spent: dict[str, list[float]] = {"alone": [], "control": [], "beside": []}
        rates: dict[str, list[float]] = {name: [] for name in spent}
        for _ in range(ROUNDS):
            for name, target in (("alone", None), ("control", other), ("beside", server)):
                with self._busy(target, kind) as answered:
                    before, began = answered(), time.perf_counter()
                    spent[name] += self._ask(server, self._calls // ROUNDS)
                    took = time.perf_counter() - began
                    rates[name].append((answered() - before) / took)
        timings = {name: timing(seconds) for name, seconds in spent.items()}
        facts = {f"{name}, ms": round(found.p50 / 1000, 1) for name, found in timings.items()}
        last = {f"{name}, p95 ms": _p95(seconds) for name, seconds in spent.items()}
        answers = {f"{name}, busy/s": round(float(np.mean(rates[name]))) for name in rates}
        times = round(timings["beside"].p50 / timings["alone"].p50, 2)
        self._results.add(
            f"recall beside {CLIENTS[kind]} clients that {kind}", None, None,
            **facts, **last, **answers, times=times,
        )  # fmt: skip

    def _ask(self, server: Server, calls: int) -> list[float]:
        spent = []
        with Connection(server.port, self._keys[QUIET]) as client:
            for number in range(calls + 5):
                time.sleep(PAUSE)
                began = time.perf_counter()
                client.ask("POST", "/v1/recall", self._asked[number % QUESTIONS])
                spent.append(time.perf_counter() - began)
        # the first open what is opened once
        return spent[5:]

    @contextmanager
    def _busy(self, server: Server | None, kind: str) -> Iterator[Callable[[], int]]:
        """Have the busy tenant's clients ask a server; gives how often they were answered."""
        if server is None:
            yield lambda: 0
            return
        port, key = server.port, self._keys[BUSY]
        requests = [_request(port, key, "GET", "/v1/export")]
        if kind == "recall":
            requests = [_request(port, key, "POST", "/v1/recall", one) for one in self._asked]
        context = multiprocessing.get_context("spawn")
        count, ended = context.Value("L", 0), context.Event()
        clients = context.Process(
            target=_keep_asking, args=(port, CLIENTS[kind], requests, count, ended), daemon=True
        )
        clients.start()
        try:
            while count.value < 2 * CLIENTS[kind]:
                if not clients.is_alive():
                    raise RuntimeError("the clients of the busy tenant have ended: see above")
                time.sleep(0.05)
            yield lambda: count.value
        finally:
            ended.set()
            clients.join()


def _p95(seconds: Sequence[float]) -> float:
    return round(float(np.percentile(seconds, 95)) * 1000, 1)


def _request(port: int, key: str, method: str, path: str, body: object = None) -> bytes:
    content = b"" if body is None else msgspec.json.encode(body)
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def _keep_asking(
    port: int, clients: int, requests: Sequence[bytes], count: Any, ended: Any
) -> None:
    """Send on each connection the next request as soon as the one before is answered."""
    waiting = itertools.cycle(requests)
    got: dict[socket.socket, bytearray] = {}
    with selectors.DefaultSelector() as ready:
        for _ in range(clients):
            one = socket.create_connection(("127.0.0.1", port))
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            ready.register(one, selectors.EVENT_READ)
            one.sendall(next(waiting))
            got[one] = bytearray()
        while not ended.is_set():
            for key, _ in ready.select(1.0):
                one = cast(socket.socket, key.fileobj)
                part = one.recv(1 << 18)
                if not part:
                    raise ConnectionError("the server closed the connection")
                got[one] += part
                if _is_whole(got[one]):
                    got[one].clear()
                    count.value += 1
                    one.sendall(next(waiting))
    for one in got:
        one.close()


def _is_whole(answer: bytearray) -> bool:
    """Whether an answer has come to its end.

    Raises:
        ValueError: the server did not do it; has its answer.
    """
    end = answer.find(b"\r\n\r\n")
    if end < 0:
        return False
    head = bytes(answer[:end]).lower()
    if not head.startswith(b"http/1.1 2"):
        raise ValueError(answer[:500].decode())
    _, is_sized, after = head.partition(b"content-length:")
    if not is_sized:
        return answer.endswith(b"\r\n0\r\n\r\n")
    return len(answer) - end - 4 >= int(after.split(b"\r\n")[0])


def main() -> None:
    """Measure, and keep it in bench/results/neighbours.json."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--calls", type=int, default=900, help="of the quiet tenant, each way")
    parser.add_argument("--nice", type=int, default=0, help="of all processes; below 0 needs root")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the results")
    given = parser.parse_args()
    with suppress(PermissionError):
        os.nice(given.nice)
    with tempfile.TemporaryDirectory() as home:
        for tenant in (QUIET, BUSY):
            with stores.open_memory(Path(home), tenant, encrypted=True) as memory:
                stores.write_all(memory, stores.chunks(RECORDS))
                stores.write_all(memory, stores.named(RECORDS))
                memory.admin.optimize()
        with Server(home, stores.KEY) as server, Server(home, stores.KEY) as other:
            results = Results("neighbours", given.results)
            neighbours = Neighbours(home, results, given.calls)
            for kind in CLIENTS:
                neighbours.measure(server, other, kind)


if __name__ == "__main__":
    main()
