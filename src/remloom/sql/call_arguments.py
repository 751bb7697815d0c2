"""The arguments of a call: their number, literals among them, and times."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import SqlGuardError
from .coercion import cast, describe
from .patterns import MAX_LIKE
from .values import Expression, Now, Value


def check_count(name: str, arguments: Sequence[Expression], *counts: int) -> None:
    """Refuse another number of arguments than these."""
    if len(arguments) not in counts:
        expected = " or ".join(map(str, counts))
        raise SqlGuardError(f"{name} takes {expected} arguments, not {len(arguments)}")


def literal_text(name: str, value: Expression) -> str:
    """The text of an argument that must be a literal."""
    if not isinstance(value, Value) or value.type != "text":
        raise SqlGuardError(f"{name} takes a literal text here, not {describe(value)}")
    if len(value.value) > MAX_LIKE:
        raise SqlGuardError(f"a text that {name} looks for may have {MAX_LIKE} characters")
    return str(value.value)


def as_time(value: Expression) -> Expression:
    """An argument as a time; 'now' is the present."""
    is_text = isinstance(value, Value) and value.type == "text"
    if is_text and value.value.lower() == "now":  # type: ignore[union-attr]
        return Now()
    return cast(value, "time")
