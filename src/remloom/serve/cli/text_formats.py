"""Texts, counts and sources as they are shown: on one line, and safe for a terminal."""

from __future__ import annotations

import os

from .terminal import visible

__all__ = ["byte_size", "one_line", "plural", "short_id", "short_source"]


def plural(count: int, one: str, many: str = "") -> str:
    """Format a count with its noun: `1 entity`, `1,204 entities`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def one_line(text: str) -> str:
    """Put a text on one line, safe to show."""
    return " ".join(visible(text).split())


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


def short_source(source: str) -> str:
    """Shorten a source to what one would type here: relative below the current folder."""
    here = os.getcwd() + os.sep
    return one_line(source[len(here) :] if source.startswith(here) else source)
