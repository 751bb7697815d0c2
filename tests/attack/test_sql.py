"""SELECTs that mean harm: made by a grammar, answered or refused, but never with what is not the
tenant's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hostile_sql import PAYLOADS, Grammar, named_shapes
from tenants_apart import attacked, digest, plant

MARK = Path("/tmp/remloom-attack")  # where hostile statements try to write


@pytest.mark.crash
def test_no_hostile_select_is_answered_with_what_is_not_the_tenants_own(
    home: str,
    store: str,
    rounds: Callable[[int, int], int],
    counted: Callable[[str, int], None],
    long: bool,
) -> None:
    plant(home)
    before = digest(home, "mine"), digest(home, "other")
    grammar = Grammar(20261122 if long else 7)
    calls = [grammar.call() for _ in range(rounds(400, 10_000))]
    wrong, kinds = attacked(home, calls)
    assert not wrong, f"{len(wrong)} of {len(calls)}:\n" + "\n".join(wrong[:40])
    # else the grammar would test nothing but the parser
    assert kinds["answered"] > len(calls) / 25, kinds
    assert (digest(home, "mine"), digest(home, "other")) == before
    assert not MARK.exists()
    counted(f"hostile SELECTs by grammar, {store}", len(calls))


@pytest.mark.crash
def test_no_text_is_smuggled_in_as_the_name_of_a_type_a_unit_or_a_collation(
    home: str, store: str, long: bool, counted: Callable[[str, int], None]
) -> None:
    plant(home, records=5)
    payloads: Any = PAYLOADS if long else PAYLOADS[:1]
    calls = [call for payload in payloads for call in named_shapes(payload=payload)]
    calls = calls if long else calls[::3]
    wrong, kinds = attacked(home, calls)
    assert not wrong, f"{len(wrong)} of {len(calls)}:\n" + "\n".join(wrong[:40])
    assert kinds["refused"] > len(calls) * 0.9, kinds
    counted(f"texts smuggled in as names of types and units, {store}", len(calls))
