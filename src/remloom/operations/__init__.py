"""One table of what can be asked of a memory from outside. REST, OpenAPI, MCP and the client come
from it, so that they cannot drift.

An `Operation` says what it takes and gives (values with bounds), what it does, what scope a key
must have, and how careful a caller should be. Most are derived from the methods of `Memory`, whose
arguments and documentation they have; `tools` has those that are made for agents.
"""

from __future__ import annotations

from ..tenancy.api_keys import Scope
from .operation import Hints, Operation, Progress, Route
from .table import METHODS, OPERATIONS
from .tools import TOOLS, Toolset, choose_tools

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
