"""A real server on loopback that answers every request alike, and right answers of operations."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec
from msgspec import inspect as kinds

from remloom.operations import Operation

__all__ = ["FalseServer", "Reply", "false_server", "right_json"]


class Reply(msgspec.Struct, frozen=True):
    """What is answered."""

    status: int
    content_type: str = ""
    body: bytes = b""
    location: str = ""


class FalseServer:
    """Where it is, and what it answers from now on."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.reply = Reply(200)


@contextmanager
def false_server() -> Iterator[FalseServer]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def answer(self) -> None:
            self._read_body()
            reply = served.reply
            self.send_response(reply.status)
            if reply.content_type:
                self.send_header("Content-Type", reply.content_type)
            if reply.location:
                self.send_header("Location", reply.location)
            if reply.status not in (204, 304):
                self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

        def _read_body(self) -> None:
            if self.headers.get("Transfer-Encoding") != "chunked":
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                return
            while size := int(self.rfile.readline(), 16):
                self.rfile.read(size + 2)
            self.rfile.readline()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            # a client that has seen enough of a reply hangs up
            pass

    server = Quiet(("127.0.0.1", 0), Handler)
    served = FalseServer(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def right_json(operation: Operation) -> bytes:
    """A reply of the documented shape: the smallest."""
    return msgspec.json.encode(_smallest(kinds.type_info(operation.gives)))


def _smallest(kind: kinds.Type) -> Any:
    if isinstance(kind, kinds.StructType):
        # what is always written is there; one that has none shows the first it may have
        required = [one for one in kind.fields if one.required] or kind.fields[:1]
        given = {one.encode_name: _smallest(one.type) for one in required}
        return given | ({kind.tag_field: kind.tag} if kind.tag_field else {})
    if isinstance(kind, kinds.TypedDictType):
        return {one.encode_name: _smallest(one.type) for one in kind.fields}
    if isinstance(kind, kinds.UnionType):
        return _smallest(kind.types[0])
    if isinstance(kind, kinds.LiteralType):
        return kind.values[0]
    if isinstance(kind, kinds.EnumType):
        return next(iter(kind.cls)).value
    if isinstance(kind, kinds.TupleType):
        return [_smallest(one) for one in kind.item_types]
    if isinstance(kind, kinds.Metadata):
        return _smallest(kind.type)
    return next(value for type, value in _PLAIN.items() if isinstance(kind, type))


_PLAIN: dict[type[kinds.Type], Any] = {
    kinds.StrType: "",
    kinds.BoolType: False,
    kinds.IntType: 0,
    kinds.FloatType: 0.0,
    kinds.DateTimeType: "2026-01-02T03:04:05Z",
    kinds.DateType: "2026-01-02",
    kinds.DictType: {},
    kinds.CollectionType: [],
    kinds.NoneType: None,
    kinds.AnyType: None,
}
