"""The functions that statements call from SQL."""

from __future__ import annotations

import ctypes
import math
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import cache, lru_cache
from typing import Any

import apsw
import msgspec

from ....errors import InvalidInputError, StoreBusyError
from ....model.premises import says
from ....sql import times
from ....sql.answers import MAX_HELD, too_much_held
from ...encoding import micros, moment_of
from ..rows import decode, decompress

_EVERY = 0.02  # seconds between looks at the memory of the process
_GROWN = 32_000_000  # bytes more than at the last look that gave back
_PATIENCE = 1.0  # seconds for a regular expression on one text
_PATIENCE_IN_ALL = 4.0  # seconds for the regular expressions of one statement
# A bracket that begins no repetition is a bracket to `re`; to `regex` it may say how far a text may
# be off.
_PIECES = re.compile(
    r"\\N\{[^}]*\}|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{\d+\}|\{\d*,\d*\}|\{", re.DOTALL
)
_NUMBER = re.compile(r"\s*[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?\s*")
_TIME = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?(?:Z|[+-]\d\d(?::?\d\d)?)?"
)


class _MemoryWatch:
    """Gives memory that is free back while a statement runs.

    A sorter keeps a small piece of each row, and each may be cut from where a long text was that
    is free again: the next long text fits in none of them, and the process grows by one a row.
    """

    def __init__(self, now: float) -> None:
        self._next = now + _EVERY
        self._before = 0

    def look(self, now: float) -> None:
        """Give back what is free, if the process has grown; `now` in monotonic seconds."""
        if now < self._next:
            return
        self._next = now + _EVERY
        size = _resident()
        if not self._before:
            self._before = size
        elif size > self._before + _GROWN and (trim := _trim()) is not None:
            trim(0)
            self._before = _resident()


@cache
def _trim() -> Callable[[int], Any] | None:
    try:
        found: Callable[[int], Any] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
    return found


def _resident() -> int:
    """Bytes that this process has in memory; 0 where that is not known."""
    try:
        with open("/proc/self/statm", encoding="ascii") as stream:
            return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


class _Spent(threading.local):
    """What the statement that this thread runs has used."""

    matching = 0.0  # seconds
    held = 0  # bytes
    deadline = math.inf  # monotonic seconds
    memory = _MemoryWatch(0.0)


_spent = _Spent()


@contextmanager
def bounded(timeout: float = math.inf) -> Iterator[None]:
    """Count what the regular expressions and groups of one statement use, and end it after so many
    seconds if it reads long texts: SQLite looks at the clock only between thousands of calls."""
    now = time.monotonic()
    _spent.matching, _spent.held, _spent.deadline = 0.0, 0, now + timeout
    _spent.memory = _MemoryWatch(now)
    try:
        yield
    finally:
        _spent.matching, _spent.held, _spent.deadline = 0.0, 0, math.inf


def tick() -> float:
    """The time (monotonic seconds); the statement of this thread gives back memory that is free."""
    now = time.monotonic()
    _spent.memory.look(now)
    return now


def _decompress(data: bytes) -> str:
    if tick() > _spent.deadline:
        raise StoreBusyError(
            "the statement took too long", remedy="filter on an indexed field, or select less"
        )
    return decompress(data)


def prepare(connection: apsw.Connection) -> None:
    for name, function, arguments in (
        ("merge_properties", merge_properties, 2),
        ("decompress", _decompress, 1),
        ("said", _said, 3),
        ("casefold", casefold, 1),
        ("matches", matches, 2),
        ("held", held, 2),
        ("counted", counted, 1),
        ("held_json", held_json, 1),
        ("lowered", _lowered, 1),
        ("uppered", _uppered, 1),
        ("number_of", number_of, 1),
        ("number_text", number_text, 1),
        ("whole", whole, 1),
        ("rounded", rounded, 2),
        ("floored", _floored, 2),
        # of any number of arguments
        ("greatest", _greatest, -1),
        ("least", _least, -1),
        ("time_part", time_part, 2),
        ("time_trunc", time_trunc, 2),
        ("time_shift", time_shift, 3),
        ("time_shown", time_shown, 1),
        ("time_of", time_of, 1),
        ("time_format", time_format, 2),
    ):
        connection.create_scalar_function(name, function, arguments, deterministic=True)


def _said(schema: str, body: str, content: bytes | None) -> int:
    """What a record says that was stored before that was kept."""
    return says(decode(schema, body, content))


def merge_properties(old: str | None, new: str | None) -> str | None:
    if not old or not new:
        return old or new
    return msgspec.json.encode({**msgspec.json.decode(old), **msgspec.json.decode(new)}).decode()


# -- texts -----------------------------------------------------------------------------------------


def casefold(text: object) -> str | None:
    return None if text is None else str(text).casefold()


def _lowered(text: str | None) -> str | None:
    return None if text is None else _by_letter(text, str.lower)


def _uppered(text: str | None) -> str | None:
    return None if text is None else _by_letter(text, str.upper)


def _by_letter(text: str, change: Callable[[str], str]) -> str:
    """Change each letter to one other, as PostgreSQL does: ß stays what it is."""
    changed = change(text)
    if text.isascii():
        return changed
    pairs = zip(text, map(change, text), strict=True)
    return "".join(other if len(other) == 1 else letter for letter, other in pairs)


def matches(pattern: str, text: str | None) -> bool | None:
    """Whether a regular expression matches somewhere in the text; InvalidInputError if that takes
    too long, as some patterns would take longer than the universe is old."""
    if text is None:
        return None
    left = min(_PATIENCE, _PATIENCE_IN_ALL - _spent.matching)
    started = time.monotonic()
    try:
        return _compiled(pattern).search(str(text), timeout=max(left, 0.001)) is not None
    except TimeoutError:
        raise InvalidInputError(
            f"the regular expression {pattern!r} takes longer than {_PATIENCE:g} s on a text, or"
            f" {_PATIENCE_IN_ALL:g} s in all",
            remedy="write it without repetitions inside repetitions, such as (a|aa)+; filter by "
            "something else too",
        ) from None
    finally:
        _spent.matching += time.monotonic() - started


