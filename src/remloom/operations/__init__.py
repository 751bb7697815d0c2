"""One table of what can be asked of a memory from outside. REST, OpenAPI, MCP and the client come
from it, so that they cannot drift.

An `Operation` says what it takes and gives (values with bounds), what it does, what scope a key
must have, and how careful a caller should be. Most are derived from the methods of `Memory`, whose
arguments and documentation they have; `tools` has those that are made for agents.
"""

from .methods import METHODS
from .operation import Hints, Operation, Progress, Route, Scope

OPERATIONS: tuple[Operation, ...] = METHODS

__all__ = ["METHODS", "OPERATIONS", "Hints", "Operation", "Progress", "Route", "Scope"]
