"""OpenTelemetry spans of what is done with a memory, as the GenAI conventions name them.

`instrument()` makes every `Memory` of this process tell its tracer; the server does so by itself.
Nothing is told of what is remembered or asked. Needs the package `opentelemetry-api` (extra
`telemetry`); without an SDK that a program sets up, spans go nowhere.
"""

from .span import instrument, is_traced, memory_span, uninstrument

__all__ = ["instrument", "is_traced", "memory_span", "uninstrument"]
