"""The table: all operations that have a route of their own, beside the tools of agents."""

from __future__ import annotations

from .methods import METHODS
from .operation import Operation

__all__ = ["METHODS", "OPERATIONS"]

OPERATIONS: tuple[Operation, ...] = METHODS
