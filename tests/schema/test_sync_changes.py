from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from changing import change, fill, plan
from fake_database import FakeDatabase
from following import Follower, contents

from forked_work import Transactions, forked


def _fresh(database: FakeDatabase, home: Path) -> dict[str, object]:
    with Follower(home, database, plan()) as fresh:
        fresh.sync()
        return contents(fresh.memory)


@pytest.mark.parametrize("seed", range(4))
def test_after_any_changes_it_holds_what_a_fresh_ingest_holds(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    database = fill(random)
    with Follower(tmp_path / "home", database, plan()) as follower:
        for _ in range(5):
            follower.sync()
            for _ in range(10):
                change(random, database)
        follower.sync()
        assert contents(follower.memory) == _fresh(database, tmp_path / "fresh")
        report = follower.sync()
        assert (report.added, report.changed, report.deleted) == (0, 0, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("kill_at", [2, 5, 8])
def test_killed_anywhere_it_goes_on_to_the_same(kill_at: int, tmp_path: Path) -> None:
    random = Random(kill_at)
    database = fill(random)
    with Follower(tmp_path / "home", database, plan()) as follower:
        follower.sync()
    for _ in range(40):
        change(random, database)

    def work() -> None:
        with Follower(tmp_path / "home", database, plan()) as follower:
            Transactions(follower.memory, kill_at=kill_at)
            follower.sync()

    forked(work, tmp_path / "result")
    change(random, database)
    with Follower(tmp_path / "home", database, plan()) as follower:
        assert follower.sync().resumed
        assert contents(follower.memory) == _fresh(database, tmp_path / "fresh")
