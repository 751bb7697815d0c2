"""What was derived keeps what each premise said as it was read, wherever the memory goes."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from postgres_server import connect, database
from remloom import Entity, Home, Memory, Moment, Person, Resource, Row, Speaker
from remloom.errors import InvalidInputError
from remloom.model import EXTRACTED, Record
from remloom.model.premises import as_hex, from_hex, premises_of, says
from remloom.model.supersession import SUPERSEDED
from remloom.store.rules.validation import build
from remloom.store.sqlite.file.sealing import unlock

T0 = datetime(2025, 1, 15, 10, tzinfo=UTC)
KEY = "3f" * 32
NOTE = Resource(id="note", name="note", content="The heron nests at the weir.")
CHANGED = replace(NOTE, content="The heron nests at the mill.")
INSIGHT = Resource(id="insight", name="insight", content="Herons like weirs.", parents=("note",))
WALK = Moment(id="walk", name="Walk", resource_refs=("note",), premises=premises_of([NOTE]))
KEPT = {"insight": premises_of([NOTE]), "walk": premises_of([NOTE]), "unknown": {}}


def fill(memory: Memory) -> None:
    """Write what was made of a note that says something else by now, known or not."""
    memory.write([NOTE, INSIGHT, WALK])
    memory.admin.store.write(
        build([replace(INSIGHT, id="unknown", name="unknown")], tenant="", model="")
    )
    memory.write([CHANGED])


def premises(memory: Memory) -> dict[str, dict[str, str]]:
    assert memory.admin.check() == []
    found = [memory.admin.store.records.get(None, id) for id in KEPT]
    return {one.id: one.premises for one in found if isinstance(one, Resource | Moment)}


def test_what_is_written_with_parents_rests_on_what_these_say(memory: Memory) -> None:
    fill(memory)
    assert premises(memory) == KEPT
    memory.write([INSIGHT])  # as it is said once more
    assert premises(memory) == {**KEPT, "insight": premises_of([CHANGED])}


def test_an_export_has_them_and_without_them_they_are_not_known(memory: Memory) -> None:
    fill(memory)
    stream = io.BytesIO()
    memory.admin.export(stream)
    memory.forget("note")
    memory.admin.import_(io.BytesIO(stream.getvalue()))
    assert premises(memory) == KEPT
    lines = [json.loads(line) for line in stream.getvalue().splitlines()[:-1]]
    for line in lines:
        line.get("record", {}).pop("premises", None)
    memory.forget("note")
    older = "\n".join(map(json.dumps, lines)).encode()
    memory.admin.import_(io.BytesIO(older), incomplete=True)
    assert premises(memory) == {id: {} for id in KEPT}


def test_copies_and_backups_have_them(tmp_path: Path, postgres: str) -> None:
    tenant = uuid4().hex
    with Memory.open(tmp_path / "a", tenant=tenant, embedder="none") as memory:
        fill(memory)
        memory.admin.backup(tmp_path / "c" / "tenants" / tenant / "memory.db")
    Home(f"sqlite:{tmp_path / 'a'}").copy(postgres, tenant=tenant)
    Home(postgres).copy(tmp_path / "b", tenant=tenant)
    for home in (postgres, tmp_path / "b"):
        with Memory.open(home, tenant=tenant, embedder="none") as memory:
            assert premises(memory) == KEPT


def test_a_memory_from_before_is_opened_and_they_are_not_known(
    tmp_path: Path, postgres: str
) -> None:
    def old_folder() -> None:
        connection = apsw.Connection(str(next(tmp_path.rglob("memory.db"))))
        unlock(connection, "")
        connection.execute(
            "ALTER TABLE records DROP COLUMN says; ALTER TABLE parents DROP COLUMN digest;"
            "ALTER TABLE sequence DROP COLUMN revision;"
            "PRAGMA user_version = 11"
        )
        connection.close()

    check_old(tmp_path, old_folder)
    with database(postgres) as url:

        def old_database() -> None:
            with connect(url) as connection:
                connection.execute(
                    "UPDATE remloom.records SET says = NULL; UPDATE remloom.parents SET digest = NULL;"
                    "UPDATE remloom.alembic_version SET version_num = '0007'"
                )

        check_old(url, old_database)


def check_old(home: Path | str, make_old: Callable[[], None]) -> None:
    with Memory.open(home, tenant="old", embedder="none") as memory:
        memory.write([NOTE, INSIGHT])
    make_old()
    with Memory.open(home, tenant="old", embedder="none") as memory:
        assert premises(memory) == {"insight": {}}
        # what is made from now on knows them, though nothing was kept of the note yet
        memory.write([replace(INSIGHT, id="unknown", name="later")])
        assert premises(memory) == {"insight": {}, "unknown": premises_of([NOTE])}


def test_a_premise_without_a_digest_is_refused(memory: Memory) -> None:
    memory.write([NOTE])
    for digest in ("", "0123", "no digest at all", "0" * 17):
        with pytest.raises(InvalidInputError, match="16 hexadecimal digits"):
            memory.write([replace(INSIGHT, premises={"note": digest})])
    assert premises(memory) == {}


def test_those_of_what_it_does_not_rest_on_are_left_out(memory: Memory) -> None:
    memory.write([NOTE, replace(CHANGED, id="other")])
    memory.write([replace(INSIGHT, premises={"other": "0" * 16})])
    assert premises(memory) == {"insight": premises_of([NOTE])}


# -- what a record says ----------------------------------------------------------------------------

TURN = replace(NOTE, metadata={"speaker": "Sarah", "lines": [1, 2]}, starts_at=T0)
TEAM = Entity(id="team", name="Orion", type="team", summary="Builds.", properties={"lead": "Bob"})
PAGE = Entity(name="Page", type="document", properties={"uri": "a.md", "chunks": 3, "digest": "x"})
ORDER = Row(schema="orders", handle="order-1", name="Order", fields={"total": 3, "paid": False})
MEETING = replace(
    WALK, starts_at=T0, present_persons=(Person(name="Bob"),), speakers=(Speaker(name="Bob"),)
)
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
VALUES = st.recursive(
    TEXT | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
TOUCHES = st.fixed_dictionaries(
    {},
    optional={
        "id": TEXT,
        "context": TEXT,
        "category": TEXT,
        "uri": TEXT,
        "ordinal": st.integers(0, 99),
        "language": TEXT,
        "trust": TEXT,
        "related_entities": st.lists(TEXT, max_size=3).map(tuple),
        "expires_at": st.datetimes(timezones=st.just(UTC)),
        "metadata": st.dictionaries(TEXT, VALUES, max_size=4),
    },
)


def test_no_touch_changes_what_a_text_says(pytestconfig: pytest.Config) -> None:
    @settings(max_examples=10_000 if pytestconfig.getoption("--long") else 300, deadline=None)
    @given(TOUCHES)
    def check(touch: dict[str, Any]) -> None:
        touched = replace(TURN, **touch)
        kept = {"speaker": "Sarah"} | ({SUPERSEDED: None} if SUPERSEDED in touched.metadata else {})
        assert says(replace(touched, metadata=touched.metadata | kept)) == says(TURN)

    check()


@pytest.mark.parametrize(
    ("record", "touch"),
    [
        (TEAM, {"properties": {"lead": "Bob", EXTRACTED: True}, "aliases": ("O",), "thin": True}),
        (PAGE, {"properties": {"uri": "a.md", "chunks": 4, "digest": "y"}}),
        (ORDER, {"metadata": {"seen": 1}, "version": 2, "related_entities": ("Bob",)}),
        (MEETING, {"metadata": {"run": "r"}, "resource_refs": (), "parent_moment": "m"}),
        (TURN, {"content": "", "metadata": {"speaker": "Sarah", SUPERSEDED: {"content": NOTE.content}}}),
    ],
    ids=["entity", "document", "row", "moment", "hidden"],
)  # fmt: skip
def test_no_touch_changes_what_other_records_say(record: Record, touch: dict[str, Any]) -> None:
    assert says(replace(record, **touch)) == says(record)


@pytest.mark.parametrize(
    ("record", "change"),
    [
        (TURN, {"content": "x"}),
        (TURN, {"metadata": {"speaker": "Bob"}}),
        (TURN, {"starts_at": None}),
        (TEAM, {"name": "Lyra"}),
        (TEAM, {"type": "crew"}),
        (TEAM, {"summary": ""}),
        (TEAM, {"properties": {"lead": "Ann"}}),
        (TEAM, {"properties": {}}),
        (ORDER, {"name": "x"}),
        (ORDER, {"summary": "x"}),
        (ORDER, {"fields": {"total": 4, "paid": False}}),
        (ORDER, {"fields": {"total": 3, "paid": 0}}),
        (MEETING, {"name": "x"}),
        (MEETING, {"type": "x"}),
        (MEETING, {"starts_at": None}),
        (MEETING, {"ends_at": T0}),
        (MEETING, {"summary": "x"}),
        (MEETING, {"present_persons": ()}),
        (MEETING, {"speakers": ()}),
        (MEETING, {"emotion_tags": ("glad",)}),
        (MEETING, {"topic_tags": ("glad",)}),
        (MEETING, {"classifications": ("glad",)}),
    ],
)
def test_each_change_of_what_is_shown_changes_what_is_said(
    record: Record, change: dict[str, Any]
) -> None:
    assert says(replace(record, **change)) != says(record)


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_digest_is_read_as_it_is_written(digest: int) -> None:
    assert from_hex(as_hex(digest)) == digest
