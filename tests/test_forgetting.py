"""What forgetting does to what was made of the forgotten, as somebody sees it who goes on with the
memory."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from remloom import Edge, Entity, Memory, Message, Moment, Person, Resource, Speaker
from remloom.errors import NotFoundError
from remloom.ingest import remake
from remloom.model import EXTRACTED
from remloom.store.forgetting import remaining_words
from remloom.store.forgetting.forget import forget
from remloom.store.rules import validation
from remloom.store.rules.merge import merge_entity
from steps import steps

MONDAY = datetime(2024, 5, 6, 9, tzinfo=UTC)
SAID = [f"Turn {n} is about subject{n}, said Anna." for n in range(9)]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder="none") as memory:
        yield memory


def chat(*places: int) -> list[Message]:
    return [
        Message(
            speaker="Ann" if n % 2 else "Ben",
            text=SAID[n],
            id=f"m{n}",
            at=MONDAY + timedelta(minutes=n),
        )
        for n in places
    ]


def told(memory: Memory) -> tuple[object, object]:
    """The turns with their contexts, and the sessions, as they are without ids and numbers."""
    turns = [
        (r.content, r.context, r.related_entities)
        for r in memory.admin.store.records.chunks("chat")
    ]
    moments = [
        (
            m.starts_at,
            m.ends_at,
            m.speakers,
            m.present_persons,
            m.topic_tags,
            m.entity_refs,
            len(m.resource_refs),
        )
        for m in memory.admin.store.records.all("moments")
        if isinstance(m, Moment)
    ]
    return turns, moments


@pytest.mark.parametrize("gone", [(0,), (4,), (8,), (3, 4), (2, 4, 6), (0, 1, 2), (0, 2, 4, 6, 8)])
def test_a_chat_without_turns_is_as_if_never_read(
    memory: Memory, tmp_path: Path, gone: tuple[int, ...]
) -> None:
    memory.read_chat(chat(*range(9)), uri="chat")
    ids = [
        turn.id
        for turn in memory.admin.store.records.chunks("chat")
        if int(turn.metadata["message_ids"][0][1:]) in gone
    ]
    assert memory.forget(*ids).verified
    with Memory.open(tmp_path / "other", embedder="none") as other:
        other.read_chat(chat(*(n for n in range(9) if n not in gone)), uri="chat")
        assert told(memory) == told(other)
    left = memory.admin.store.records.chunks("chat")
    for turn, following in itertools.pairwise(left):
        edges = memory.get_edges(turn.name, edge_types=["next"])
        assert [edge.properties["dst_name"] for edge in edges] == [following.name]
    assert memory.admin.check() == []


def test_a_chat_goes_on_after_a_turn_of_it_was_forgotten(memory: Memory) -> None:
    memory.read_chat(chat(*range(5)), uri="chat")
    memory.forget(memory.admin.store.records.chunks("chat")[3].id)
    memory.read_chat(chat(5, 6), uri="chat", append=True)
    turns = memory.admin.store.records.chunks("chat")
    assert [turn.content for turn in turns] == [SAID[n] for n in (0, 1, 2, 4, 5, 6)]
    assert not any("subject3" in turn.context for turn in turns)
    assert SAID[4] in turns[4].context
    assert memory.search_text("subject3").records == []


def test_what_was_derived_goes_with_all_that_was_derived_from_it(memory: Memory) -> None:
    (id,) = memory.write([Resource(name="Source", content="read")])
    other, *_ = memory.write([Resource(name="Other", content="read too")])
    ids = [id]
    for n in range(3):
        (child,) = memory.write(
            [Resource(name=f"Insight {n}", content=f"i{n}", generation=n + 1, parents=(ids[-1],))]
        )
        ids.append(child)
    assert set(memory.forget(id, dry_run=True).ids) == set(ids)
    receipt = memory.forget(id)
    assert (set(receipt.ids), receipt.derived) == (set(ids), 3)
    assert memory.get_resource(other).name == "Other"


def test_an_entity_written_again_by_name_keeps_its_summary_and_takes_a_new_one() -> None:
    old = Entity(id="e", name="Sarah", summary="Leads.", aliases=("S",), properties={"a": 1})
    kept = merge_entity(old, Entity(id="x", name="Sarah", properties={"b": 2}))
    assert (kept.id, kept.summary, kept.aliases, kept.properties) == (
        "e",
        "Leads.",
        ("S",),
        {"a": 1, "b": 2},
    )
    assert merge_entity(old, Entity(id="x", name="Sarah", summary="Left.")).summary == "Left."


def test_forgetting_a_document_called_like_a_person_in_it_leaves_nobody_whom_it_alone_named(
    memory: Memory,
) -> None:
    memory.read_text(
        "# Mira Okonkwo\n\nToday Mira Okonkwo met Tobias Lindqvist. We like Tobias Lindqvist.",
        uri="a.md",
    )
    memory.read_text("# Other\n\nWe saw Ines Duarte. We like Ines Duarte.", uri="b.md")
    assert memory.forget("a.md").verified
    assert memory.lookup("Mira Okonkwo", "Tobias Lindqvist").records == []
    assert memory.lookup("Ines Duarte").records


def test_a_person_of_that_name_whom_somebody_wrote_of_stays_without_what_the_document_said(
    memory: Memory,
) -> None:
    memory.write(
        [
            Entity(name="Mira Okonkwo", type="person"),
            Edge(src="Mira Okonkwo", rel_type="knows", dst="Bo"),
        ]
    )
    memory.read_text(
        "# Mira Okonkwo\n\nToday Mira Okonkwo met Tobias Lindqvist. We like Tobias Lindqvist.",
        uri="a.md",
    )
    assert memory.forget("a.md").verified
    assert [hit.type for hit in memory.lookup("Mira Okonkwo").records] == ["person"]
    assert [edge.rel_type for edge in memory.get_edges("Mira Okonkwo")] == ["knows"]
    assert memory.lookup("Tobias Lindqvist").records == []


@pytest.mark.parametrize("long", [False, True], ids=["one chunk", "several chunks"])
def test_a_document_of_which_no_chunk_is_left_is_gone_and_so_is_whom_it_alone_named(
    memory: Memory, long: bool
) -> None:
    text = "---\nauthor: Odalys Finch\n---\nToday we met Tobias Lindqvist." + long * (
        "\n\nMany more words. " * 500
    )
    memory.read_text(text, uri="a.md", name="Travel notes")
    memory.read_text("We saw Ines Duarte.", uri="b.md", name="Other notes")
    chunks = memory.admin.store.records.chunks("a.md")
    assert (len(chunks) > 1) == long
    for chunk in chunks:
        assert memory.lookup("Travel notes").records
        assert memory.delete_resource(chunk.id).verified
    assert memory.lookup("Travel notes", "a.md", "Tobias Lindqvist", "Odalys Finch").records == []
    assert memory.lookup("Other notes", "Ines Duarte").records
    memory.read_text(text, uri="a.md", name="Travel notes")
    assert memory.lookup("Tobias Lindqvist").records


def test_a_chat_of_which_no_turn_is_left_is_gone(memory: Memory) -> None:
    memory.read_chat(chat(*range(3)), uri="chat", name="Standup")
    assert memory.forget(*(turn.id for turn in memory.admin.store.records.chunks("chat"))).verified
    assert memory.lookup("Standup", "Ann", "Ben").records == []
    assert memory.admin.stats().records == {"resources": 0, "entities": 0, "moments": 0}


def test_the_sweep_looks_where_edges_of_a_name_that_stays_lead(memory: Memory) -> None:
    (id,) = memory.write(
        [Resource(name="Harbour", content="Quexil Draymoor lives here."), Entity(name="Harbour")]
    )[:1]
    memory.write(
        [
            Entity(name="Quexil Draymoor", properties={EXTRACTED: True}),
            Edge(src="Harbour", rel_type="near", dst="Quexil Draymoor"),
        ]
    )
    receipt = memory.forget(id)
    assert not receipt.verified
    assert any("quexil" in line for line in receipt.remaining)


def test_names_that_somebody_connected_stay(memory: Memory) -> None:
    text = "# Notes\n\nWe met Tobias Lindqvist and Ines Duarte. Then Tobias Lindqvist left Ines Duarte."
    memory.read_text(text, uri="a.md")
    memory.write([Edge(src="Tobias Lindqvist", rel_type="married_to", dst="Ines Duarte")])
    memory.forget("a.md")
    assert len(memory.lookup("Tobias Lindqvist", "Ines Duarte").records) == 2


def test_a_moment_of_ones_own_stays_without_its_reference(memory: Memory) -> None:
    keep, gone = memory.write(
        [Resource(name="a", content="kept"), Resource(name="b", content="to go")]
    )
    (id,) = memory.write(
        [Moment(name="m", summary="mine", resource_refs=(keep, gone), starts_at=MONDAY)]
    )
    memory.forget(gone)
    assert memory.get_moment(id).resource_refs == (keep,)
    assert memory.get_moment(id).summary == "mine"


def test_a_moment_by_rules_is_told_again_of_what_stays(memory: Memory) -> None:
    ids = memory.write([
        Resource(name="One", content="Apples ripen in the orchard.", starts_at=MONDAY),
        Resource(name="Two", content="Zeppelins rise above the orchard.", starts_at=MONDAY + timedelta(minutes=9)),
    ])  # fmt: skip
    memory.dreams.moments(hours=None)
    (before,) = [m for m in memory.admin.store.records.all("moments") if isinstance(m, Moment)]
    assert "Zeppelins" in before.summary
    assert memory.forget(ids[1]).verified
    after = memory.get_moment(before.id)
    assert (after.summary, after.resource_refs) == ("“Apples ripen in the orchard.”", (ids[0],))
    assert (after.starts_at, after.ends_at) == (MONDAY, MONDAY)
    memory.forget(ids[0])
    with pytest.raises(NotFoundError):
        memory.get_moment(before.id)


def test_the_sweep_says_where_words_are_left_that_nothing_remade(memory: Memory) -> None:
    memory.read_chat(chat(*range(5)), uri="chat")
    turn = memory.admin.store.records.chunks("chat")[2]

    def build(reads: object, items: object) -> validation.Batch:
        return validation.build(items, tenant="default", model="")  # type: ignore[arg-type]

    receipt = forget(memory.admin.store, [turn.id], build=build, remakes=())
    assert not receipt.verified
    assert any(", context: " in line for line in receipt.remaining)


def test_a_word_that_others_say_is_theirs(memory: Memory) -> None:
    memory.read_chat(
        [*chat(0, 1, 2), Message(speaker="Ben", text="And subject1 again.", at=MONDAY)], uri="chat"
    )
    assert memory.forget(memory.admin.store.records.chunks("chat")[1].id).verified


@pytest.mark.parametrize("apart", [timedelta(minutes=1), timedelta(hours=9)], ids=["one", "many"])
def test_nothing_of_a_turn_is_left_where_other_turns_repeat_its_sentences(
    memory: Memory, apart: timedelta
) -> None:
    said = (
        "Dinner was great",
        "It rained all day",
        "I moved to Berlin",
        "Anna likes tea",
        "My dog is old",
    )
    turns = [
        Message(
            speaker=("Ann", "Ben", "Cleo")[number % 3],
            text=f"{said[number % 5]}. {said[number // 5 % 5]}.",
            at=MONDAY + number * apart,
        )
        for number in range(40)
    ]
    memory.read_chat(turns, uri="chat")
    ids = [turn.id for turn in memory.admin.store.records.chunks("chat")]
    assert [memory.forget(id).remaining for id in ids[::2]] == [()] * 20


def test_forgetting_twice_at_once_is_one_forgetting(memory: Memory) -> None:
    from concurrent.futures import ThreadPoolExecutor

    memory.read_chat(chat(*range(9)), uri="chat")
    ids = [turn.id for turn in memory.admin.store.records.chunks("chat")]
    with ThreadPoolExecutor(4) as threads:
        done = list(threads.map(lambda id: memory.forget(id).records, ids[1:8]))
    assert sum(done) >= 7
    assert [turn.content for turn in memory.admin.store.records.chunks("chat")] == [
        SAID[0],
        SAID[8],
    ]
    assert SAID[0] in memory.admin.store.records.chunks("chat")[1].context
    assert memory.admin.check() == []


def test_counts_of_a_source_follow(memory: Memory) -> None:
    memory.read_chat(chat(*range(5)), uri="chat", name="Team")
    memory.forget(*[turn.id for turn in memory.admin.store.records.chunks("chat")[:2]])
    (itself,) = [
        hit.record for hit in memory.lookup("Team").records if isinstance(hit.record, Entity)
    ]
    assert itself.properties["turns"] == 3
    assert msgspec.json.encode(itself.properties)
    assert remake.remake(memory.admin.store, {}) == remake.Remade()


def test_what_a_document_no_longer_says_is_no_longer_told_of_it(memory: Memory) -> None:
    for n, text in enumerate(("Apples ripen here.", "Zeppelins rise here.")):
        memory.read_text(f"# Note {n}\n\n{text}", uri=f"note{n}.md")
    memory.dreams.moments(hours=None)
    (moment,) = [m for m in memory.admin.store.records.all("moments") if isinstance(m, Moment)]
    assert "Zeppelins" in moment.summary
    memory.read_text("# Note 1\n\nBoats float here.", uri="note1.md")
    assert "Zeppelins" not in memory.get_moment(moment.id).summary
    assert memory.forget("note1.md").verified
    assert memory.admin.check() == []


def test_forgetting_what_names_somebody_costs_the_same_however_many_others_do(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remloom.store.sqlite.write.erasure.SMALL", 0)
    memory.write(
        [
            Entity(
                type="person",
                name="Sarah Chen",
                aliases=("Sarah",),
                properties={EXTRACTED: True},
            )
        ]
    )
    costs, count = [], 0
    for more in (1_500, 6_000):
        names = [f"note {n}" for n in range(count, count + more)]
        count += more
        memory.write(
            [
                *(
                    Resource(name=name, uri=name, content=f"Met Sarah Chen: {name}.")
                    for name in names
                ),
                *(Edge(src=name, rel_type="mentions", dst="Sarah Chen") for name in names),
            ]
        )
        memory.forget(names[0])
        with steps(memory) as counted:
            assert memory.forget(names[1]).verified
        costs.append(counted.all)
    assert 0 < costs[1] < 1.5 * costs[0]
    assert memory.lookup("Sarah").records


def a_document_of_people(memory: Memory, count: int) -> str:
    uri = f"{count}.md"
    people = [f"Anna {chr(65 + n // 26)}ot{chr(97 + n % 26)}ova" for n in range(count)]
    paragraphs = (f"In the harbour {name} told us about old boats. " * 8 for name in people)
    memory.read_text("\n\n".join(paragraphs), uri=uri)
    assert memory.lookup(*people).metadata["missing"] == []
    return uri


def texts_of_a_moment(memory: Memory, count: int) -> str:
    uri = f"{count}.md"
    texts = [
        Resource(name=f"{uri} {n}", uri=uri, ordinal=n, content=f"Text {n}.") for n in range(count)
    ]
    ids = memory.write([*texts, Resource(name="kept", content="Kept.")])
    memory.write([Moment(name=uri, summary="mine", resource_refs=tuple(ids), starts_at=MONDAY)])
    return uri


def texts_of_one_name(memory: Memory, count: int) -> str:
    name = f"note of {count}"
    memory.write([Resource(name=name, content=f"Text {n}.") for n in range(count)])
    return name


@contextmanager
def calls() -> Iterator[list[int]]:
    """Counts calls of functions, and each item that a generator gives."""
    counted = [0]

    def count(_frame: object, event: str, _argument: object) -> None:
        counted[0] += event == "call"

    sys.setprofile(count)
    try:
        yield counted
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("made", [a_document_of_people, texts_of_a_moment, texts_of_one_name])
def test_forgetting_costs_by_how_much_is_forgotten(
    memory: Memory, made: Callable[[Memory, int], str]
) -> None:
    memory.forget(made(memory, 10))  # what is imported and prepared once
    costs = []
    for count in (100, 400):
        uri = made(memory, count)
        with steps(memory) as stepped, calls() as called:
            receipt = memory.forget(uri)
        assert receipt.records >= count
        costs.append((called[0], stepped.all))
    (calls_of_100, steps_of_100), (calls_of_400, steps_of_400) = costs
    assert calls_of_400 < 6 * calls_of_100
    assert steps_of_400 < 6 * steps_of_100


# fields that hold no words of a text: ids, kinds, and what is looked at by its id
WORDLESS = {
    # what a text replaces or amends is given as it is written, and not stored
    "resources": {
        *("id", "category", "content_hash", "language", "trust", "kind", "parents"),
        *("replaces", "amends", "reason"),
    },
    # what is known only from reading has no summary; what a user gave it is the user's
    "entities": {"id", "type", "summary"},
    "moments": {"id", "type", "resource_refs", "parent_moment"},
}


@pytest.mark.parametrize("kind", [Resource, Entity, Moment], ids=lambda kind: kind.__name__)
def test_the_sweep_reads_every_field_that_holds_words(kind: type[Any]) -> None:
    fields = {field.name: field.type for field in msgspec.structs.fields(kind)}
    people = {
        "present_persons": (Person(id="p", name="word present_persons"),),
        "speakers": (Speaker(name="word speakers"),),
    }
    texts: dict[str, Any] = {name: f"word {name}" for name, type in fields.items() if type is str}
    texts |= {name: (f"word {name}",) for name, type in fields.items() if type == tuple[str, ...]}
    texts |= {name: people[name] for name in people if name in fields}
    marks: dict[str, Any] = {
        "resources": {"uri": "word uri"},
        "entities": {"properties": {EXTRACTED: True}},
        "moments": {"metadata": {"uri": "word uri"}},
    }
    record = kind(**texts | marks[kind.schema])
    seen = {text for _, text in remaining_words.derived_texts(record)} | set(
        remaining_words.own_texts(record)
    )
    words = {name for name in texts if any(f"word {name}" in text for text in seen)}
    assert set(texts) - words == WORDLESS[kind.schema]


def test_a_receipt_tells_which_texts_and_moments_that_stay_still_say_the_name(
    memory: Memory,
) -> None:
    _, moment, *_ = memory.write([
        Entity(name="Sarah Chen", type="person", aliases=("Ms Chen",)),
        Moment(name="Lunch", summary="Ms. Chen was late.", starts_at=MONDAY),
        Entity(name="Sarah Chen Trust", type="organization"),
    ])  # fmt: skip
    said = memory.read_text("We liked the plan of sarah chen.", uri="a.md").ids
    memory.read_text("Sarah met Mr Chen.", uri="b.md")
    told = memory.forget("Sarah Chen", dry_run=True)
    assert set(told.named_in) == {*said, moment}
    receipt = memory.forget("Sarah Chen")
    assert receipt.verified
    assert set(receipt.named_in) == set(told.named_in)
    assert receipt.namings.startswith("2 records that stay say its name")
    with pytest.raises(NotFoundError, match="record says it; forget what says it") as refused:
        memory.forget("Sarah Chen")
    assert said[0] in refused.value.remedy
    assert memory.forget(*receipt.named_in).named_in == ()
    assert not memory.search_text("plan").records


def test_what_a_speaker_said_still_names_whoever_spoke(memory: Memory) -> None:
    memory.read_chat(chat(*range(4)), uri="chat")
    spoken = {
        turn.id
        for turn in memory.admin.store.records.chunks("chat")
        if turn.metadata["speaker"] == "Ann"
    }
    assert spoken <= set(memory.forget("Ann", dry_run=True).named_in)
    assert spoken <= set(memory.forget("Ann").named_in)


def test_words_that_a_forgotten_text_is_called_by_are_nobodys_name(memory: Memory) -> None:
    memory.read_text("We met in May.", uri="a.md", name="Kickoff")
    memory.read_text("The kickoff was in May.", uri="b.md", name="Retro")
    assert memory.forget("Kickoff").named_in == ()


def test_a_thing_without_names_in_texts_is_forgotten_without_a_word_of_them(memory: Memory) -> None:
    memory.write([Entity(name="Mallory")])
    receipt = memory.forget("Mallory")
    assert (receipt.named_in, receipt.namings) == ((), "")
