"""Spans for every memory of a process, without a change to what it does."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import local
from typing import Any

from ..dream.service import Dreams
from ..memory.admin import Admin
from ..memory.memory import Memory
from ..profile.service import Profiles
from .names import SPANS
from .span import memory_span

_OWNERS: dict[str, type] = {"": Memory, "admin": Admin, "dreams": Dreams, "profile": Profiles}
_originals: dict[tuple[type, str], Callable[..., Any]] = {}
_calling = local()


def instrument() -> None:
    """Make every memory of this process tell OpenTelemetry what it does. Doing it twice is fine."""
    for method in SPANS:
        noun, _, name = method.rpartition(".")
        owner = _OWNERS.get(noun)
        if owner is None or not hasattr(owner, name) or (owner, name) in _originals:
            continue
        original = getattr(owner, name)
        _originals[owner, name] = original
        setattr(owner, name, _spanned(method, original))


def uninstrument() -> None:
    """Take the spans away again."""
    while _originals:
        (owner, name), original = _originals.popitem()
        setattr(owner, name, original)


def _spanned(method: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        # what a method of `Memory` asks of another is part of it
        if getattr(_calling, "inside", False):
            return original(self, *args, **kwargs)
        _calling.inside = True
        try:
            with memory_span(method, self._engine.tenant) as span:
                value = original(self, *args, **kwargs)
                if span is not None:
                    span.returned(value)
                return value
        finally:
            _calling.inside = False

    return call
