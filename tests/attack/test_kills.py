"""`kill -9` in the middle of every kind of work: what was acknowledged is there, what was forgotten
is not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from labours import FOLDER_ONLY, KINDS, MODELLED
from mortal import Ground, Trial

pytestmark = [pytest.mark.crash, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]
SHORT = {  # the kinds that are tried in the short form
    "sqlite": ("batches", "read", "forget", "tenants", "learn", "rollback"), "postgres": ("batches", "forget", "dream"),
    "connections": ("updates",),
}  # fmt: skip
LONG = {"sqlite": (60, 45), "postgres": (40, 25)}  # kills of each kind, and of those that dream


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    ground = Ground()
    yield ground
    ground.close()


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_acknowledged_is_lost_when_a_process_is_killed(
    kind: str, store: str, home: str, ground: Ground, tmp_path: Path, rounds: Callable[[int, int], int],
    counted: Callable[[str, int], None], long: bool,
) -> None:  # fmt: skip
    if not long and kind not in SHORT[store]:
        pytest.skip("in the long form")
    if store == "postgres" and kind in FOLDER_ONLY:
        pytest.skip("a server has its own backups")
    kills = rounds(1 if kind in MODELLED else 2, LONG[store][kind in MODELLED])
    found = ground.try_(Trial(kind, home, str(tmp_path / "scratch"), kills, seed=11))
    assert not found.wrong, "\n".join(found.wrong)
    counted(f"kill -9 in the middle of {kind}, {store}", found.kills)
    counted(f"writes acknowledged before a kill, {store}", found.acknowledged)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in (*FOLDER_ONLY, *MODELLED)])
def test_nothing_acknowledged_is_lost_when_postgresql_ends_the_connections(
    kind: str, postgres: str, ground: Ground, tmp_path: Path,
    rounds: Callable[[int, int], int], counted: Callable[[str, int], None], long: bool,
) -> None:  # fmt: skip
    if not long and kind not in SHORT["connections"]:
        pytest.skip("in the long form")
    from postgres_server import database

    with database(postgres) as url:
        trial = Trial(
            kind, url, str(tmp_path / "scratch"), rounds(1, 15), seed=5, ways=("connection",)
        )
        found = ground.try_(trial)
    assert not found.wrong, "\n".join(found.wrong)
    counted("connections ended by the server in the middle of work, postgres", found.kills)
