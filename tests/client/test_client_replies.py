"""No client takes silence for success: each reply but the documented one is an error."""

from __future__ import annotations

import asyncio
import io
import re
import tarfile
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from false_server import FalseServer, Reply, false_server, right_json

from remloom import AsyncClient, Client
from remloom.client.request import request_of
from remloom.errors import RemloomError, ServerError
from remloom.operations import OPERATIONS, Operation

JSON = "application/json"
HTML = "text/html; charset=utf-8"
PAGE = b"<!doctype html><title>Sign in</title>"
EVENTS = "text/event-stream"


@pytest.fixture(scope="module")
def server() -> Iterator[FalseServer]:
    with false_server() as serving:
        yield serving


def _false_replies(operation: Operation) -> Iterator[Reply]:
    """What proxies, other services and broken ones answer where a value or 204 is due."""
    for status in (300, 301, 302, 303, 304, 307, 308):
        yield Reply(status)
        yield Reply(status, location="https://login.example/?next=secret")
        if status != 304:
            yield Reply(status, HTML, PAGE, "/elsewhere")
    for status in (200, 202, 206):
        yield Reply(status)
        yield Reply(status, JSON)
        yield Reply(status, HTML, PAGE)
        yield Reply(status, JSON, PAGE)
        yield Reply(status, "text/plain", b"OK")
    for shape in (b'{"status": "ok"}', b'{"error": "no", "data": []}', b"1.5", b"nul", b'"\xff"'):
        yield Reply(200, JSON, shape)
    for status in (400, 404, 500):
        yield Reply(status)
        yield Reply(status, HTML, PAGE)
        yield Reply(status, JSON, b'{"title": 1, "error": [], "fields": 3}')
        yield Reply(
            status, JSON, b'{"error": "NotFoundError", "fields": {"message": 1, "self": 2}}'
        )
    if not operation.may_give_nothing or operation.carries == "out":
        yield Reply(204)
    if operation.gives is None and operation.carries != "out":
        yield Reply(200, JSON, b"null")
    elif operation.carries != "out":
        right = right_json(operation)
        yield Reply(201, JSON, right)
        yield Reply(200, HTML, right)
        yield Reply(200, "", right)
        yield Reply(200, "application/problem+json", right)
        yield Reply(200, JSON, right + b",")
        if len(right) > 1:
            yield Reply(200, JSON, right[:-1])


def _false_streams(operation: Operation) -> Iterator[Reply]:
    """What comes in the place of events, and events that end before their result."""
    yield from _false_replies(operation)
    yield Reply(200, EVENTS)
    yield Reply(200, EVENTS, b"id: 1\nevent: progress\ndata: [1, 2]\n\n")
    yield Reply(200, EVENTS, b": still working\n\n")
    yield Reply(200, EVENTS, b"event: result\ndata:\n\n")
    yield Reply(200, EVENTS, b"event: progress\ndata: {\n\nevent: result\ndata: null\n\n")
    yield Reply(200, EVENTS, b"event: progress\ndata: 1\n\nevent: result\ndata: null\n\n")
    yield Reply(200, EVENTS, b'event: result\ndata: {"status": "ok"}\n\n')
    yield Reply(200, EVENTS, b"event: result\ndata: " + right_json(operation)[:-1])
    yield Reply(200, EVENTS, b"event: error\ndata: <html>\n\n")
    yield Reply(200, JSON, right_json(operation))


def _fields(operation: Operation) -> dict[str, Any]:
    assert operation.route is not None
    return dict.fromkeys(re.findall(r"\{(\w+)\}", operation.route.path), "some")


def _calls(client: Any, operation: Operation) -> dict[str, Callable[[], Any]]:
    """The ways in which a client calls an operation, each by its name."""
    connection, fields = client._connection, _fields(operation)
    if operation.carries == "in":
        sent = partial(request_of, operation, fields)
        return {"sent": lambda: connection.ask(sent(stream=iter([b"{}"])))}
    if operation.carries == "out":
        taken = request_of(operation, fields, stream=lambda piece: None)
        return {"taken": lambda: connection.ask(taken)}
    called = {"asked": lambda: connection.ask(request_of(operation, fields))}
    if operation.is_long:
        followed = request_of(operation, fields, callback=lambda *_: None)
        called["followed"] = lambda: connection.ask(followed)
    return called


def _ended(call: Callable[[], Any]) -> Any:
    """What a call gave, or the error of ours that it raised."""
    try:
        return call()
    except RemloomError as error:
        return error


