"""SELECTs that mean harm: made by a grammar, answered or refused, but never with what is not the tenant's own."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from asking import MEGABYTES, SECONDS, Asker, Call
from hostile_sql import PAYLOADS, Grammar, named_shapes
from tenants_apart import digest, plant, said

MARK = Path("/tmp/remloom-attack")  # where hostile statements try to write


def attacked(home: str, calls: Iterable[Call]) -> tuple[list[str], Counter[str]]:
    """What was wrong with the outcomes of these calls, and how many came out which way."""
    wrong: list[str] = []
    kinds: Counter[str] = Counter()
    with Asker(home, "mine") as asker:
        for call, outcome in asker.ask(calls):
            kinds[outcome.kind] += 1
            found = said(call, outcome)
            if not found and outcome.seconds > SECONDS:
                found = f"took {outcome.seconds:.1f} s"
            if not found and outcome.megabytes > MEGABYTES:
                found = f"took {outcome.megabytes:.0f} MB"
            if found:
                wrong.append(f"[{call.family}] {call.method}{_shown(call)} {found}")
    if kept := os.environ.get("REMLOOM_ATTACK_FOUND"):
        with open(kept, "a", errors="backslashreplace") as file:
            file.writelines(f"{line}\n" for line in wrong)
    return wrong, kinds


def _shown(call: Call) -> str:
    text = f"{call.args}{call.given or ''}"
    return text if len(text) < 400 else f"{text[:300]} … ({len(text):,} characters)"


@pytest.mark.crash
def test_no_hostile_select_is_answered_with_what_is_not_the_tenants_own(
    home: str, store: str, rounds: Callable[[int, int], int], counted: Callable[[str, int], None], long: bool
) -> None:
    plant(home)
    before = digest(home, "mine"), digest(home, "other")
    grammar = Grammar(20261122 if long else 7)
    calls = [grammar.call() for _ in range(rounds(400, 10_000))]
    wrong, kinds = attacked(home, calls)
    assert not wrong, f"{len(wrong)} of {len(calls)}:\n" + "\n".join(wrong[:40])
    assert kinds["answered"] > len(calls) / 25, kinds  # else the grammar would test nothing but the parser
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
