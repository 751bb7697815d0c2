"""A reader over PostgreSQL."""

from __future__ import annotations

from uuid import uuid4

import pytest

from remloom import Memory
from remloom.errors import NotFoundError


def test_a_reader_reads_and_notices_what_changes(postgres: str) -> None:
    tenant = f"t{uuid4().hex}"
    with Memory.open(postgres, tenant=tenant, embedder="none") as memory:
        memory.read_text(
            "# Ferries\n\n" + "They leave at noon. " * 400 + "\n\n  ## Prices", uri="f"
        )
        reader = memory.reader("ferries")
        assert [section.title for section in reader.outline().sections] == ["Ferries", "Prices"]
        assert reader.search("noon", limit=1)[0].first == 3
        with Memory.open(postgres, tenant=tenant, embedder="none") as other:
            other.read_text("# Ferries\n\nThere are none.", uri="f")
        assert reader.lines(3).text == "There are none."
        memory.forget("f")
        with pytest.raises(NotFoundError, match="was forgotten while it was open"):
            reader.lines(1)
