"""Texts, counts and sources as they are shown: on one line, and safe for a terminal."""

from __future__ import annotations

import os

from .terminal import visible

__all__ = ["byte_size", "one_line", "plural", "short_id", "short_source"]


def plural(count: int, one: str, many: str = "") -> str:
    """A count with its noun: `1 entity`, `1,204 entities`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def one_line(text: str) -> str:
    """A text as one line."""
    return " ".join(visible(text).split())


def byte_size(count: int) -> str:
    """A number of bytes: `512 B`, `1.4 MB`."""
    amount, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if amount < 1000 or unit == "TB":
            break
        amount /= 1000
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"


def short_id(id: str) -> str:
    """The end of a UUID, which commands that take the id of a run take as well."""
    return id[-12:] if len(id) == 36 else id


def short_source(source: str) -> str:
    """A source as one would type it here: relative when it is below the current folder."""
    here = os.getcwd() + os.sep
    return one_line(source[len(here) :] if source.startswith(here) else source)
