"""One span of one call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from opentelemetry import trace
from opentelemetry.trace import SpanKind, Status, StatusCode

from .._version import __version__
from ..model import Answer, ReadReport, Recall, Receipt
from .names import ERROR_TYPE, OPERATION_NAME, RECORD_COUNT, RECORD_ID, SPANS, STORE_ID, WORKFLOW


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
    """Whether a program has set up who is told of spans."""
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
    if operation == "invoke_workflow":
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
