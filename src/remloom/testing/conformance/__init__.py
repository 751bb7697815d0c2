"""The store contract as tests. A provider's test module inherits `StoreConformance` and supplies
one fixture.

    class TestSqlite(StoreConformance):
        @pytest.fixture
        def opening(self, tmp_path):
            return lambda: SqliteStore(tmp_path / "memory.db")

`opening()` opens the same tenant each time it is called; stores it opened are closed by the suite.

A case that holds for records of any schema is run for each (`opening.EVERY`): the built-in ones,
and a registered one with rows like their records. The others are about one schema, not for rows:

* chunks of a document, turns of a chat, names up to a mark, text that is written once, parents of
  what was derived, numbers of texts by category and speaker, defaults: resources have these
  (defaults of rows are in `rows.py`);
* times that overlap, and what refers to a record: moments;
* merging by name and type, thin entities, what was before a change: entities; a row is found by its
  handle and replaced, and as of a time it is as it is now, once it was there;
* walks, orders and merging of edges, entries: labels and keys alone, whichever record they are of.
"""

from __future__ import annotations

from .closing import ClosingCases
from .edges import Edges
from .entries import EntryCases
from .expiry import Expiry
from .fields import Fields, Values
from .finding import Finding
from .namings import Past, Renaming, ThinEntities
from .opening import Opening, names, put, selected
from .orders import Orders
from .premises import Premises
from .records import RecordCases
from .rows import RowCases
from .token_vectors import TokenVectorCases
from .updating import Updating

__all__ = ["Opening", "StoreConformance", "names", "put", "selected"]


class StoreConformance(
    RecordCases,
    Finding,
    Edges,
    Orders,
    Fields,
    EntryCases,
    Expiry,
    Renaming,
    RowCases,
    ThinEntities,
    TokenVectorCases,
    Past,
    Premises,
    Updating,
    ClosingCases,
    Values,
):
    """What every provider must do. `store` is a fresh, empty tenant."""
