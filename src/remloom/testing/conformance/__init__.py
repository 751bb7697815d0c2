"""The store contract as tests. A provider's test module inherits `StoreConformance` and supplies
one fixture.

    class TestSqlite(StoreConformance):
        @pytest.fixture
        def opening(self, tmp_path):
            return lambda: SqliteStore(tmp_path / "memory.db")

`opening()` opens the same tenant each time it is called; stores it opened are closed by the suite.
"""

from __future__ import annotations

from .closing import Closing
from .deletion import Deletion
from .edges import Edges
from .entries import Entries
from .expiry import Expiry
from .fields import Fields
from .finding import Finding
from .merging import Merging
from .opening import Opening, names, put, selected
from .orders import Orders
from .past import Past
from .records import Records
from .renaming import Renaming
from .rows import Rows
from .thin_entities import ThinEntities
from .token_vectors import TokenVectors
from .updating import Updating
from .values import Values

__all__ = ["Opening", "StoreConformance", "names", "put", "selected"]


class StoreConformance(
    Records,
    Finding,
    Edges,
    Orders,
    Merging,
    Fields,
    Deletion,
    Entries,
    Expiry,
    Renaming,
    Rows,
    ThinEntities,
    TokenVectors,
    Past,
    Updating,
    Closing,
    Values,
):
    """What every provider must do. `store` is a fresh, empty tenant."""
