"""One table of what can be asked of a memory from outside. REST, OpenAPI, MCP and the client come
from it, so that they cannot drift.

An `Operation` says what it takes and gives (values with bounds), what it does, what scope a key
must have, and how careful a caller should be. Most are derived from the methods of `Memory`, whose
arguments and documentation they have; `tools` has those that are made for agents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tenancy.api_keys import Scope
from .operation import Hints, Operation, Progress, Route
from .tools import TOOLS, Toolset, choose_tools

if TYPE_CHECKING:
    from .table import METHODS, OPERATIONS

__all__ = [
    "METHODS",
    "OPERATIONS",
    "TOOLS",
    "Hints",
    "Operation",
    "Progress",
    "Route",
    "Scope",
    "Toolset",
    "choose_tools",
]


def __getattr__(name: str) -> Any:
    # made when they are first asked for: a server of tools alone answers sooner without
    if name in ("METHODS", "OPERATIONS"):
        from . import table

        return getattr(table, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
