"""Statements of the dialect, parameters and predicates that mean harm: an answer or an error of
ours, and no write."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hostile_statements import Grammar
from tenants_apart import attacked, digest, plant

EACH = 5_000  # calls of one grammar: so many seeds make the long form


@pytest.mark.crash
def test_no_hostile_statement_writes_or_shows_what_is_anothers(
    home: str, store: str, rounds: Callable[[int, int], int], counted: Callable[[str, int], None]
) -> None:
    plant(home, records=40)
    before = digest(home, "mine"), digest(home, "other")
    total = rounds(700, 31_500)
    for begun in range(0, total, EACH):
        grammar = Grammar(begun + 3)
        calls = [grammar.call() for _ in range(min(EACH, total - begun))]
        wrong, kinds = attacked(home, calls)
        assert not wrong, f"{len(wrong)} of {len(calls)}:\n" + "\n".join(wrong[:40])
        assert kinds["answered"] > len(calls) / 20, kinds
    assert (digest(home, "mine"), digest(home, "other")) == before
    counted(f"hostile statements, parameters and predicates, {store}", total)
