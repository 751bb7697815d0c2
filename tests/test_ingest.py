"""Documents and chats become records, once, whole, and whatever is wrong with one of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sized
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from remloom import Memory, labels
from remloom.errors import InvalidInputError, StoreFullError
from remloom.ingest import documents, ingest, pipeline
from remloom.ingest.pipeline import Items
from remloom.model import Edge, Entity, Hit, Message, Moment, ReadReport, Resource
from remloom.predicates import Query
from remloom.sources import Document, Turn, from_messages, from_text, open_source
from remloom.store.batch import Batch, Preconditions
from remloom.store.contract import Reads, Store
from remloom.store.results import Written
from remloom.store.rules import validation
from remloom.store.specs import EdgeSpec
from remloom.store.sqlite import SqliteStore

DEMO = Path(__file__).parents[1] / "examples" / "demo"
Read = Callable[..., ReadReport]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = SqliteStore(tmp_path / "memory.db")
    yield opened
    opened.close()


@pytest.fixture
def read(store: Store) -> Read:
    def update(prepare: Callable[[Reads], Items], expected: Preconditions | None) -> Written:
        def build(reads: Reads) -> Batch:
            items, removed, unlinked = prepare(reads)
            batch = validation.build(
                items, tenant="t", model="", withdrawn=removed, deleted_edges=unlinked
            )
            return msgspec.structs.replace(batch, expected=expected)

        return store.update(build)

    def reading(source: object, **options: object) -> ReadReport:
        given = open_source(source) if isinstance(source, Path | str) else source
        total = len(given) if isinstance(given, Sized) else 0
        return ingest(
            given, tenant="t", store=store, **{"update": update, "total": total, **options}
        )  # type: ignore[arg-type]

    return reading


def resources(store: Store) -> list[Resource]:
    found = store.records.query("resources", Query().order_by("uri").order_by("ordinal"))
    return [record for record in found if isinstance(record, Resource)]


def moments(store: Store) -> list[Moment]:
    return [
        record
        for record in store.records.query("moments", Query().order_by("starts_at"))
        if isinstance(record, Moment)
    ]


def one(store: Store, label: str, type: str | None = None) -> Entity:
    (found,) = (
        record
        for record in store.records.lookup([labels.key(label)])[labels.key(label)]
        if isinstance(record, Entity) and type in (None, record.type)
    )
    return found


def edges(store: Store, label: str, rel_type: str, direction: str = "out") -> list[str]:
    found = store.graph.edges(EdgeSpec([labels.key(label)], direction=direction))  # type: ignore[arg-type]
    return sorted(
        edge.dst if direction == "out" else edge.src for edge in found if edge.rel_type == rel_type
    )


def long_text(sections: int, word: str = "berth") -> str:
    body = "\n\n".join(
        f"## Part {n}\n\n" + f"Every {word} of the port is planned by hand {n}. " * 30
        for n in range(sections)
    )
    return f"# The Port\n\n{body}\n"


def test_the_demo_is_read_and_its_people_projects_and_links_hang_together(read: Read, store: Store):
    report = read(DEMO)
    assert {item.status for item in report.items} == {"read"}
    assert len(report.items) == len(list(DEMO.iterdir()))
    assert report.resources == len(resources(store))
    assert one(store, "Sarah Chen").type == "person"
    assert one(store, "project alpha").type == "project"
    assert one(store, "tidb-migration-spec").name == "TiDB Migration Specification"
    assert edges(store, "TiDB Migration Specification", "authored_by") == ["bob-smith"]
    assert edges(store, "Project Alpha Kickoff", "references") == ["tidb-migration-spec"]
    assert "project-alpha-kickoff-#1" in edges(store, "Sarah Chen", "mentions", "in")
    assert edges(store, "TiDB Migration Specification #1", "next") == [
        "tidb-migration-specification-#2"
    ]
    assert edges(store, "TiDB Migration Specification #1", "part_of") == [
        "tidb-migration-specification"
    ]


def test_reading_again_writes_nothing(read: Read, store: Store):
    first = read(DEMO)
    before = [record.updated_at for record in store.records.all()]
    again = read(DEMO)
    assert {item.status for item in again.items} == {"unchanged"}
    assert (again.resources, again.entities, again.moments, again.edges) == (0, 0, 0, 0)
    assert again.ids == first.ids
    assert [record.updated_at for record in store.records.all()] == before


def test_a_document_that_is_the_same_is_not_cut_again(
    read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "port.md"
    path.write_text(long_text(4))
    first = read(path)
    with monkeypatch.context() as patched:
        patched.setattr(documents, "outline", None)
        again = read(path)
        assert (again.items[0].status, again.ids) == ("unchanged", first.ids)
    # cut in another way, it is cut again to see, and here it is the same
    monkeypatch.setattr(pipeline, "CUT", pipeline.CUT + 1)
    assert read(path).items[0].status == "unchanged"
    path.write_text(long_text(5))
    assert read(path).items[0].status == "read"


def test_a_chunk_that_is_gone_comes_back_when_its_document_is_read_again(
    read: Read, store: Store, tmp_path: Path
):
    path = tmp_path / "port.md"
    path.write_text(long_text(4))
    first = read(path)
    store.write(validation.build([], tenant="t", model="", withdrawn=[first.ids[1]]))
    assert read(path).items[0].status == "read"
    assert read(path).ids == first.ids


@given(
    text=st.lists(
        st.sampled_from(["One ship.", "Two.\n", "\n\n", "# A\n", "  x\n", "- b\n", "港。", "```\n"])
    ).map("".join),
    data=st.data(),
)
def test_only_the_text_that_was_cut_is_its_chunks(text: str, data: st.DataObject):
    document = from_text(f"a\n{text}", uri="port.md")
    chunks = documents.outline(document, tenant="t").resources
    assert documents.is_cut_into(document, chunks)
    at = data.draw(st.integers(0, len(document.text)))
    other = data.draw(st.sampled_from(["", "q", "q\n"]))
    changed = document.text[:at] + other + document.text[at + 1 :]
    same = "".join(changed.split()) == "".join(document.text.split())
    if not same:
        assert not documents.is_cut_into(replace(document, text=changed), chunks)


def test_what_is_kept_of_a_document_tells_nothing_of_a_part_that_was_forgotten(
    read: Read, store: Store, tmp_path: Path
):
    kept = []
    for pin in ("4711", "4712"):
        path = tmp_path / "port.md"
        path.write_text(long_text(4) + f"\n## Last\n\nThe pin is {pin}. " + "It is kept. " * 40)
        first = read(path)
        store.write(validation.build([], tenant="t", model="", withdrawn=[first.ids[-1]]))
        entity = store.records.get("entities", documents.document_id(str(path)))
        assert isinstance(entity, Entity)
        kept.append(entity.properties)
    assert kept[0] == kept[1]


def test_every_chunk_can_be_traced_to_its_lines(read: Read, store: Store, tmp_path: Path):
    path = tmp_path / "port.md"
    path.write_text("---\ntitle: The Port\n---\n\n" + long_text(4))
    read(path)
    lines = path.read_text().split("\n")
    found = resources(store)
    assert len(found) > 2
    for resource in found:
        first, last = resource.metadata["lines"]
        assert "\n".join(lines[first - 1 : last]).rstrip() == resource.content
        assert resource.uri == str(path)
    assert [resource.name for resource in found] == [
        f"The Port #{n}" for n in range(1, len(found) + 1)
    ]
    assert [resource.metadata.get("heading") for resource in found[1:]] == [
        f"Part {n}" for n in range(1, len(found))
    ]


def test_a_chunk_of_a_pdf_can_be_traced_to_its_pages(read: Read, store: Store):
    said = " ".join(f"Ship {number} pays at its berth before it sails." for number in range(45))
    pages = "\n\n".join((said, said.replace("Ship", "Boat"))) + "\n\n"
    paged = Document(
        uri="/port.pdf", title="Port", text=pages, lined=False, pages=(0, len(said) + 2)
    )
    read([paged])
    hits = [Hit(record=record) for record in resources(store)]
    assert [hit.source for hit in hits] == [
        "/port.pdf#page=1",
        "/port.pdf#page=1-2",
        "/port.pdf#page=2",
    ]
    assert [(hit.pages, hit.lines) for hit in hits] == [
        ((1, 1), None),
        ((1, 2), None),
        ((2, 2), None),
    ]


def test_a_changed_file_loses_what_is_no_longer_in_it(read: Read, store: Store, tmp_path: Path):
    path = tmp_path / "port.md"
    path.write_text(long_text(4))
    before = {resource.id for resource in resources(store)} | set(read(path).ids)
    path.write_text(long_text(3) + "\nOne more remark about the port.\n")
    report = read(path)
    assert [item.status for item in report.items] == ["read"]
    after = resources(store)
    assert {resource.id for resource in after} == set(report.ids)
    assert report.resources == len(set(report.ids) - before) == 1
    assert "One more remark" in after[-1].content
    assert (
        len(
            [
                record
                for record in store.records.query("entities", Query())
                if record.type == "document"
            ]
        )
        == 1
    )  # type: ignore[union-attr]


def test_a_changed_title_or_date_is_noticed(read: Read, store: Store, tmp_path: Path):
    path = tmp_path / "a.md"
    path.write_text("---\ntitle: Old\ndate: 2024-01-01\n---\nThe text stays.")
    read(path)
    path.write_text("---\ntitle: New\ndate: 2025-01-01\n---\nThe text stays.")
    assert [item.status for item in read(path).items] == ["read"]
    (resource,) = resources(store)
    assert (resource.name, resource.starts_at) == ("New", datetime(2025, 1, 1, tzinfo=UTC))
    assert [moment.name for moment in moments(store)] == ["New"]
    assert "old" not in store.records.lookup(["old"]) or not store.records.lookup(["old"])["old"]


def test_a_dated_document_is_a_moment_too(read: Read, store: Store, tmp_path: Path):
    path = tmp_path / "a.md"
    path.write_text(
        "---\ndate: 2025-03-28\n---\n# Retrospective\n\nWe met with Sarah Chen and Sarah laughed."
    )
    read(path)
    (moment,) = moments(store)
    assert (moment.name, moment.type) == ("Retrospective", "document")
    assert moment.starts_at == datetime(2025, 3, 28, tzinfo=UTC)
    assert moment.resource_refs == (resources(store)[0].id,)
    assert moment.entity_refs == ("Sarah Chen",)


def test_an_undated_document_is_no_moment(read: Read, store: Store):
    read([from_text("Just a note.", uri="notes/1")])
    assert moments(store) == []


def test_a_document_of_one_chunk_bears_its_title_and_is_no_part_of_itself(read: Read, store: Store):
    read([from_text("# A note\n\nWe met Sarah Chen.", uri="notes/1")])
    assert resources(store)[0].name == "A note"
    assert edges(store, "A note", "part_of") == []
    assert edges(store, "A note", "mentions") == ["sarah-chen"]


def test_bad_files_are_reported_and_stop_no_other(read: Read, store: Store, tmp_path: Path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("Good text.")
    (folder / "b.pdf").write_bytes(b"not a pdf")
    (folder / "c.svgz").write_bytes(b"\x89PNG\r\n\x1a\n")
    (folder / "d.md").write_text("More good text.")
    report = read(folder)
    assert [item.status for item in report.items] == ["read", "failed", "skipped", "read"]
    assert "not a PDF" in report.items[1].reason
    assert len(resources(store)) == 2


def test_a_document_that_cannot_be_written_fails_alone(read: Read, store: Store):
    naive = Turn(message=Message(speaker="Ann", text="hello", at=datetime(2025, 1, 1)))
    bad = Document(uri="2", title="Bad", turns=(naive,))
    documents = [from_text("One.", uri="1"), bad, from_text("Three.", uri="3")]
    report = read(documents)
    assert [item.status for item in report.items] == ["read", "failed", "read"]
    assert "time zone" in report.items[1].reason
    assert [resource.content for resource in resources(store)] == ["One.", "Three."]


def test_a_full_disk_ends_the_reading(read: Read):
    def full(*_: object) -> Written:
        raise StoreFullError("no space is left")

    with pytest.raises(StoreFullError):
        read([from_text("One.", uri="1")], update=full)


def test_documents_of_one_title_are_told_apart(read: Read, store: Store, tmp_path: Path):
    for folder in ("a", "b"):
        (tmp_path / "docs" / folder).mkdir(parents=True)
        (tmp_path / "docs" / folder / "index.md").write_text(f"# Introduction\n\nAbout {folder}.")
    read(tmp_path / "docs")
    assert [resource.name for resource in resources(store)] == [
        "Introduction",
        "Introduction (index.md)",
    ]


def test_a_link_read_before_its_target_leads_to_it_afterwards(read: Read, store: Store):
    read(DEMO / "project-alpha-kickoff.md")
    read(DEMO / "tidb-migration-spec.md")
    assert one(store, "tidb-migration-spec").type == "document"
    assert not one(store, "tidb-migration-spec").thin


def test_people_of_several_documents_are_one_entity_with_every_alias(read: Read, store: Store):
    read([from_text("We met Sarah Chen. Then Sarah left with Sarah.", uri="1")])
    read([from_text("It was written by Sarah Chen. Mr. Chen did not like Chen.", uri="2")])
    assert {"Sarah", "Chen"} <= set(one(store, "Sarah Chen").aliases)
    assert one(store, "Sarah") == one(store, "Chen")


def test_progress_counts_documents(read: Read):
    seen: list[tuple[int, int]] = []
    read(DEMO, progress=lambda done, total: seen.append((done, total)))
    count = len(list(DEMO.iterdir()))
    assert seen == [(number, count) for number in range(1, count + 1)]


def test_a_category_can_be_chosen(read: Read, store: Store):
    read([from_text("Text.", uri="1")], category="minutes")
    assert resources(store)[0].category == "minutes"


def chat(*messages: tuple[str, str, float]) -> list[Message]:
    start = datetime(2025, 2, 10, 9, 0, tzinfo=UTC)
    return [
        Message(id=f"m{n}", speaker=speaker, text=text, at=start + timedelta(hours=hours))
        for n, (speaker, text, hours) in enumerate(messages, 1)
    ]


def test_a_chat_becomes_turns_sessions_and_speakers(read: Read, store: Store):
    messages = chat(
        ("Sarah Chen", "The move to TiDB " + "is planned " * 73 + "now.", 0),  # 151 words
        ("Bob Smith", "When do we start with TiDB?", 0.1),
        ("Sarah Chen", "It is done, TiDB runs.", 30),
    )
    report = read([from_messages(messages, uri="chat/team", name="Team chat")])
    assert (report.resources, report.moments) == (3, 2)
    turns = resources(store)
    assert [turn.name for turn in turns] == ["Team chat #1", "Team chat #2", "Team chat #3"]
    assert turns[1].metadata["message_ids"] == ["m2"]
    assert turns[1].metadata["speaker"] == "Bob Smith"
    assert turns[1].starts_at == messages[1].at
    assert edges(store, "Team chat #1", "spoken_by") == ["sarah-chen"]
    assert edges(store, "Team chat #1", "next") == ["team-chat-#2"]
    first, second = moments(store)
    assert (first.starts_at, first.ends_at) == (messages[0].at, messages[1].at)
    assert [person.name for person in first.present_persons] == ["Sarah Chen", "Bob Smith"]
    assert first.speakers[0].speaking_time == pytest.approx(60, abs=2)
    assert first.topic_tags == ("TiDB",)
    assert first.resource_refs == (turns[0].id, turns[1].id)
    assert second.resource_refs == (turns[2].id,)
    assert edges(store, "Team chat #3", "part_of") == sorted(["team-chat", labels.key(second.name)])


def test_a_chat_that_goes_on_adds_only_what_is_new(read: Read, store: Store):
    messages = chat(("Ann", "one", 0), ("Bob", "two", 0.1), ("Ann", "three", 20))
    read([from_messages(messages[:2], uri="chat/1")])
    report = read([from_messages(messages, uri="chat/1")])
    assert report.resources == 1
    assert len(moments(store)) == 2
    assert [turn.content for turn in resources(store)] == ["one", "two", "three"]


def test_sessions_that_the_source_tells_are_kept(read: Read, store: Store, tmp_path: Path):
    value = {
        "conversation": {
            f"session_{n}": [{"speaker": "Ann", "dia_id": f"D{n}:1", "text": "hi"}] for n in (1, 2)
        }
    }
    (tmp_path / "chat.json").write_text(json.dumps(value))
    read(tmp_path / "chat.json")
    assert sorted(moment.metadata["session"] for moment in moments(store)) == [
        "session_1",
        "session_2",
    ]


def test_a_speaker_who_is_never_named_is_an_entity_too(read: Read, store: Store):
    read([from_messages(chat(("ann_w", "hello there", 0)), uri="chat/1")])
    assert one(store, "ann_w").type == "person"


def test_empty_input_is_an_error_before_anything_is_read():
    with pytest.raises(InvalidInputError):
        from_text("", uri="x")


MEMO = """---
title: Plan
author: Quentin Zebra
---
Marmaduke Fisk met Gwendolyn Pike. Marmaduke Fisk likes [the port](port.md).
"""


def test_a_changed_document_loses_the_names_and_edges_that_are_no_longer_in_it(
    read: Read, store: Store, tmp_path: Path
):
    path = tmp_path / "plan.md"
    path.write_text(MEMO)
    read(path)
    assert edges(store, "Plan", "authored_by") == ["quentin-zebra"]
    path.write_text("---\ntitle: Plan\n---\nGwendolyn Pike decided otherwise.\n")
    read(path)
    found = store.graph.edges(EdgeSpec(["plan"], direction="out"))
    assert [(edge.rel_type, edge.dst) for edge in found] == [("mentions", "gwendolyn-pike")]
    gone = ["marmaduke-fisk", "quentin-zebra", "port"]
    assert store.records.lookup(gone) == {key: [] for key in gone}
    assert store.admin.check() == []


def test_a_retitled_document_leaves_nothing_under_its_old_title(
    read: Read, store: Store, tmp_path: Path
):
    path = tmp_path / "plan.md"
    path.write_text(MEMO)
    read(path)
    path.write_text(MEMO.replace("title: Plan", "title: Strategy"))
    read(path)
    assert edges(store, "Strategy", "mentions") == ["gwendolyn-pike", "marmaduke-fisk"]
    assert one(store, "plan.md").name == "Strategy"
    # by the name of its file
    assert [record.name for record in store.records.lookup(["plan"])["plan"]] == ["Strategy"]
    assert store.admin.check() == []


def test_a_changed_document_keeps_the_edges_that_others_made(
    read: Read, store: Store, tmp_path: Path
):
    path = tmp_path / "plan.md"
    path.write_text(MEMO)
    read(path)
    read([from_text("See [the plan](plan.md).", uri="notes/1", name="Note")])
    mine = Edge(src="Plan", rel_type="approved_by", dst="The Board")
    store.write(validation.build([mine], tenant="t", model=""))
    path.write_text("---\ntitle: Plan\ndate: 2025-01-01\n---\nGwendolyn Pike decided otherwise.\n")
    read(path)
    assert edges(store, "Plan", "approved_by") == ["the-board"]
    assert edges(store, "plan", "references", "in") == ["note"]


def test_a_name_that_somebody_wrote_of_stays_when_its_document_changes(
    read: Read, store: Store, tmp_path: Path
):
    path = tmp_path / "plan.md"
    path.write_text(MEMO)
    store.write(
        validation.build([Entity(name="Gwendolyn Pike", type="person")], tenant="t", model="")
    )
    read(path)
    store.write(
        validation.build([Entity(name="Marmaduke Fisk", summary="Told.")], tenant="t", model="")
    )
    path.write_text("---\ntitle: Plan\n---\nNobody is named.\n")
    read(path)
    assert one(store, "Marmaduke Fisk").summary == "Told."
    assert one(store, "Gwendolyn Pike").type == "person"
    assert store.records.lookup(["quentin-zebra"])["quentin-zebra"] == []


def test_documents_of_one_title_read_one_after_the_other_are_told_apart(read: Read, store: Store):
    first = from_text("# Minutes\n\nSarah Chen spoke.", uri="monday.md")
    read([first])
    read([from_text("# Minutes\n\nBob Smith spoke.", uri="tuesday.md")])
    assert [resource.name for resource in resources(store)] == ["Minutes", "Minutes (tuesday.md)"]
    assert edges(store, "Minutes", "mentions") == ["sarah-chen"]
    assert [item.status for item in read([first]).items] == ["unchanged"]


@pytest.mark.parametrize(
    "text",
    [
        "I met the Chevalier de Saint George in Paris.",
        "She wrote to the Comte de la Saint and to Lord of the May.",
        "---\nauthor: \"''\"\nyear: 99999999999999999999\n---\nA note without an author.",
        "Half of a pair: \ud800, and a word of base64: " + "Ab9_" * 20_000,
        "[a link](''.md) to a file without a name",
    ],
)
def test_a_name_that_cannot_be_a_label_is_no_name_and_costs_nothing_else(
    text: str, tmp_path: Path
) -> None:
    with Memory.open(tmp_path / "memory", embedder="none") as memory:
        report = memory.read_text(f"{text}\n\nThe pelican sleeps.", uri="''.md")
        assert report.items[0].status == "read", report.items
        assert memory.search_text("pelican").records


def test_of_several_paths_read_says_what_would_be_right(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory", embedder="none") as memory:
        for odd in (["a.md"], None, b"a.md", 7):
            with pytest.raises(InvalidInputError, match="no path of a file or folder"):
                memory.read(odd)  # type: ignore[arg-type]
