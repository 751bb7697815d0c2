"""The index of names: what FUZZY finds in runs, in the tail, after names are gone, and after a
migration."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from postgres_server import connect
from remloom import Entity
from remloom.store.contract import Store
from remloom.store.postgres import PostgresStore
from remloom.store.postgres.indexes import trigram_index
from remloom.store.results import Match
from remloom.store.specs import NameSpec
from remloom.store.sqlite import SqliteStore
from remloom.testing.conformance import put

Opening = Callable[..., PostgresStore]

NOW = datetime(2025, 1, 15, 10, tzinfo=UTC)
_SYLLABLES = (
    "ba",
    "chen",
    "dro",
    "fi",
    "gul",
    "ha",
    "jin",
    "ka",
    "lo",
    "mar",
    "ne",
    "os",
    "pra",
    "qui",
    "ro",
    "sha",
)


@pytest.fixture(autouse=True)
def _short_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trigram_index, "TAIL", 50)


def _people(count: int, seed: int = 1) -> list[str]:
    chance = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        found[
            " ".join(
                "".join(chance.choices(_SYLLABLES, k=chance.randint(2, 4))).title()
                for _ in range(2)
            )
        ] = None
    return list(found)


def _typo(name: str, chance: random.Random) -> str:
    at = chance.randrange(1, len(name) - 1)
    return chance.choice(
        [
            name[:at] + name[at + 1 :],
            name[:at] + name[at - 1] + name[at:],
            name[:at] + "x" + name[at + 1 :],
        ]
    )


def _fuzzy(store: Store, text: str, type: str | None = None) -> list[Match]:
    return store.search.names(text, NameSpec(type=type, threshold=0.5, limit=5))


def _found(store: Store, text: str, type: str | None = None) -> list[str]:
    return [match.record.name for match in _fuzzy(store, text, type)]


def test_both_stores_find_the_same_names_with_the_same_scores(
    opening: Opening, tmp_path: Path
) -> None:
    people = _people(3_000)
    store, embedded = opening(), SqliteStore(tmp_path / "memory.db")
    for each in (store, embedded):
        put(each, *(Entity(name=name) for name in people))
        each.admin.optimize()
    chance = random.Random(2)
    for name in chance.sample(people, 60):
        text = _typo(name, chance)
        ours, theirs = _fuzzy(store, text), _fuzzy(embedded, text)
        assert [(match.record.name, match.score) for match in ours] == [
            (m.record.name, m.score) for m in theirs
        ], text
        assert name in [match.record.name for match in ours]
    embedded.close()


def test_names_written_a_few_at_a_time_are_found_in_every_run_and_in_the_tail(
    opening: Opening,
) -> None:
    people = _people(700)
    store = opening()
    for start in range(0, len(people), 7):
        put(store, *(Entity(name=name) for name in people[start : start + 7]))
    chance = random.Random(3)
    assert all(name in _found(store, _typo(name, chance)) for name in chance.sample(people, 100))
    assert store.admin.check() == []


def test_a_name_is_found_by_some_of_its_words_misspelt_or_not(opening: Opening) -> None:
    store = opening()
    people = _people(400)
    put(
        store,
        Entity(name="Sarah Oyelaran, Head of Research"),
        *(Entity(name=name) for name in people),
    )
    for text in ("oyelaran", "research head sarah", "oyelarran", "head of reserch"):
        assert _found(store, text)[:1] == ["Sarah Oyelaran, Head of Research"], text


def test_a_type_is_found_however_many_names_of_other_types_are_nearer(opening: Opening) -> None:
    store = opening()
    put(store, Entity(name="Project Alpha 7777", type="project"))
    put(
        store,
        *(Entity(name=f"Project Alpha {number}", type="person") for number in range(7000, 7300)),
    )
    assert _found(store, "Project Alpha 7070", "project") == ["Project Alpha 7777"]
    assert set(_found(store, "Project Alpha 7777", "entities")) > {"Project Alpha 7777"}


def test_names_that_are_gone_are_found_no_more_and_leave_the_runs(
    opening: Opening, postgres: str
) -> None:
    store = opening()
    people = _people(300)
    ids = [f"e{number}" for number in range(300)]
    put(store, *(Entity(id=id, name=name) for id, name in zip(ids, people, strict=True)))
    for version in range(6):
        put(
            store,
            *(
                Entity(id=id, name=f"{name} {version}")
                for id, name in zip(ids, people, strict=True)
            ),
        )
    store.delete(ids[:100])
    assert f"{people[0]} 5" not in _found(store, f"{people[0]} 5")
    assert _found(store, f"{people[200]} 4")[0] == f"{people[200]} 5"
    assert store.admin.check() == []
    with connect(postgres) as connection:
        sql = "SELECT sum(names) FROM remloom.name_runs WHERE tenant_id = %s"
        # of 2,100 that there were
        assert connection.execute(sql, (store._server.tenant,)).fetchall()[0][0] < 1_000


def test_a_damaged_index_is_noticed(opening: Opening) -> None:
    store = opening()
    put(store, *(Entity(name=name) for name in _people(100)))
    assert store.admin.check() == []
    store._server.write(
        lambda cursor: cursor.execute(
            "DELETE FROM remloom.name_pages WHERE tenant_id = %s AND first > 0",
            (store._server.tenant,),
        ),
    )
    assert [line.partition(":")[0] for line in store.admin.check()] == ["names"]
