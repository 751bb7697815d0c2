"""Texts, counts and sources as they are shown: on one line, and safe for a terminal."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime

from ....text.quoting import visible

SHORTEST_ID = 4  # characters


def plural(count: int, one: str, many: str = "") -> str:
    """Format a count with its noun: `1 entity`, `1,204 entities`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def one_line(text: str) -> str:
    """Put a text on one line, safe to show."""
    return " ".join(visible(text).split())


def format_time(at: datetime) -> str:
    """Format a time in UTC, to the second."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def byte_size(count: int) -> str:
    """Format a number of bytes: `512 B`, `1.4 MB`."""
    amount = float(count)
    unit = "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if amount < 1000 or unit == "TB":
            break
        amount /= 1000
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"


def short_id(id: str) -> str:
    """Cut a UUID to its end, which commands that take the id of a run accept as well."""
    # the end, since UUIDs of one day begin alike
    return id[-12:] if len(id) == 36 else id


def short_ids(ids: Sequence[str]) -> dict[str, str]:
    """Cut ids to ends that tell them apart.

    >>> short_ids(["me/77c0a91f", "me/77c0b91f"])
    {'me/77c0a91f': 'a91f', 'me/77c0b91f': 'b91f'}
    """
    size = SHORTEST_ID
    while len({id[-size:] for id in ids}) < len(set(ids)):
        size += 1
    return {id: id[-size:] for id in ids}


def middle_cut(text: str, most: int) -> str:
    """Shorten a text to so many cells of a terminal, in its middle.

    >>> middle_cut("notes/2026/spring.json#12", 16)
    'notes…ng.json#12'
    """
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= most:
        return text
    end = max(most - 1, 0) * 2 // 3  # the end has the name of the file, and the line
    before = set_cell_size(text, max(most - 1 - end, 0))
    return f"{before}…{set_cell_size(text[::-1], end)[::-1]}"


def short_source(source: str) -> str:
    """Shorten a source to what one would type here: relative below the current folder."""
    here = os.getcwd() + os.sep
    return one_line(source[len(here) :] if source.startswith(here) else source)
