"""What a job does: it calls one method of a memory, with the payload as its arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from ..errors import InvalidInputError, UnknownNameError

__all__ = ["KINDS", "bind", "check_kind", "summarize"]

# Methods that a job may call: those that take long, and can be begun again.
KINDS = ("read", "learn", "dream", "moments", "affinity", "consolidate", "embed_pending", "reembed")
LONGEST_TEXT = 1_000  # characters of a text kept as part of a result
_LIMITS = ("tokens", "calls", "cost")  # of a budget


def check_kind(kind: str) -> str:
    """Refuse an unknown kind of job.

    Raises:
        UnknownNameError: it is not one of `KINDS`.
    """
    if kind not in KINDS:
        raise UnknownNameError("kind of job", kind, KINDS)
    return kind


def bind(
    find_method: Callable[[str], Callable[..., Any]], kind: str, payload: Mapping[str, Any]
) -> Callable[[], Any]:
    """Make the call that a job stands for.

    Args:
        find_method: gives the method for a kind of job.

    Raises:
        UnknownNameError: there is no such kind of job.
        InvalidInputError: the method does not take this payload.
    """
    method = find_method(check_kind(kind))
    arguments = _with_budget(payload)
    # Bound without being called, so that a wrong payload is refused when the job is added, not at
    # night when it is done.
    try:
        inspect.signature(method).bind(**arguments)
    except TypeError as error:
        names = ", ".join(inspect.signature(method).parameters)
        raise InvalidInputError(
            f"{kind} cannot be called so: {error}", remedy=f"it takes {names}"
        ) from None
    return partial(method, **arguments)


def _with_budget(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Give a payload's arguments, with its limits as a `Budget`.

    JSON has them as one object, `budget`, or as budget_tokens, budget_calls and budget_cost, which
    jobs have had from the beginning.

    Raises:
        InvalidInputError: a budget has no such limit, or one of another type.
    """
    arguments = dict(payload)
    budget = arguments.pop("budget", None)
    limits = dict(budget) if isinstance(budget, Mapping) else {}
    for name in _LIMITS:
        limit = arguments.pop(f"budget_{name}", None)
        if limit is not None:
            limits[name] = limit
    if not limits:
        return arguments if budget is None else {**arguments, "budget": budget}
    from ..llm import Budget

    if unknown := limits.keys() - set(_LIMITS):
        raise InvalidInputError(
            f"a budget has no {min(unknown)}", remedy=f"it has {', '.join(_LIMITS)}"
        )
    return {**arguments, "budget": Budget(**limits)}


def summarize(result: Any) -> Any:
    """Keep the numbers and texts of what a method returned, and leave out its lists."""
    return _without_lists(msgspec.to_builtins(result, enc_hook=str))


def _without_lists(value: Any) -> Any:
    if isinstance(value, str):
        return value[:LONGEST_TEXT]
    if not isinstance(value, dict):
        return value if isinstance(value, bool | int | float) else None
    small = {}
    for name, item in value.items():
        # what became empty tells nothing in a listing of jobs
        item = _without_lists(item)
        if item not in (None, "", {}):
            small[str(name)] = item
    return small