def _expect_errors(
    server: FalseServer,
    operation: Operation,
    calls: dict[str, Callable[[], Any]],
    only: Callable[[Reply], bool] = lambda reply: True,
) -> None:
    for way, ended in calls.items():
        replies = _false_streams if way == "followed" else _false_replies
        for reply in filter(only, replies(operation)):
            server.reply = reply
            error = ended()
            assert isinstance(error, RemloomError), (operation.name, way, reply, error)
            assert "secret" not in str(error)
            if reply.status < 400 and not reply.body:
                assert isinstance(error, ServerError)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_each_reply_but_the_documented_one_is_an_error(
    server: FalseServer, operation: Operation
) -> None:
    with Client(server.url, key="rlm_x") as client:
        calls = _calls(client, operation)
        ended = {way: partial(_ended, call) for way, call in calls.items()}
        _expect_errors(server, operation, ended)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_each_reply_but_the_documented_one_is_an_error_for_asyncio(
    server: FalseServer, operation: Operation
) -> None:
    with asyncio.Runner() as runner:
        client = AsyncClient(server.url, key="rlm_x")
        calls = _calls(client, operation)
        ended = {way: partial(_ended, partial(_run, runner, call)) for way, call in calls.items()}
        # how a reply is read is the same code: these are those that have nothing to read
        _expect_errors(server, operation, ended, lambda reply: reply.body in (b"", PAGE))
        runner.run(client.close())


def _run(runner: asyncio.Runner, call: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return runner.run(call())


@pytest.mark.parametrize(
    "operation", [one for one in OPERATIONS if one.carries != "out"], ids=lambda one: one.name
)
def test_the_documented_reply_is_the_value(server: FalseServer, operation: Operation) -> None:
    with Client(server.url, key="rlm_x") as client:
        for way, call in _calls(client, operation).items():
            for reply, value in _right_replies(operation, way):
                server.reply = reply
                assert call() == value


def _right_replies(operation: Operation, way: str) -> Iterator[tuple[Reply, Any]]:
    if way == "followed" and operation.gives is None:
        yield Reply(200, EVENTS, b"event: result\ndata: null\n\n"), None
    elif operation.may_give_nothing:
        yield Reply(204), None
    if operation.gives is not None:
        right = right_json(operation)
        value = msgspec.json.decode(right, type=operation.gives)
        if way == "followed":
            yield Reply(200, EVENTS, b"event: result\ndata: " + right + b"\n\n"), value
        else:
            yield Reply(200, "Application/JSON; charset=utf-8", right), value


def test_a_redirect_is_named_and_not_followed(server: FalseServer) -> None:
    server.reply = Reply(307, location="http://ann:hidden@127.0.0.1:1/v1/forget?token=hidden")
    with (
        Client(server.url, key="rlm_x", http=httpx.Client(follow_redirects=True)) as client,
        pytest.raises(ServerError, match=r"redirect to http://127.0.0.1:1/v1/forget") as told,
    ):
        client.forget("Sarah Chen")
    assert told.value.fields["status"] == 307
    assert "hidden" not in repr(told.value) + str(told.value)


def test_no_message_shows_the_password_of_an_address() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("connection refused", request=request)

    http = httpx.Client(transport=httpx.MockTransport(refuse))
    with Client("http://ann:hidden@127.0.0.1:1", key="rlm_x", http=http) as client:
        assert "hidden" not in repr(client)
        with pytest.raises(ServerError) as told:
            client.admin.backup("nowhere")
    assert "hidden" not in f"{told.value} {told.value.fields}"
    for address in ("ann:hidden@127.0.0.1", "http://ann:hidden@[::1", "http://ann:hidden@h/v1"):
        with pytest.raises(RemloomError) as refused:
            Client(address, key="rlm_x")
        assert "hidden" not in f"{refused.value} {refused.value.fields}"


def test_a_backup_or_export_that_was_cut_off_is_none(server: FalseServer, tmp_path: Path) -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as writing:
        for name in ("acme/memory.db", "acme/key"):
            member = tarfile.TarInfo(name)
            member.size = 700
            writing.addfile(member, io.BytesIO(b"x" * 700))
    backup = archive.getvalue().rstrip(b"\0")
    export = b'{"format": "remloom"}\n{"schema": "entities"}\n'
    with Client(server.url, key="rlm_x") as client:
        for body in {backup[:size] for size in (0, 1, 512, 1536, 2048, len(backup))}:
            server.reply = Reply(200, "application/x-tar", body)
            with pytest.raises(ServerError, match="cut off"):
                client.admin.backup(tmp_path / "backup")
        for body in (b"", bytes(1024), PAGE + bytes(1024)):
            server.reply = Reply(200, "application/x-tar", body)
            with pytest.raises(ServerError):
                client.admin.backup(tmp_path / "backup")
        for size in range(len(export)):
            server.reply = Reply(200, "application/x-ndjson", export[:size])
            with pytest.raises(ServerError, match="cut off"):
                client.admin.export(tmp_path / "export")
    assert not list(tmp_path.iterdir())
