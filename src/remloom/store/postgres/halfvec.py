"""Vectors on their way to PostgreSQL and back: float16 in its binary form, which is neither printed
nor parsed."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np
from psycopg.adapt import Dumper
from psycopg.pq import Format

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.types import TypeInfo


class Half:
    """A vector of float32 bytes that is to be stored as a `halfvec`."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data

    def binary(self) -> bytes:
        """As PostgreSQL receives it."""
        values = np.frombuffer(self.data, np.float32).astype(">f2")
        return struct.pack(">HH", len(values), 0) + values.tobytes()


def floats(data: bytes) -> bytes:
    """The float32 bytes of what `halfvec_send` gives."""
    return np.frombuffer(data, ">f2", offset=4).astype(np.float32).tobytes()


def register_half(connection: Connection[Any], info: TypeInfo | None) -> None:
    """Teach a connection the type; does nothing where the extension is missing."""
    if info is None:
        return
    info.register(connection)
    dumper = type("HalfDumper", (_HalfDumper,), {"oid": info.oid})
    connection.adapters.register_dumper(Half, dumper)


class _HalfDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Half) -> bytes:
        return obj.binary()
