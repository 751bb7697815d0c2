"""SELECTs that grow: whatever is written, no statement holds much in memory, of the process or of the server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from asking import Asker, Call, peak_begins, resident_peak, resident_total
from growing_sql import growing
from tried import Counted, Rounds

from remloom import Memory, Resource

MEGABYTES = 200  # above what a process had
_RECORDS = 2_000


@pytest.fixture
def planted(home: str) -> str:
    """A tenant of which each record has long texts, no two of them alike, and of characters that take four bytes."""
    with Memory.open(home, tenant="mine", embedder="none") as memory:
        for start in range(0, _RECORDS, 500):
            memory.write(map(_record, range(start, start + 500)))
    return home


def _record(number: int) -> Resource:
    tag = f"{number:06}"
    return Resource(
        name=f"note {tag} {tag * 20}",
        content=f"{tag} {'a' * 12_000} \N{SLICE OF PIZZA}",
        category=f"kind {number % 5}",
        metadata={"tag": tag, "long": tag + "a" * 12_000},
    )


@pytest.mark.crash
def test_no_select_holds_much_in_memory(
    planted: str, store: str, rounds: Rounds, counted: Counted, long: bool
) -> None:
    calls = growing(20261128 if long else 3, rounds(150, 3_000))
    wrong, answered = [], 0
    with Asker(planted, "mine") as asker:
        for call in calls:
            server = dict(_backends(planted)) if store == "postgres" else {}
            ((_, outcome),) = asker.ask([call])
            answered += outcome.kind == "answered"
            held = [outcome.megabytes]
            held += [resident_peak(process) - before for process, before in server.items()]
            if outcome.kind not in ("answered", "refused") or max(held) > MEGABYTES:
                wrong.append(f"{held} MB, {outcome.kind} {outcome.text[:200]}: {call.args}")
    assert not wrong, f"{len(wrong)} of {len(calls)}:\n" + "\n".join(wrong[:20])
    # else the bounds would refuse everything
    assert answered > len(calls) / 4, answered
    counted(f"SELECTs that grow, {store}", len(calls))


@pytest.mark.crash
def test_little_that_is_kept_of_long_texts_takes_little(planted: str) -> None:
    # what is kept of each row would pin the place of a long text that is free again
    statement = (
        "SELECT count(*) FROM resources GROUP BY greatest(concat(content, content, content), 'b')"
    )
    with Asker(planted, "mine") as asker:
        ((_, outcome),) = asker.ask([Call("query", (statement,))])
    assert outcome.megabytes < MEGABYTES, outcome


def _backends(url: str) -> Iterator[tuple[int, float]]:
    """The processes of the server that serve this database, with what they have in memory."""
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchall()
    for (process,) in found:
        if Path(f"/proc/{process}").exists():
            peak_begins(process)
            yield process, resident_total(process)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT name FROM resources ORDER BY name",
        "SELECT name, count(*) FROM resources GROUP BY name ORDER BY 2 DESC",
        "SELECT count(DISTINCT name), count(DISTINCT category) FROM resources",
        "SELECT category, group_concat(name) FROM resources GROUP BY category",
        "SELECT metadata ->> 'tag', max(name) FROM resources GROUP BY metadata ->> 'tag' ORDER BY 1",
        "SELECT name FROM resources ORDER BY lower(content) LIMIT 10 OFFSET 50",
        "SELECT DISTINCT upper(name) FROM resources ORDER BY upper(name)",
    ],
)
@pytest.mark.crash
def test_what_people_ask_of_many_records_is_answered(
    planted: str, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # how much is held is asked here, not how fast the machine is
    monkeypatch.setattr("remloom.query.select.SQL_TIMEOUT", 300.0)
    with Memory.open(planted, tenant="mine", embedder="none") as memory:
        assert memory.sql(statement).rows
