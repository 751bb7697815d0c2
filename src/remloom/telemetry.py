"""OpenTelemetry spans of what is done with a memory, as the GenAI conventions name them.

`instrument()` makes every `Memory` of this process tell its tracer; the server does so by itself.
Nothing is told of what is remembered or asked. Needs the package `opentelemetry-api` (extra
`telemetry`); without an SDK that a program sets up, spans go nowhere.
The names stand in open-telemetry/semantic-conventions-genai, status Development; no package has
them as constants yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from threading import local
from typing import Any

from opentelemetry import trace
from opentelemetry.trace import SpanKind, Status, StatusCode

from ._version import __version__
from .dream.service import Dreams
from .memory.admin import Admin
from .memory.memory import Memory
from .model import Answer, ReadReport, Recall, Receipt
from .profile.service import Profiles

OPERATION_NAME = "gen_ai.operation.name"
STORE_ID = "gen_ai.memory.store.id"
RECORD_ID = "gen_ai.memory.record.id"
RECORD_COUNT = "gen_ai.memory.record.count"
ERROR_TYPE = "error.type"
WORKFLOW = "gen_ai.workflow.name"

_WORK = "invoke_workflow"

# methods of `Memory` and its nouns, and tools for agents, by what the conventions call them
_METHODS = {
    "search_memory": (
        "ask context fuzzy lookup profile.context query recall rem_query search search_entities "
        "search_resources search_text show sql timeline traverse"
    ),
    "upsert_memory": (
        "create_edge create_entity create_moment create_resource read read_chat read_text relate "
        "remember write"
    ),
    "update_memory": (
        "confirm profile.confirm profile.correct profile.reject profile.set update_entity"
    ),
    "delete_memory": "admin.delete_edge delete_resource forget profile.forget",
    _WORK: (
        "dream dreams.affinity dreams.consolidate dreams.moments learn profile.bootstrap "
        "dreams.refresh profile.normalise profile.observe"
    ),
}
SPANS = {method: name for name, methods in _METHODS.items() for method in methods.split()}
_OWNERS: dict[str, type] = {"": Memory, "admin": Admin, "dreams": Dreams, "profile": Profiles}
_originals: dict[tuple[type, str], Callable[..., Any]] = {}
_calling = local()


class MemorySpan:
    """A span that is under way; `returned` says what came of it."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def returned(self, value: Any) -> None:
        """Note how many records a value has, and the id of one that was written alone."""
        ids = _ids_of(value)
        if len(ids) == 1:
            self._span.set_attribute(RECORD_ID, ids[0])
        count = len(ids) if ids else _count_of(value)
        if count is not None:
            self._span.set_attribute(RECORD_COUNT, count)


def is_traced() -> bool:
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def memory_span(method: str, tenant: str) -> AbstractContextManager[MemorySpan | None]:
    """Make a span of a call; None for what the conventions have no name for, and where no program
    has set up who is told.

    Args:
        method: as `Memory` calls it: "recall", "profile.set".
        tenant: the memory's name, which is the store's id.
    """
    operation = SPANS.get(method)
    if operation is None or not is_traced():
        return nullcontext()
    return _span(operation, method, tenant)


@contextmanager
def _span(operation: str, method: str, tenant: str) -> Iterator[MemorySpan]:
    attributes = {OPERATION_NAME: operation, STORE_ID: tenant}
    if operation == _WORK:
        attributes[WORKFLOW] = method
    # looked up for each: a program may set its provider up after this was imported
    tracer = trace.get_tracer("remloom", __version__)
    with tracer.start_as_current_span(
        operation,
        kind=SpanKind.INTERNAL,
        attributes=attributes,
        # a message may quote what was asked; the type of the error tells nothing
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield MemorySpan(span)
        except BaseException as error:
            span.set_attribute(ERROR_TYPE, type(error).__qualname__)
            span.set_status(Status(StatusCode.ERROR))
            raise


def _ids_of(value: Any) -> tuple[str, ...]:
    if isinstance(value, Receipt | ReadReport):
        return tuple(value.ids)
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return tuple(value)
    return ()


def _count_of(value: Any) -> int | None:
    if isinstance(value, Recall):
        return len(value.hits)
    if isinstance(value, Answer):
        return len(value.records) or len(value.nodes) or len(value.rows)
    return len(value) if isinstance(value, list) else None


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
