"""Numpy arrays of the derived indexes: growing in memory, packed into one checked blob on disk."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Ids = NDArray[np.int64]

# A blob is this mark, a checksum of all that follows, the length of the header (both 32 bits), the
# header as JSON, and the arrays.
_MAGIC = b"RLMX"
_HEADER_AT = 12
_ALIGN = 64  # bytes, so that an array read from a blob starts at a cache line
_FIRST_ROWS = 64  # for which a growing array makes room at once


class GrowingArray:
    """An append-only array of rows. A view never changes: rows are written once, behind every
    earlier view, and growth moves to a new buffer. So readers need no lock; appenders do."""

    def __init__(self, dtype: str, width: int | None = None) -> None:
        self._buffer: Array = np.empty(0 if width is None else (0, width), dtype)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, rows: Array) -> None:
        """Add rows at the end; amortised O(rows)."""
        end = self._count + len(rows)
        if end > len(self._buffer):
            # An eighth more, not twice as much: the vectors of a store are most of its memory.
            capacity = max(end, _FIRST_ROWS, len(self._buffer) * 9 // 8)
            bigger = np.empty((capacity, *self._buffer.shape[1:]), self._buffer.dtype)
            bigger[: self._count] = self._buffer[: self._count]
            self._buffer = bigger
        self._buffer[self._count : end] = rows
        self._count = end

    def view(self) -> Array:
        """Return every row so far, without a copy."""
        return self._buffer[: self._count]


def contains(ordered: Array, values: Array) -> NDArray[np.bool_]:
    """Tell of each value whether a sorted array has it."""
    if not len(ordered):
        return np.zeros(len(values), bool)
    at = np.searchsorted(ordered, values)
    at[at == len(ordered)] = 0  # what is above all of them differs from the first as well
    present: NDArray[np.bool_] = ordered[at] == values
    return present


def positions(ordered: Ids, ids: Ids) -> NDArray[np.intp]:
    """Find ids in a sorted array of ids: their positions, sorted, without those it does not
    have."""
    if not len(ordered) or not len(ids):
        return np.empty(0, np.intp)
    at = np.searchsorted(ordered, ids)
    at[at == len(ordered)] = 0  # what is above all of them differs from the first as well
    return np.sort(at[ordered[at] == ids])


def run_starts(ordered: Array) -> Ids:
    """Find where each run of equal values of a sorted array starts."""
    if not len(ordered):
        return np.empty(0, np.int64)
    changes = np.flatnonzero(ordered[1:] != ordered[:-1])
    starts = np.zeros(len(changes) + 1, np.int64)
    np.add(changes, 1, out=starts[1:])
    return starts


def floor_of_best(scores: Array, k: int) -> float:
    """Find a score that at least k of these reach and few more do; minus infinity when there are
    fewer than k. It is the k-th highest of the maxima of many disjoint parts: a tenth of the time
    of `np.partition`."""
    if len(scores) < k:
        return float("-inf")
    parts = max(k, min(len(scores), 8 * k))
    size = len(scores) // parts
    maxima = scores[: size * parts].reshape(size, parts).max(axis=0)
    maxima.sort()
    return float(maxima[-k])


def pack(kind: str, fields: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """Make one blob of JSON-ready fields and arrays, with a checksum over all of it."""
    layout = []
    chunks = []
    offset = 0  # behind the header
    for name, array in arrays.items():
        data = np.ascontiguousarray(array)
        layout.append([name, data.dtype.str, list(data.shape), offset])
        padding = -data.nbytes % _ALIGN
        # Not copied until everything is joined; an empty array cannot be cast to bytes.
        chunks.append(data.data.cast("B") if data.size else b"")
        chunks.append(b"\0" * padding)
        offset += data.nbytes + padding
    description = {"kind": kind, "fields": dict(fields), "arrays": layout, "size": offset}
    header = json.dumps(description).encode()
    header += b" " * (-(len(header) + _HEADER_AT) % _ALIGN)
    checksum = zlib.crc32(header)
    for chunk in chunks:
        checksum = zlib.crc32(chunk, checksum)
    head = [_MAGIC, checksum.to_bytes(4, "little"), len(header).to_bytes(4, "little"), header]
    return b"".join([*head, *chunks])


def unpack(kind: str, data: bytes) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read the fields of a blob, and its arrays as read-only views. Raises ValueError: it is not a
    blob of this kind, or its bytes have changed."""
    view = memoryview(data)
    start = _HEADER_AT + int.from_bytes(view[8:12], "little")
    if bytes(view[:4]) != _MAGIC or start > len(view):
        raise ValueError(f"not a snapshot of {kind}")
    if zlib.crc32(view[_HEADER_AT:]) != int.from_bytes(view[4:8], "little"):
        raise ValueError(f"the snapshot of {kind} is damaged: its checksum does not match")
    header = json.loads(bytes(view[_HEADER_AT:start]))
    if header["kind"] != kind:
        raise ValueError(f"a snapshot of {header['kind']}, not of {kind}")
    arrays = {}
    for name, dtype, shape, offset in header["arrays"]:
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(view, dtype, count, start + offset).reshape(shape)
    return header["fields"], arrays
