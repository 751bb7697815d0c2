"""What a job does: one method of the memory, with the payload as its arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from ..errors import InvalidInputError, UnknownNameError

__all__ = ["KINDS", "bound", "known", "summary"]

# The methods of `Memory` that a job may call: those that take long, and can be begun again.
KINDS = ("read", "learn", "dream", "moments", "affinity", "consolidate", "embed_pending", "reembed")
LONGEST_TEXT = 1_000  # characters of a text kept as part of a result


def known(kind: str) -> str:
    """The kind, if it is one of `KINDS`; raises UnknownNameError."""
    if kind not in KINDS:
        raise UnknownNameError("kind of job", kind, KINDS)
    return kind


def bound(target: object, kind: str, payload: Mapping[str, Any]) -> Callable[[], Any]:
    """The call that a job stands for.

    Raises:
        UnknownNameError: there is no such kind of job.
        InvalidInputError: the method does not take this payload.
    """
    method = getattr(target, known(kind))
    try:
        inspect.signature(method).bind(**payload)
    except TypeError as error:
        taken = ", ".join(inspect.signature(method).parameters)
        raise InvalidInputError(
            f"{kind} cannot be called so: {error}", remedy=f"it takes {taken}"
        ) from None
    return partial(method, **payload)


def summary(result: Any) -> Any:
    """What is kept of what a method returned: its numbers and texts, not its lists."""
    return _small(msgspec.to_builtins(result, enc_hook=str))


def _small(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            str(name): kept
            for name, one in value.items()
            if (kept := _small(one)) not in (None, "", {})
        }
    if isinstance(value, str):
        return value[:LONGEST_TEXT]
    return value if isinstance(value, bool | int | float) else None