@lru_cache(maxsize=64)
def _compiled(pattern: str):  # type: ignore[no-untyped-def]
    import regex  # reads what `re` reads, and can be stopped

    return regex.compile(_PIECES.sub(lambda found: "\\{" if found[0] == "{" else found[0], pattern))


def held(value: Any, more: int) -> Any:
    """The value, counted with so many bytes more against what a statement may hold in memory;
    InvalidInputError if that is too much."""
    if isinstance(value, str):
        counted(more + (len(value) if value.isascii() else len(value.encode())))
    elif value is not None:
        counted(more + 8)
    return value


def counted(size: int | None) -> bool:
    """Count these bytes of a value that is held. Raises what `held` raises."""
    _spent.held += size or 0
    if _spent.held > MAX_HELD:
        raise too_much_held()
    return True


# -- numbers ---------------------------------------------------------------------------------------


def number_of(value: Any) -> float | None:
    if isinstance(value, str):
        value = float(value) if len(value) <= 400 and _NUMBER.fullmatch(value) else None
    return None if value is None or not math.isfinite(value) else float(value)


def held_json(json: str | None) -> str | None:
    """JSON by which rows are grouped, counted as by `held`: 1 and 1.0 are one number."""
    if (
        json
        and json[0] in "-0123456789"
        and (number := float(json)).is_integer()
        and abs(number) < 2**53
    ):
        json = str(int(number))
    return held(json, 0)  # type: ignore[no-any-return]


def number_text(value: float | None) -> str | None:
    if value is None:
        return None
    return (
        str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))
    )


def whole(value: float | None) -> int | None:
    """The number without its fraction; None where it is out of range."""
    return int(value) if value is not None and abs(value) < 2**63 else None


def rounded(value: float | None, digits: int) -> float | None:
    """The number to so many digits, halves away from zero."""
    if value is None or not math.isfinite(value):
        return None
    if abs(value) > 1e15:
        return value
    return float(Decimal(f"{value:.15g}").quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def _floored(value: int | None, size: int) -> int | None:
    return None if value is None else value // size


def _greatest(*values: Any) -> Any:
    return max((value for value in values if value is not None), default=None)


def _least(*values: Any) -> Any:
    return min((value for value in values if value is not None), default=None)


# -- times, in microseconds since 1970 -------------------------------------------------------------


def _moment(at: int | None) -> datetime | None:
    try:
        return moment_of(at)
    except OverflowError:
        return None


def time_part(unit: str, at: int | None) -> int | float | None:
    moment = _moment(at)
    if moment is None or at is None:
        return None
    match unit:
        case "epoch":
            return at / 1_000_000
        case "second":
            return moment.second + moment.microsecond / 1_000_000
        case "millisecond":
            return moment.second * 1_000 + moment.microsecond // 1_000
        case "microsecond":
            return moment.second * 1_000_000 + moment.microsecond
        case "week":
            return moment.isocalendar().week
        case "quarter":
            return (moment.month + 2) // 3
        case "dow":
            return moment.isoweekday() % 7
        case "isodow":
            return moment.isoweekday()
        case "doy":
            return moment.timetuple().tm_yday
    return int(getattr(moment, unit))


def time_trunc(unit: str, at: int | None) -> int | None:
    moment = _moment(at)
    if moment is None:
        return None
    if unit in ("second", "minute", "hour"):
        size = times.UNITS[unit][1]
        return None if at is None else at - at % size
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    match unit:
        case "week":
            if day.toordinal() < day.isoweekday():
                return None
            day -= timedelta(days=day.isoweekday() - 1)
        case "month":
            day = day.replace(day=1)
        case "quarter":
            day = day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "year":
            day = day.replace(month=1, day=1)
    return micros(day)


def time_shift(at: int | None, months: int, by: int) -> int | None:
    """A time so many months and microseconds later; the last day of a month that is shorter."""
    moment = _moment(at)
    if moment is None:
        return None
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        return None
    following = (
        datetime(year + month // 11, (month + 1) % 12 + 1, 1, tzinfo=UTC)
        if year < 9999 or month < 11
        else None
    )
    last = 31 if following is None else (following - timedelta(days=1)).day
    shifted = micros(moment.replace(year=year, month=month + 1, day=min(moment.day, last)))
    return None if shifted is None else shifted + by


def time_shown(at: int | None) -> str | None:
    return None if _moment(at) is None or at is None else times.render_time(at)


def time_of(text: str | None) -> int | None:
    """The time in a text; None where it is none."""
    if text is None or len(text) > 40 or not _TIME.fullmatch(text):
        return None
    try:
        return times.parse_time("", text)
    except InvalidInputError:
        return None


def time_format(pattern: str, at: int | None) -> str | None:
    moment = _moment(at)
    if moment is None or at is None:
        return None
    parts = []
    for piece in times.split_format(pattern):
        match piece:
            case "%s":
                parts.append(str(at // 1_000_000))
            case "%f":
                parts.append(f"{moment.second:02}.{moment.microsecond // 1_000:03}")
            case "%Y" | "%F":
                parts.append(
                    f"{moment.year:04}"
                    + (f"-{moment.month:02}-{moment.day:02}" if piece == "%F" else "")
                )
            case _:
                parts.append(
                    moment.strftime(times.FORMATS[piece[1]][0]) if piece[0] == "%" else piece
                )
    return "".join(parts)
