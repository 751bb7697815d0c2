"""Connections: who holds many and asks nothing keeps nobody out."""

import socket
import threading
import time
from contextlib import contextmanager

import pytest
import uvicorn

from remloom.serve import connections
from remloom.serve.connections import PromptConnection

HALF = b"GET / HTTP/1.1\r\nHost: 127"
WHOLE = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


async def app(scope, receive, send):
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
    )
    await send({"type": "http.response.body", "body": b"ok"})


@contextmanager
def listening(**options):
    """A server of that application; gives what connects to it."""
    config = uvicorn.Config(
        app, port=0, http=PromptConnection, lifespan="off", log_level="critical", **options
    )
    server = uvicorn.Server(config)
    opened = []

    def connect():
        address = server.servers[0].sockets[0].getsockname()
        made = socket.create_connection(address, timeout=5)
        opened.append(made)
        return made

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.005)
        try:
            yield connect
        finally:
            for one in opened:
                one.close()
            server.should_exit = True
            thread.join()


def answer_to(connection, sent=WHOLE):
    connection.sendall(sent)
    told = b""
    while not told.endswith(b"ok") and (more := connection.recv(1000)):
        told += more
    return told


def is_closed(connection):
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("sent", [b"", HALF], ids=["nothing", "half a head"])
def test_one_whose_request_does_not_begin_in_time_is_closed(monkeypatch, sent):
    monkeypatch.setattr(connections, "HEAD_TIME", 0.05)
    with listening() as connect:
        silent = connect()
        silent.sendall(sent)
        assert is_closed(silent)


def test_the_next_request_of_a_connection_has_the_same_time(monkeypatch):
    monkeypatch.setattr(connections, "HEAD_TIME", 0.05)
    with listening() as connect:
        one = connect()
        assert answer_to(one).endswith(b"ok")
        time.sleep(0.1)
        # silent between two requests is something else
        assert answer_to(one).endswith(b"ok")
        one.sendall(HALF)
        assert is_closed(one)


def test_the_longest_silent_makes_room_for_another():
    with listening(limit_concurrency=4) as connect:
        kept = connect()
        assert answer_to(kept).endswith(b"ok")
        silent = [connect() for _ in range(6)]
        for one in silent:
            one.sendall(HALF)
        assert answer_to(connect()).startswith(b"HTTP/1.1 200")
        assert all(is_closed(one) for one in (kept, *silent[:4]))


def test_files_are_left_for_memories():
    assert 0 < connections.connections_at_once() <= connections.AT_ONCE
