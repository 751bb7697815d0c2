"""What was derived stays derived, however it is written back: forgetting its source takes it."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from remloom import Home, Memory, Query, Resource
from remloom.errors import ChangedError

SOURCE, OTHER = "The heron nests at the weir.", "Reeds grow by the weir."
DERIVED = "Herons like weirs."


@pytest.fixture(params=["sqlite", "keyed", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    if request.param == "postgres":
        from postgres_server import database

        with database(request.getfixturevalue("postgres")) as url:
            Home(url).migrate()
            with Memory.open(url, tenant="t", embedder="none") as memory:
                yield memory
        return
    key = "3f" * 32 if request.param == "keyed" else None
    with Memory.open(tmp_path / "home", tenant="t", embedder="none", key=key) as memory:
        yield memory


# -- kinds of derived records ----------------------------------------------------------------------


def _of_one(memory: Memory, source: str, other: str) -> str:
    return memory.write([Resource(name="insight", content=DERIVED, parents=(source,))])[0]


def _of_two(memory: Memory, source: str, other: str) -> str:
    record = Resource(name="insight", content=DERIVED, kind="summary", generation=1, trust="derived", parents=(other, source))  # fmt: skip
    return memory.write([record])[0]


def _of_a_derived_one(memory: Memory, source: str, other: str) -> str:
    middle = _of_one(memory, source, other)
    record = Resource(name="dream", content=f"{DERIVED} Indeed.", kind="rem_dream", generation=2, parents=(middle,))  # fmt: skip
    return memory.write([record])[0]


KINDS = [_of_one, _of_two, _of_a_derived_one]


# -- ways of writing back --------------------------------------------------------------------------


def _as_read(memory: Memory, id: str) -> None:
    memory.write([_read(memory, id)])


def _reworded(memory: Memory, id: str) -> None:
    memory.write([replace(_read(memory, id), content=f"{DERIVED} They do.")])


def _as_it_was_found(memory: Memory, id: str) -> None:
    hit = next(hit.record for hit in memory.search_text("herons").records if hit.id == id)
    memory.write([replace(hit, category="birds")])


def _as_it_was_looked_up(memory: Memory, id: str) -> None:
    memory.write(
        [replace(memory.lookup(_read(memory, id).name).records[0].record, category="birds")]
    )


def _made_anew_with_its_id(memory: Memory, id: str) -> None:
    memory.write([Resource(id=id, name="mine", content=f"{DERIVED} Mine.")])


def _under_another_id(memory: Memory, id: str) -> None:
    memory.write([replace(_read(memory, id), id="", name="copy", uri="copy.md")])


def _found_and_under_another_id(memory: Memory, id: str) -> None:
    hit = next(hit.record for hit in memory.search_text("herons").records if hit.id == id)
    memory.write([replace(hit, id="copy", name="copy")])


def _listed_and_under_another_id(memory: Memory, id: str) -> None:
    (record,) = (record for record in memory.query_resources(Query()) if record.id == id)
    memory.write([replace(record, id="copy", name="copy")])


def _twice_in_one_batch(memory: Memory, id: str) -> None:
    record = _read(memory, id)
    memory.write([record, Resource(id=id, content=f"{DERIVED} Twice.")])


def _imported(memory: Memory, id: str) -> None:
    stream = io.BytesIO()
    memory.admin.export(stream)
    memory.write([replace(_read(memory, id), content=f"{DERIVED} Later.")])
    memory.admin.import_(io.BytesIO(stream.getvalue()))


WAYS = [
    _as_read,
    _reworded,
    _as_it_was_found,
    _as_it_was_looked_up,
    _made_anew_with_its_id,
    _under_another_id,
    _found_and_under_another_id,
    _listed_and_under_another_id,
    _twice_in_one_batch,
    _imported,
]


def _read(memory: Memory, id: str) -> Resource:
    record = memory.get_resource(id)
    assert record is not None
    assert record.parents
    return record


def _sources(memory: Memory) -> list[str]:
    return memory.write(
        [
            Resource(name="source", content=SOURCE, uri="source.md"),
            Resource(name="other", content=OTHER, uri="other.md"),
        ]
    )


def test_forgetting_a_source_takes_what_was_derived_of_it_and_written_back(memory: Memory) -> None:
    for kind, first, second in itertools.product(KINDS, WAYS, (None, _reworded)):
        source, other = _sources(memory)
        derived = kind(memory, source, other)
        _write_back(memory, derived, first, second)
        assert memory.admin.check() == []
        receipt = memory.forget(source)
        left = [record.content for record in memory.query_resources(Query())]
        assert left == [OTHER], (kind.__name__, first.__name__, second)
        assert receipt.verified
        memory.forget(other)


def _write_back(
    memory: Memory,
    id: str,
    first: Callable[[Memory, str], None],
    second: Callable[[Memory, str], None] | None,
) -> None:
    first(memory, id)
    if second is not None:
        second(memory, id)


def test_parents_that_are_given_later_are_kept_and_others_take_their_place(memory: Memory) -> None:
    source, other = _sources(memory)
    (id,) = memory.write([Resource(name="note", content=DERIVED)])
    memory.write([Resource(id=id, name="note", content=DERIVED, parents=(source,))])
    assert _read(memory, id).parents == (source,)
    memory.write([Resource(id=id, name="note", content="Of reeds.", parents=(other,))])
    assert _read(memory, id).parents == (other,)


def test_check_names_a_derived_record_that_does_not_say_of_what(memory: Memory) -> None:
    (id,) = memory.write([Resource(name="orphan", content=DERIVED, generation=1)])
    (line,) = memory.admin.check()
    assert id in line
    assert "derived" in line


@pytest.mark.parametrize("step", [0, -3_600])
def test_no_acknowledged_update_is_lost_where_the_clock_stands_still_or_is_set_back(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    reading = datetime(2026, 5, 1, tzinfo=UTC)

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return reading

    monkeypatch.setattr("remloom.store.rules.validation.datetime", Clock)
    (id,) = memory.write([Resource(id="note", name="note", content="0")])
    seen = []
    for turn in range(1, 6):
        reading += timedelta(seconds=step if turn % 2 else -step)  # back, and where it was
        read = memory.get_resource(id)
        assert read is not None
        seen.append(read.updated_at)
        memory.write([replace(read, content=f"{turn}")], expected={id: read.revision})
        with pytest.raises(ChangedError):
            memory.write([replace(read, content="late")], expected={id: read.revision})
    assert seen == sorted(set(seen))
    left = memory.get_resource(id)
    assert left is not None
    assert left.content == "5"
