"""JSON lines of any size, one after another."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from ...errors import SourceError
from ..decode import open_regular
from ..entries import decode

_LONGEST = 32 * 1024 * 1024  # bytes of a line; tools may return much


def read_lines(path: Path, uri: str = "") -> Iterator[tuple[int, Any]]:
    """Yield the lines, from 1, decoded; None for one that is not JSON or far too long."""
    number = 0
    with open_regular(path, uri or str(path)) as stream:
        while line := stream.readline(_LONGEST):
            number += 1
            if len(line) == _LONGEST and not line.endswith(b"\n"):
                while line and not line.endswith(b"\n"):
                    line = stream.readline(_LONGEST)
                yield number, None
            elif line.strip():
                yield number, _decoded(line)


def first_lines(path: Path, most: int) -> list[Any]:
    """The first lines of a file, decoded; none if it cannot be read."""
    try:
        return [value for _, value in islice(read_lines(path), most)]
    except (OSError, SourceError):
        return []


def _decoded(line: bytes) -> Any:
    try:
        return decode(line)
    except (ValueError, RecursionError):
        return None
