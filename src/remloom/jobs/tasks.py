"""What a job does: it calls one method of a memory, with the payload as its arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ..errors import InvalidInputError, UnknownNameError

# Methods that a job may call: those that take long, and can be begun again.
KINDS = (
    "read", "learn", "dream", "moments", "affinity", "consolidate", "refresh", "observe",
    "normalise", "embed_pending", "reembed", "optimize", "sweep", "sync", "discover",
)  # fmt: skip
_OF_SOURCES = ("discover", "sync")
# whose result is kept with its texts: a plan has no value of any row but those of enums
_WHOLE = ("discover",)
# Texts of a result that are kept. Any other may quote what was read, and forgetting does not look
# into results.
_TEXTS = ("id", "kind", "status", "started_at", "finished_at", "at")
_LIMITS = ("tokens", "calls", "cost")  # of a budget


def check_kind(kind: str) -> str:
    """Refuse an unknown kind of job."""
    if kind not in KINDS:
        raise UnknownNameError("kind of job", kind, KINDS)
    return kind


def bind(
    find_method: Callable[[str], Callable[..., Any]], kind: str, payload: Mapping[str, Any]
) -> Callable[[], Any]:
    """Make the call of a job; refuse a payload that the method does not take, or that is not
    kept."""
    method = find_method(check_kind(kind))
    arguments = _with_budget(payload)
    if "url" in arguments:
        # it may have a password in it, and a job is stored
        raise InvalidInputError(
            f"a job keeps no address, so {kind} cannot be given one",
            remedy="set REMLOOM_SOURCE_<NAME> where the worker runs",
            argument="url",
        )
    source = arguments.get("source")
    if kind in _OF_SOURCES and source is not None:
        # not the URL of one with its password, say
        from ..schema.plan.source import check_source_name

        check_source_name(source)
    # Bound without being called, so that a wrong payload is refused when the job is added, not at
    # night when it is done.
    try:
        inspect.signature(method).bind(**arguments)
    except TypeError as error:
        names = ", ".join(inspect.signature(method).parameters)
        raise InvalidInputError(
            f"{kind} cannot be called so: {error}", remedy=f"it takes {names}"
        ) from None
    return partial(method, **_with_times(method, arguments))


def _with_times(method: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Give arguments with datetimes where the method takes them: JSON has only their texts."""
    times = {}
    for name, parameter in inspect.signature(method).parameters.items():
        value = arguments.get(name)
        if isinstance(value, str) and "datetime" in str(parameter.annotation):
            try:
                times[name] = msgspec.convert(value, Annotated[datetime, Meta(tz=True)])
            except msgspec.ValidationError:
                raise InvalidInputError(
                    f"{name} is no time with a zone: {value!r:.100}",
                    remedy='give it as ISO 8601 has it, e.g. "2026-03-02T09:00:00Z"',
                ) from None
    return {**arguments, **times}


def _with_budget(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Give a payload's arguments, with its limits as a `Budget`: JSON has them as one object,
    `budget`, or as budget_tokens, budget_calls and budget_cost."""
    if not isinstance(payload, Mapping):
        raise InvalidInputError(
            f"a payload is an object, not a {type(payload).__name__}",
            remedy='give the arguments by name, e.g. {"dreams": 3}',
        )
    arguments = dict(payload)
    budget = arguments.pop("budget", None)
    limits = _limits_of(budget)
    for name in _LIMITS:
        limit = arguments.pop(f"budget_{name}", None)
        if limit is not None:
            limits[name] = limit
    if budget is None and not limits:
        return arguments
    from ..llm import Budget

    return {**arguments, "budget": Budget(**limits)}


def _limits_of(budget: Any) -> dict[str, Any]:
    if not isinstance(budget, Mapping | None):
        raise InvalidInputError(
            f"a budget is an object, not a {type(budget).__name__}",
            remedy='give its limits, e.g. {"tokens": 100000}',
        )
    limits = dict(budget or {})
    for name in limits:
        if name not in _LIMITS:
            raise InvalidInputError(
                f"a budget has no {name!r}", remedy=f"it has {', '.join(_LIMITS)}"
            )
    return limits


def summarize(kind: str, result: Any) -> Any:
    """Keep the numbers of what a method returned, and what names its run; a plan but for its
    address."""
    if kind in _WHOLE:
        plan = msgspec.to_builtins(result, enc_hook=str)
        # more may see jobs than may know it
        plan.pop("address", None)
        return plan
    return _without_texts(msgspec.to_builtins(result, enc_hook=str))


def _without_texts(value: Any) -> Any:
    if not isinstance(value, dict):
        return value if isinstance(value, bool | int | float) else None
    small = {}
    for name, item in value.items():
        if not (name in _TEXTS and isinstance(item, str)):
            item = _without_texts(item)
        # what became empty tells nothing in a listing of jobs
        if item not in (None, "", {}):
            small[str(name)] = item
    return small
