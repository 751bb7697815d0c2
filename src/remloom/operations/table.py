"""The table: all operations that have a route of their own, beside the tools of agents."""

from __future__ import annotations

from .databases import DATABASES
from .documents import DOCUMENTS
from .methods import METHODS
from .operation import Operation
from .reader import READER
from .records import RECORDS
from .transfer import TRANSFER

OPERATIONS: tuple[Operation, ...] = (
    *METHODS,
    *RECORDS,
    *DATABASES,
    *DOCUMENTS,
    *READER,
    *TRANSFER,
)
