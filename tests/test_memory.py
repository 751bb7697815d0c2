"""What a user of Memory sees that belongs to no single layer below it."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from remloom import Edge, Entity, Memory, Message, Moment, Resource
from remloom.errors import (
    ChangedError,
    ConflictError,
    EmbedderError,
    InvalidInputError,
    NotFoundError,
    RemloomError,
    SettingsError,
    UnknownNameError,
    VectorError,
)
from remloom.predicates import Contains, Eq, Matches, Query, StartsWith, VectorSimilar
from remloom.settings import Settings
from remloom.testing.disk import on_disk
from remloom.testing.embedder import WordEmbedder
from waiting import until


def _nested(depth: int) -> dict[str, Any]:
    return {"x": _nested(depth - 1)} if depth else {}


MEMO = "# Memo\n\nMarmaduke Fisk will open a branch of Zanzibar Holdings. Marmaduke Fisk knows code PLUGHXYZZY99.\n"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder="none") as opened:
        yield opened


def names(memory: Memory) -> set[str]:
    return {
        row[0]
        for schema in ("resources", "entities", "moments")
        for row in memory.sql(f"SELECT name FROM {schema}").rows
    }


# -- writing ---------------------------------------------------------------------------------------


def test_write_gives_one_id_for_each_record_even_when_two_are_the_same(memory: Memory) -> None:
    note = Resource(name="n", content="same")
    ids = memory.write(
        [Entity(name="Bob"), note, Edge(src="n", rel_type="r", dst="Bob"), Entity(name="bob"), note]
    )
    assert len(ids) == 4
    assert (ids[0], ids[1]) == (ids[2], ids[3])
    assert memory.get_entity(ids[0]).name == "bob"
    assert memory.get_resource(ids[1]).content == "same"


def test_an_id_of_another_schema_is_refused_and_nothing_is_lost(memory: Memory) -> None:
    with pytest.raises(ConflictError, match="id 'x'"):
        memory.write([Entity(id="x", name="Ann"), Resource(id="x", content="note")])
    memory.write([Entity(id="x", name="Ann")])
    with pytest.raises(ConflictError, match="entities"):
        memory.write([Resource(id="x", content="note")])
    assert memory.get_entity("x").name == "Ann"


@pytest.mark.parametrize(
    ("item", "told"),
    [
        (Entity(name="e", properties={"x": math.nan}), "properties.x is nan"),
        (
            Entity(name="e", properties={"deep": [{"x": math.inf}]}),
            r"properties.deep\[0\].x is inf",
        ),
        (Edge(src="a", rel_type="r", dst="b", properties={"x": math.nan}), "properties.x is nan"),
        (Edge(src="a", rel_type="r", dst="b", properties={"x": object()}), "of type object"),
        (
            Entity(name="e", properties={"tags": {"a"}}),
            "properties.tags is of type set(?s:.*)a list",
        ),
        (
            Entity(name="e", properties={"key": b"x"}),
            "properties.key is of type bytes(?s:.*)base64",
        ),
        (
            Entity(name="e", properties={"at": datetime(2025, 1, 1)}),
            "of type datetime(?s:.*)isoformat",
        ),
        (
            Moment(name="m", metadata={"at": datetime(2025, 1, 1, tzinfo=UTC)}),
            "metadata.at is of type dat",
        ),
        (
            Resource(name="r", content="x", metadata={"n": {"big": 2**63}}),
            "metadata.n.big is a whole number of more",
        ),
        (Entity(name="e", properties={"x": {1: 2}}), "properties.x.1 is a name that is a int"),
        (Entity(name="e", properties={"x": "a\0b"}), "properties.x is text with a NUL"),
        (Entity(name="e", properties=_nested(70)), "more than 64 lists or objects"),
        (Resource(uri="a\ud800", content="x"), "surrogate"),
        (
            Moment(
                name="m",
                starts_at=datetime(9999, 12, 31, 20, tzinfo=timezone(timedelta(hours=-12))),
            ),
            "9999",
        ),
    ],
)
def test_what_could_not_be_read_back_is_refused(memory: Memory, item: Any, told: str) -> None:
    with pytest.raises(InvalidInputError, match=told):
        memory.write([Entity(name="fine"), item])
    assert names(memory) == set()


def test_null_is_a_value_that_can_be_stored(memory: Memory) -> None:
    (identity,) = memory.write([Entity(name="e", properties={"left": None, "1": "null"})])
    assert memory.get_entity(identity).properties == {"left": None, "1": "null"}


@pytest.mark.filterwarnings("error")
def test_a_vector_too_large_for_its_type_is_refused_without_a_warning(memory: Memory) -> None:
    with pytest.raises(VectorError, match="infinity"):
        memory.write([Resource(name="r", content="x", embedding=[1e300, 1.0])])


def test_one_record_instead_of_a_list_is_told_apart(memory: Memory) -> None:
    with pytest.raises(InvalidInputError, match="not a list"):
        memory.write(Entity(name="e"))  # type: ignore[arg-type]


def test_an_edge_between_ids_is_one_between_their_names_however_it_is_written(
    memory: Memory,
) -> None:
    ann, bob = memory.write([Entity(name="Ann"), Entity(name="Bob")])
    memory.create_edge(Edge(src=ann, rel_type="knows", dst=bob))
    memory.write([Edge(src=bob, rel_type="knows", dst=ann)])
    assert [(edge.src, edge.dst) for edge in memory.get_edges("Ann", direction="both")] == [
        ("bob", "ann"),
        ("ann", "bob"),
    ]
    assert names(memory) == {"Ann", "Bob"}


# -- asking ----------------------------------------------------------------------------------------


def test_memory_itself_has_at_most_49_names() -> None:
    # what people say, the nouns, and the operations of seed 2 under their names
    assert len([name for name in dir(Memory) if not name.startswith("_")]) <= 49


def test_wrong_arguments_are_errors_that_say_so(memory: Memory) -> None:
    memory.write([Edge(src="a", rel_type="knows", dst="b")])
    with pytest.raises(UnknownNameError, match="schema 'nope'"):
        memory.search_text("x", schema="nope")
    with pytest.raises(UnknownNameError, match="schema"):
        memory.search_text("x", schema="x' OR '1'='1")
    with pytest.raises(UnknownNameError, match="direction"):
        memory.get_edges("a", direction="sideways")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="time zone"):
        memory.get_edges("a", as_of=datetime(2025, 1, 1))
    with pytest.raises(InvalidInputError, match="limit"):
        memory.get_edges("a", limit=-1)
    with pytest.raises(InvalidInputError, match="prefix"):
        memory.admin.complete(None)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="not an embedder"):
        Memory.open("unused", embedder=42)  # type: ignore[arg-type]


def test_a_memory_says_whose_it_is_and_not_its_key(tmp_path: Path) -> None:
    with Memory.open(tmp_path, tenant="acme", key="3f" * 32, embedder="none") as opened:
        assert repr(opened) == f"<Memory of 'acme' in {str(tmp_path)!r}>"


def test_a_home_given_empty_is_no_default() -> None:
    with pytest.raises(SettingsError, match="the home given is empty"):
        Memory.open("")


def test_a_variable_that_is_nearly_a_setting_is_not_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REMLOOM_PORT_5432_TCP", "what a cluster sets for a service of that name")
    Settings.load()
    monkeypatch.setenv("REMLOOM_KEYS", "a memory would be left unencrypted")
    with pytest.raises(UnknownNameError, match="did you mean REMLOOM_KEY"):
        Settings.load()


def test_a_regular_expression_that_would_never_end_is_stopped(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remloom.store.sqlite.select.sql_functions._PATIENCE", 0.01)
    memory.write([Entity(name="a" * 64 + "!")])
    with pytest.raises(InvalidInputError, match="takes longer"):
        memory.query_entities(Query().filter(Matches("name", "^(a|aa)+$")))


@pytest.mark.parametrize("pattern", ["%a_%a_%a%a%z%a", "a%" * 60 + "z_", "%" + "_a%" * 40 + "é"])
def test_a_pattern_of_like_is_answered_however_often_its_parts_come(
    memory: Memory, pattern: str
) -> None:
    memory.write([Resource(name=f"r{number}", content="a" * 3_000) for number in range(20)])
    memory.write([Resource(name="ends", content="a" * 3_000 + "zÉa")])
    found = memory.sql(f"SELECT name FROM resources WHERE content LIKE '{pattern}%'").rows
    assert [name for (name,) in found] == ["ends"]


@pytest.mark.parametrize(
    "statement", ["LOKUP x", "TRAVERSE * WITH x DEPTH 0 LIMIT 0", "SELECT nme FROM entities"]
)
def test_an_error_comes_whole_from_another_process(memory: Memory, statement: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        memory.query(statement)
    sent: InvalidInputError = pickle.loads(pickle.dumps(raised.value))
    assert (type(sent), str(sent), sent.as_dict()) == (
        type(raised.value),
        str(raised.value),
        raised.value.as_dict(),
    )


class _FailingEmbedder(WordEmbedder):
    """An embedder that cannot take some texts."""

    def embed_documents(self, texts: Sequence[str]) -> Any:
        if any("poison" in text for text in texts):
            raise EmbedderError("this text is too much")
        return super().embed_documents(texts)


def test_what_is_written_and_waited_for_has_its_vectors_though_others_wait(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.write([Resource(name=f"old {n}", content=f"pear {n}") for n in range(3)])
    with Memory.open(tmp_path, embedder=_FailingEmbedder()) as memory:
        # what an embedder is to make later waits in the queue
        memory.admin.store.write(memory._writing.build([Resource(name="w", content="waits")]))
        (id,) = memory.write([Entity(name="Ann", type="person", summary="Bakes.")], wait=True)
        assert memory.write(
            [
                Entity(name="Ann", type="person", summary="Bakes bread."),
                Edge(src="a", rel_type="r", dst="b"),
            ],
            wait=True,
        ) == [id]
        # and so does what was written before there was one
        assert [len(memory.admin.store.vectors.get(id)), memory.admin.stats().pending] == [1, 4]
        assert memory.search("bread", schema="entities").records[0].record.id == id
        assert memory.write([Resource(content="Apples ripen.", uri="a.md")], wait=True)
        with pytest.raises(EmbedderError, match="too much"):
            memory.write(
                [Resource(name="good", content="plum"), Resource(name="bad", content="poison")],
                wait=True,
            )
        # written it is, and the others have their vectors
        assert memory.lookup("bad").records
        assert memory.admin.store.vectors.get(memory.lookup("good").records[0].record.id)
    with Memory.open(tmp_path / "plain", embedder="none") as memory:
        assert memory.write([Resource(content="Apples ripen.")], wait=True)


def test_moving_to_another_embedder_ends_though_a_text_is_blank(tmp_path: Path) -> None:
    def told(done: int, total: int) -> None:
        assert done <= total
        calls.append(done)
        assert len(calls) < 10

    calls: list[int] = []
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.write(
            [Resource(name="blank", content=" \n "), Resource(name="said", content="Apples ripen.")]
        )
        assert memory.admin.reembed(WordEmbedder(), told) == 1
        assert [hit.record.name for hit in memory.search("apples").records] == ["said"]
        assert memory.admin.stats().pending == 0
        assert memory.admin.check() == []


@pytest.mark.parametrize("odd", ["\ud800", "a\0b"])
def test_what_no_store_can_keep_is_refused_wherever_it_is_asked_for(
    memory: Memory, odd: str
) -> None:
    for ask in (
        lambda: memory.get_entity(odd), lambda: memory.admin.describe(odd), lambda: memory.history(odd),
        lambda: memory.forget(odd), lambda: memory.read_text("text", uri=odd), lambda: memory.lookup(odd),
        lambda: memory.read_chat([Message(speaker="A", text="hi")], uri=odd, append=True),
        lambda: memory.query_entities(Query().filter(Eq("name", odd))),
    ):  # fmt: skip
        with pytest.raises(InvalidInputError):
            ask()


def test_the_changes_in_a_history_are_those_of_what_was_asked_for(memory: Memory) -> None:
    (ann,) = memory.write([Entity(name="Ann", properties={"age": 1})])
    memory.update_entity(ann, {"age": 2})
    (note,) = memory.write([Resource(name="note", content="of Ann", parents=(ann,))])
    lineage = memory.history(note)
    assert ([step.id for step in lineage.entries], lineage.changes) == ([note, ann], [])
    lineage = memory.history(ann)
    assert [step.id for step in lineage.entries] == [ann]
    assert [change.changed for change in lineage.changes] == [
        {"properties": {"age": {"from": 1, "to": 2}}}
    ]


def test_an_edge_can_be_taken_back(memory: Memory) -> None:
    memory.write(
        [
            Edge(src="Sarah", rel_type="reports_to", dst="Tom"),
            Edge(src="Sarah", rel_type="knows", dst="Tom"),
        ]
    )
    memory.admin.delete_edge("sarah", "reports-to", "TOM")
    assert [edge.rel_type for edge in memory.get_edges("Sarah")] == ["knows"]
    with pytest.raises(NotFoundError, match="there is knows"):
        memory.admin.delete_edge("Sarah", "reports_to", "Tom")
    memory.admin.delete_edge("Sarah", "knows", "Tom")
    assert memory.lookup("Sarah", "Tom").records == [], "thin entities go with their last edge"


def test_one_edge_type_may_stand_without_a_list(memory: Memory) -> None:
    memory.write(
        [Edge(src="a", rel_type="knows", dst="b"), Edge(src="a", rel_type="likes", dst="c")]
    )
    assert [edge.dst for edge in memory.get_edges("a", edge_types="knows")] == ["b"]
    assert [node["name"] for node in memory.traverse("a", edge_types="likes").nodes] == ["a", "c"]


@pytest.mark.parametrize("limit", ["99999999999999999999", "1e99"])
def test_a_limit_beyond_any_table_is_an_error_of_the_statement(memory: Memory, limit: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        memory.sql(f"SELECT name FROM entities LIMIT {limit}")
    assert "bug" not in str(raised.value)


# -- forgetting ------------------------------------------------------------------------------------


def test_forgetting_a_document_takes_the_names_that_only_it_had(
    memory: Memory, tmp_path: Path
) -> None:
    memory.read_text(MEMO, uri="memo.md")
    memory.read_text(
        "# Other\n\nZanzibar Holdings is large. We like Zanzibar Holdings.", uri="other.md"
    )
    assert {"Marmaduke Fisk", "PLUGHXYZZY99"} <= names(memory)
    foretold = memory.forget("memo.md", dry_run=True)
    receipt = memory.forget("memo.md")
    assert receipt.verified
    assert (foretold.records, foretold.keys, foretold.edges, foretold.derived) == (
        receipt.records, receipt.keys, receipt.edges, receipt.derived
    )  # fmt: skip
    assert set(foretold.ids) == set(receipt.ids)
    assert names(memory) == {"Other", "Zanzibar Holdings"}
    assert memory.admin.check() == []
    assert b"zanzibar holdings" in on_disk(tmp_path).lower()
    assert b"PLUGHXYZZY99".lower() not in on_disk(tmp_path).lower()


def test_forgetting_a_document_leaves_whom_somebody_wrote_of(memory: Memory) -> None:
    memory.write([Entity(name="Marmaduke Fisk", type="person")])
    memory.read_text(MEMO, uri="memo.md")
    zanzibar = memory.lookup("Zanzibar Holdings").records[0]
    memory.update_entity(zanzibar.id, {"founded": 1871})
    memory.forget("memo.md")
    assert names(memory) == {"Marmaduke Fisk", "Zanzibar Holdings"}
    assert memory.get_entity(zanzibar.id).properties == {"founded": 1871}


def test_a_renamed_entity_is_found_by_both_names_and_its_edges_by_the_new_one(
    memory: Memory,
) -> None:
    (id,) = memory.write([Entity(name="Sarah Chen", type="person", aliases=("S. Miller",))])
    memory.write([Edge(src="Bob", rel_type="knows", dst=id)])
    assert memory.update_entity(id, name="Sarah Miller").aliases == ("S. Miller", "Sarah Chen")
    assert [hit.name for hit in memory.lookup("sarah chen").records] == ["Sarah Miller"]
    assert [edge.dst for edge in memory.get_edges("Bob")] == ["sarah-miller"]
    assert memory.update_entity(id, name="Sarah Chen").aliases == ("S. Miller", "Sarah Miller")
    assert [edge.dst for edge in memory.get_edges("Bob")] == ["sarah-chen"]


def test_an_entity_cannot_be_given_the_name_of_another_of_its_type(memory: Memory) -> None:
    one, other = memory.write(
        [Entity(name="Ann", type="person"), Entity(name="Bill", type="person")]
    )
    with pytest.raises(ConflictError, match="another person called 'Bill'") as refused:
        memory.update_entity(one, name="BILL")
    # the other way to be two that nobody can tell apart
    with pytest.raises(ConflictError, match="Bill"):
        memory.update_entity(memory.create_entity(Entity(name="bill", type="place")), type="person")
    assert refused.value.fields["id"] == other
    memory.write(
        [Entity(name="Paris", type="place"), Edge(src="Ann", rel_type="likes", dst="Rome")]
    )
    assert memory.update_entity(one, name="Paris").aliases == ("Ann",)
    with pytest.raises(UnknownNameError, match="nme"):
        memory.update_entity(one, nme="x")


def test_a_moment_lies_in_one_that_is_there(memory: Memory) -> None:
    day, *_ = memory.write(
        [Moment(id="day", name="Day"), Moment(id="talk", name="Talk", parent_moment="day")]
    )
    memory.write([Moment(name="later", parent_moment=day)])
    for parent in ("nowhere", "Day", "lost"):
        with pytest.raises(InvalidInputError, match="the id of no moment") as refused:
            memory.write(
                [Moment(id="lost", name="L", parent_moment=parent if parent != "lost" else "x")]
            )
        assert "first, or with it" in refused.value.remedy
    with pytest.raises(InvalidInputError, match="itself"):
        memory.write([Moment(id="self", name="S", parent_moment="self")])
    assert not memory.lookup("L", "S").records


def test_forgetting_what_is_not_known_forgets_nothing(memory: Memory) -> None:
    memory.write([Entity(name="Ann")])
    with pytest.raises(NotFoundError, match="nobody"):
        memory.forget("Ann", "nobody")
    assert names(memory) == {"Ann"}


@pytest.mark.parametrize("nothing", ["", " ", None])
def test_an_empty_name_does_not_stand_for_all_that_was_not_read(
    memory: Memory, nothing: Any
) -> None:
    memory.write([Resource(name="note", content="written, not read, so its uri is empty")])
    with pytest.raises(InvalidInputError, match="names nothing"):
        memory.forget(nothing)
    with pytest.raises(InvalidInputError):
        memory.admin.describe(nothing)
    assert memory.search_text("written").records
    with pytest.raises(InvalidInputError, match="nothing to look for"):
        memory.search_text(nothing)


# -- a day in between ------------------------------------------------------------------------------


def test_moments_are_found_in_their_window_whatever_the_zone(memory: Memory) -> None:
    tokyo = timezone(timedelta(hours=9))
    memory.create_moment(Moment(name="Early", starts_at=datetime(2025, 3, 2, 8, tzinfo=tokyo)))
    day = datetime(2025, 3, 1, tzinfo=UTC)
    assert [moment.name for moment in memory.get_moments_by_time(day, day + timedelta(days=1))] == [
        "Early"
    ]


# -- embedding -------------------------------------------------------------------------------------


class Failing(WordEmbedder):
    """One whose endpoint is down, told as its client tells it."""

    def embed_documents(self, texts: Sequence[str]) -> Any:
        raise ConnectionError("refused")


def test_what_was_written_without_an_embedder_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.write([Resource(name="kite", content="kites fly in wind")])
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        with pytest.raises(EmbedderError, match="without an embedder"):
            memory.search("kites")
        assert memory.embed_pending() == 1
        assert [hit.name for hit in memory.search("kites").records] == ["kite"]
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.write([Resource(name="sail", content="sails need wind")])
        assert memory.admin.stats().pending == 1
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        assert {hit.name for hit in memory.search("wind").records} == {"kite", "sail"}


def test_a_search_says_how_many_texts_it_could_not_see(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        memory.write([Resource(name="first", content="a first text")])
        assert memory.search("text").metadata == {}
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.write([Resource(name=f"n{i}", content=f"text number {i}") for i in range(100)])
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        assert memory.search("text").metadata == {"waiting": 100}
        memory.embed_pending()
        assert memory.search("text").metadata == {}


def test_an_embedder_that_raises_anything_fails_as_one_and_loses_no_text(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=Failing()) as memory:
        memory.write([Resource(name="a", content="alpha"), Resource(name="b", content="beta")])
        with pytest.raises(EmbedderError, match="ConnectionError: refused"):
            memory.embed_pending()
        assert memory.admin.stats().pending == 2
        assert [hit.name for hit in memory.search_text("alpha").records] == ["a"]


def test_reading_with_an_embedder_that_fails_keeps_the_report_and_what_was_read(
    tmp_path: Path,
) -> None:
    with Memory.open(tmp_path, embedder=Failing()) as memory:
        report = memory.read_text("Alpha grows.", uri="note:1")
        assert (report.resources, report.pending) == (1, 1)
        assert "ConnectionError: refused" in report.embedding_error
        assert memory.search_text("alpha").records


def test_embedding_that_stopped_in_the_background_says_why_in_the_stats(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=Failing()) as memory:
        memory.write([Resource(name="a", content="alpha")])
        until(lambda: memory.admin.stats().embedding_error)
        assert "refused" in memory.admin.stats().embedding_error


@pytest.mark.parametrize("id", [(1, 2), object, True, {}, None])
def test_what_is_no_text_is_no_id(memory: Memory, id: Any) -> None:
    for method in (
        memory.get_resource,
        memory.get_entity,
        memory.get_moment,
        memory.history,
        memory.admin.describe,
        memory.runs.list,
    ):
        with pytest.raises(InvalidInputError, match="is text, not"):
            method(id)


@pytest.mark.parametrize(
    "given", [{"count": "1"}, {"count": 2**70}, {"skip": None}, {"count": True}, {"skip": -1}]
)
def test_a_query_that_asks_for_no_number_of_records_is_refused(
    memory: Memory, given: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInputError, match="whole number"):
        memory.query_entities(Query(**given))


def test_an_error_about_half_a_surrogate_pair_can_be_written_as_json(memory: Memory) -> None:
    with pytest.raises(RemloomError) as caught:
        memory.query("LOOKUP \ud800 DEPTH x")
    assert b"\\ud800" in msgspec.json.encode(caught.value.as_dict())


def test_what_is_written_again_by_name_keeps_what_the_new_words_leave_out(memory: Memory) -> None:
    memory.write(
        [
            Entity(
                name="Sarah Chen",
                type="person",
                summary="Leads data.",
                aliases=("S.",),
                properties={"a": 1},
            )
        ]
    )
    memory.write([Entity(name="Sarah Chen", properties={"b": 2})])
    (hit,) = memory.lookup("Sarah Chen").records
    found = hit.record
    assert isinstance(found, Entity)
    assert (found.summary, found.type, found.aliases, found.properties) == (
        "Leads data.", "person", ("S.",), {"a": 1, "b": 2}
    )  # fmt: skip
    memory.write([Entity(name="Sarah Chen", type="person", summary="Leads research.")])
    assert memory.get_entity(found.id).summary == "Leads research."


def test_forgetting_reaches_what_was_derived_of_what_was_derived_and_foretells_it(
    memory: Memory,
) -> None:
    above = memory.write([Resource(name="read", content="The quince is ripe.", uri="q.md")])
    for generation in (1, 2, 3):
        derived = Resource(
            name=f"derived {generation}",
            content=f"Quince {generation}.",
            kind="synthesis",
            parents=tuple(above),
        )
        above = memory.write([derived])
    foretold = memory.forget("q.md", dry_run=True)
    assert (foretold.records, foretold.derived) == (4, 3)
    receipt = memory.forget("q.md")
    assert (receipt.records, receipt.derived, receipt.verified) == (4, 3, True)
    assert names(memory) == set()


def test_deleting_a_resource_takes_it_and_what_was_derived_from_it(memory: Memory) -> None:
    (id,) = memory.write([Resource(name="read", content="The medlar is ripe.")])
    memory.write([Resource(name="derived", content="So it is.", kind="synthesis", parents=(id,))])
    receipt = memory.delete_resource(id)
    assert (receipt.records, receipt.verified) == (2, True)
    assert names(memory) == set()


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.get_resource("\ud800"),
        lambda m: m.get_entity("\ud800"),
        lambda m: m.admin.complete("ann", limit=2**63),
        lambda m: m.search_text("ann", limit=2**63),
        lambda m: m.recall("ann", limit=2**63),
        lambda m: m.runs.records(1j),
        lambda m: m.runs.records(datetime(2026, 1, 1, tzinfo=UTC)),
        lambda m: m.runs.rollback(True),
        lambda m: m.traverse("Ann", edge_types=...),
        lambda m: m.get_edges("Ann", edge_types=[1]),
        lambda m: m.query_moments(Query().filter(StartsWith("starts_at", "2026"))),
        lambda m: m.query_resources(Query().filter(Contains("ordinal", 1))),
        lambda m: m.query_entities(Query().filter(VectorSimilar(query=[1, 2], top_k="x"))),  # type: ignore[arg-type]
        lambda m: m.query_entities(
            Query().filter(VectorSimilar(query=[1, 2], min_score=float("nan")))
        ),
    ],
)
def test_what_is_no_argument_is_refused_as_such(
    tmp_path: Path, call: Callable[[Memory], object]
) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.write([Entity(name="Ann")])
        with pytest.raises(InvalidInputError):
            call(memory)


def test_many_labels_that_nothing_has_cost_a_few_suggestions(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.write([Entity(name=f"Ann Number {number}") for number in range(50)])
        asked: list[str] = []
        search: Any = memory.admin.store.search
        names = search.names
        search.names = lambda text, spec: asked.append(text) or names(text, spec)
        answer = memory.lookup(*(f"Xyq {number % 40}" for number in range(2_000)))
        assert len(answer.metadata["missing"]) == 2_000
        assert len(asked) < 60


def test_what_was_read_is_written_only_if_nobody_else_wrote_it_meanwhile(memory: Memory) -> None:
    note = Resource(id="4b1cbb1e-0c5f-5c2c-9e4e-000000000001", name="Note", content="one")
    memory.write([note], expected={note.id: None})
    with pytest.raises(ChangedError):
        memory.write([note], expected={note.id: None})
    stored = memory.get_resource(note.id)
    memory.write([replace(stored, content="two")], expected={note.id: stored.revision})
    other = Resource(name="Other", content="not written either")
    late = [other, replace(stored, content="three")]
    with pytest.raises(ChangedError):
        memory.write(late, expected={note.id: stored.revision})
    assert memory.get_resource(note.id).content == "two"
    assert not memory.lookup("Other").records
    for wrong in (stored.updated_at, "1", True, 1.5):
        with pytest.raises(InvalidInputError, match="expected"):
            memory.write([note], expected={note.id: wrong})  # type: ignore[dict-item]
    with pytest.raises(InvalidInputError, match="expected"):
        memory.write([note], expected=[note.id])  # type: ignore[arg-type]


def test_an_entity_is_changed_and_a_text_deleted_only_as_it_was_read(memory: Memory) -> None:
    ann = memory.get_entity(memory.create_entity(Entity(name="Ann", type="person")))
    changed = memory.update_entity(ann.id, {"city": "Riga"}, expected=ann.revision)
    assert changed.revision > ann.revision
    with pytest.raises(ChangedError):
        memory.update_entity(ann.id, {"city": "Oslo"}, expected=ann.revision)
    assert memory.get_entity(ann.id) == changed
    note = memory.get_resource(memory.create_resource(Resource(content="Rain.")))
    with pytest.raises(ChangedError):
        memory.delete_resource(note.id, expected=note.revision - 1)
    assert memory.delete_resource(note.id, expected=note.revision).records == 1
    for wrong in ("1", True, 1.5):
        with pytest.raises(InvalidInputError, match="expected"):
            memory.update_entity(ann.id, expected=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "ask",
    [
        lambda memory, text: memory.recall(text),
        lambda memory, text: memory.context(text),
        lambda memory, text: memory.search_text(text),
        lambda memory, text: memory.search(text),
        lambda memory, text: memory.fuzzy(text),
        lambda memory, text: memory.query(f'SEARCH "{text}" IN resources'),
        lambda memory, text: memory.query(f'FUZZY "{text}"'),
    ],
    ids=["recall", "context", "search_text", "search", "fuzzy", "SEARCH", "FUZZY"],
)
def test_a_question_may_be_as_long_wherever_it_is_asked(
    tmp_path: Path, ask: Callable[[Memory, str], Any]
) -> None:
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        memory.write([Resource(name="notes", content="Otters swim.")])
        ask(memory, ("otters swim " * 700)[:8_000])
        with pytest.raises(InvalidInputError, match="8,000 characters, this one has 8,001"):
            ask(memory, ("otters swim " * 700)[:8_001])
