"""Histories: how words come into a memory, and what is said to be forgotten then.

Each history writes, reads, learns and tidies up with a memory until the three planted words are in
as many places as they can get into that way, and returns what is to be forgotten so that none of
them may be left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from remloom import Budget, Edge, Entity, Memory, Message, Moment, Resource
from remloom.errors import ModelRefusedError, RemloomError
from remloom.llm import Request
from remloom.testing.models import ScriptedReply

WORDS = ("zorbleflux", "quandrimal", "vexotherm")
WHO = "Zorbleflux Quandrimal"
SAID = f"The vexotherm of {WHO} hums at midnight, and {WHO} knows why the vexotherm hums."
MONDAY = datetime(2024, 5, 6, 9, tzinfo=UTC)

History = Callable[[Memory, Path], "list[str]"]
HISTORIES: dict[str, History] = {}


def history(function: History) -> History:
    HISTORIES[function.__name__] = function
    return function


# -- a model that repeats what it is told ----------------------------------------------------------

_DATA = re.compile(r"<(data-\w+)[^>]*>\n(.*?)\n</\1>", re.DOTALL)
_NAMES = re.compile(r"\b[A-Z][a-z]{3,}(?: [A-Z][a-z]{3,})?\b")


def reply(request: Request) -> ScriptedReply:
    """Quotes what it is asked about, so that the words get everywhere."""
    text = " ".join(part for _, part in _DATA.findall(request.prompt))
    if request.task == "entities":
        return {
            "items": [
                {"entity": n, "learning": f"{n}: {text[:150]}"}
                for n in sorted({*_NAMES.findall(text)})[:3]
            ]
        }
    if request.task == "moment":
        return {
            "items": [
                {"name": f"Talk of {text[:30]}", "summary": text[:300], "topic_tags": [text[:25]]}
            ]
        }
    if request.task == "affinity":
        return {"items": []}
    return f"It is told: {text[:400]}"


def refuse(request: Request) -> ScriptedReply:
    """Fails whatever is about the planted words, quoting them."""
    if any(word in request.prompt.casefold() for word in WORDS):
        return ModelRefusedError(f"cannot speak of {WHO} and the vexotherm")
    return reply(request)


# -- chats -----------------------------------------------------------------------------------------

_SMALL_TALK = (
    "Good morning, did the boxes arrive?", "Yes, Anna brought the boxes to Berlin.", "Then Berlin can open on Friday.",
    "Anna wants the doors painted first.", "Doors can wait, the boxes cannot.", "Let us ask Peter about the doors.",
    "Peter says the paint is dry by Thursday.", "Thursday it is, tell Anna and Peter.",
)  # fmt: skip
_OPERA = (
    "The opera sings Verdi tonight.", "Verdi again, the opera loves Verdi.", "Tickets for the opera cost little.",
    "The singers of the opera were fine.", "Verdi at the opera, with fine singers.", "Opera singers drink tea.",
)  # fmt: skip


def turns(*said: str, first: int = 0, speakers: tuple[str, ...] = ("Ann", "Ben")) -> list[Message]:
    return [
        Message(
            id=f"m{n}",
            speaker=speakers[n % len(speakers)],
            text=text,
            at=MONDAY + timedelta(minutes=n),
        )
        for n, text in enumerate(said, first)
    ]


def planted_turn(memory: Memory) -> str:
    return next(
        hit.id for hit in memory.search_text("vexotherm", limit=20).records if SAID in hit.content
    )


def chat_with(memory: Memory, place: int, *, after: int = 0) -> list[str]:
    said = [*_SMALL_TALK[:place], SAID, *_SMALL_TALK[place:]]
    cut = len(said) - after
    memory.read_chat(turns(*said[:cut]), uri="chat:team", name="Team chat")
    for n, text in enumerate(said[cut:], cut):
        memory.read_chat(turns(text, first=n), uri="chat:team", append=True)
    return [planted_turn(memory)]


@history
def the_first_turn(memory: Memory, folder: Path) -> list[str]:
    return chat_with(memory, 0)


@history
def a_turn_in_the_middle(memory: Memory, folder: Path) -> list[str]:
    return chat_with(memory, 4)


@history
def the_last_turn(memory: Memory, folder: Path) -> list[str]:
    return chat_with(memory, 8)


@history
def a_turn_that_was_appended(memory: Memory, folder: Path) -> list[str]:
    return chat_with(memory, 8, after=1)


@history
def a_turn_that_others_were_appended_to(memory: Memory, folder: Path) -> list[str]:
    return chat_with(memory, 6, after=4)


@history
def two_turns_in_a_row(memory: Memory, folder: Path) -> list[str]:
    memory.read_chat(
        turns(*_SMALL_TALK[:3], SAID, f"{WHO} again?", *_SMALL_TALK[3:]), uri="chat:team"
    )
    return [hit.id for hit in memory.search_text(WHO, limit=20).records if WHO in hit.content]


@history
def every_second_turn(memory: Memory, folder: Path) -> list[str]:
    memory.read_chat(
        turns(*(part for text in _SMALL_TALK for part in (text, SAID))), uri="chat:team"
    )
    return [
        hit.id for hit in memory.search_text("vexotherm", limit=50).records if SAID in hit.content
    ]


@history
def all_that_somebody_said(memory: Memory, folder: Path) -> list[str]:
    memory.read_chat(turns(*_SMALL_TALK[:3], speakers=("Ann", "Ben")), uri="chat:team")
    memory.read_chat(
        [Message(id="z1", speaker=WHO, text="The vexotherm hums.", at=MONDAY + timedelta(minutes=5)),
         *turns(*_SMALL_TALK[3:], first=6)],
        uri="chat:team", append=True,
    )  # fmt: skip
    return [
        hit.id
        for hit in memory.search_text("vexotherm", limit=9).records
        if hit.content.startswith("The vexotherm")
    ]


@history
def a_whole_chat(memory: Memory, folder: Path) -> list[str]:
    chat_with(memory, 4)
    memory.dreams.moments(hours=None, model=False)
    return ["chat:team"]


@history
def a_turn_of_a_chat_with_moments_by_rules(memory: Memory, folder: Path) -> list[str]:
    memory.read_chat(
        turns(*_SMALL_TALK[:4], SAID, *_SMALL_TALK[4:], *_OPERA), uri="chat:team", name="Team chat"
    )
    memory.dreams.moments(hours=None, model=False)
    return [planted_turn(memory)]


@history
def a_turn_of_a_chat_that_grew_out_of_its_moments(memory: Memory, folder: Path) -> list[str]:
    memory.read_chat(turns(*_SMALL_TALK, *_OPERA[:4], SAID), uri="chat:team", name="Team chat")
    memory.dreams.moments(hours=None, model=False)
    memory.read_chat(turns(*_OPERA, *_OPERA, first=20), uri="chat:team", append=True)
    memory.dreams.moments(hours=None, model=False)
    return [planted_turn(memory)]


@history
def a_turn_that_a_model_told_of(memory: Memory, folder: Path) -> list[str]:
    targets = chat_with(memory, 4)
    memory.dreams.moments(hours=None)
    return targets


@history
def turns_of_several_sessions(memory: Memory, folder: Path) -> list[str]:
    later = [
        Message(id=f"d{n}", speaker="Ann", text=text, at=MONDAY + timedelta(days=1, minutes=n))
        for n, text in enumerate((*_OPERA[:3], SAID))
    ]
    memory.read_chat(
        [*turns(SAID.replace("midnight", "noon"), *_SMALL_TALK), *later], uri="chat:team"
    )
    return [
        hit.id
        for hit in memory.search_text("vexotherm", limit=20).records
        if "hums at" in hit.content
    ]


# -- documents -------------------------------------------------------------------------------------

_LONG = "\n\n".join(
    f"Paragraph {n} speaks of the harbour, its boats and the tides of day {n}. " * 12
    for n in range(9)
)


@history
def a_document_of_one_chunk(memory: Memory, folder: Path) -> list[str]:
    memory.read_text(f"# Engines\n\n{SAID}", uri="notes/engines.md", at=MONDAY)
    return ["notes/engines.md"]


@history
def a_document_of_many_chunks(memory: Memory, folder: Path) -> list[str]:
    memory.read_text(
        f"# Harbour\n\n{_LONG}\n\n{SAID}\n\n{_LONG}\n\n## The {WHO}\n\n{_LONG}",
        uri="notes/harbour.md",
    )
    return ["notes/harbour.md"]


@history
def one_chunk_of_a_document(memory: Memory, folder: Path) -> list[str]:
    memory.read_text(
        f"# Harbour\n\n{_LONG}\n\n{SAID}\n\n{_LONG}", uri="notes/harbour.md", at=MONDAY
    )
    return [
        hit.id
        for hit in memory.search_text("vexotherm", limit=9).records
        if SAID[:20] in hit.content
    ]


@history
def the_chunk_with_the_heading(memory: Memory, folder: Path) -> list[str]:
    memory.read_text(
        f"# Harbour\n\nThe sea.\n\n## The vexotherm of {WHO}\n\n{_LONG}\n\n{_LONG}",
        uri="notes/h.md",
    )
    return [
        hit.id
        for hit in memory.search_text("vexotherm", limit=9).records
        if "The vexotherm of" in hit.content
    ]


@history
def the_chunk_with_the_full_name(memory: Memory, folder: Path) -> list[str]:
    short = "Later Hallbrook sailed on, and Hallbrook was seldom seen in town. "
    text = f"# Harbour\n\nCaptain Vexotherm Zorbleflux Hallbrook quandrimal came. {_LONG}\n\n{short}{_LONG}\n\n{short}"
    memory.read_text(text, uri="notes/captain.md", at=MONDAY)
    return [
        hit.id
        for hit in memory.search_text("vexotherm", limit=9).records
        if "Captain Vexotherm" in hit.content
    ]


@history
def a_document_that_was_read_again_without_them(memory: Memory, folder: Path) -> list[str]:
    memory.read_text(f"# Engines\n\n{SAID}", uri="notes/engines.md")
    memory.search_text("vexotherm")
    memory.fuzzy(WHO)
    memory.admin.optimize()
    memory.read_text("# Engines\n\nNothing hums here.", uri="notes/engines.md")
    return ["notes/engines.md"]


@history
def a_document_that_was_read_again_with_them(memory: Memory, folder: Path) -> list[str]:
    memory.read_text("# Engines\n\nNothing hums here.", uri="notes/engines.md")
    memory.read_text(f"# Engines\n\n{SAID}", uri="notes/engines.md")
    return ["notes/engines.md"]


@history
def a_document_called_by_the_name(memory: Memory, folder: Path) -> list[str]:
    memory.read_text(
        f"# {WHO}\n\nToday {WHO} met Vexotherm Smith. We like Vexotherm Smith.",
        uri="notes/who.md",
        at=MONDAY,
    )
    return ["notes/who.md"]


@history
def a_file_with_front_matter(memory: Memory, folder: Path) -> list[str]:
    file = folder / "vexotherm-notes.md"
    file.write_text(
        f"---\ntitle: On {WHO}\nauthor: {WHO}\ndate: 2024-05-06\ntags: [vexotherm]\n---\n\n{SAID}\n"
    )
    memory.read(file)
    return [str(file)]


@history
def a_document_that_was_learned(memory: Memory, folder: Path) -> list[str]:
    memory.read_text(f"# Engines\n\n{SAID}", uri="notes/engines.md", at=MONDAY)
    memory.read_text(
        "# Harbour\n\nThe engines of the harbour hum too.", uri="notes/harbour.md", at=MONDAY
    )
    memory.learn(dreams=2, period="month")
    return ["notes/engines.md"]


@history
def a_document_that_was_dreamt_of(memory: Memory, folder: Path) -> list[str]:
    for n in range(4):
        memory.read_text(
            f"# Boat {n}\n\nBoat number {n} sails on day {n}.", uri=f"notes/boat{n}.md", at=MONDAY
        )
    memory.read_text(f"# Engines\n\n{SAID}", uri="notes/engines.md", at=MONDAY)
    memory.dream(dreams=4)
    return ["notes/engines.md"]


@history
def a_long_text_that_is_kept_compressed(memory: Memory, folder: Path) -> list[str]:
    memory.write(
        [Resource(name=f"Letter of {WHO}", content=f"{SAID} " * 200, metadata={"about": WHO})]
    )
    return [f"Letter of {WHO}"]


# -- names and edges -------------------------------------------------------------------------------


@history
def an_entity_with_edges(memory: Memory, folder: Path) -> list[str]:
    memory.write([
        Entity(name=WHO, type="person", summary=SAID, properties={"hums": "vexotherm"}), Entity(name="Ann"),
        Edge(src=WHO, rel_type="knows", dst="Ann", properties={"context": SAID, "src_name": WHO}),
        Edge(src="Ann", rel_type="fears", dst=WHO, properties={"why": "the vexotherm"}),
    ])  # fmt: skip
    return [WHO]


@history
def an_entity_by_its_alias(memory: Memory, folder: Path) -> list[str]:
    memory.write(
        [
            Entity(name="Peter", aliases=(WHO, "Vexotherm")),
            Edge(src="Vexotherm", rel_type="knows", dst="Ann"),
        ]
    )
    return ["Vexotherm"]


@history
def an_entity_that_only_an_edge_knows(memory: Memory, folder: Path) -> list[str]:
    memory.write(
        [
            Entity(name="Ann"),
            Edge(src="Ann", rel_type="fears_vexotherm", dst=WHO, properties={"dst_name": WHO}),
        ]
    )
    return [WHO]


@history
def whom_an_entity_alone_knew(memory: Memory, folder: Path) -> list[str]:
    memory.write([
        Entity(name="Peter"), Entity(name="Ann"),
        Edge(src="Peter", rel_type="vexotherm_of", dst=WHO, properties={"dst_name": WHO, "why": SAID}),
        Edge(src="Peter", rel_type="knows", dst="Ann"),
    ])  # fmt: skip
    return ["Peter"]


@history
def an_edge_that_was_taken_back(memory: Memory, folder: Path) -> list[str]:
    memory.write([
        Entity(name="Ann"), Edge(src="Ann", rel_type="vexotherm_of", dst=WHO, properties={"dst_name": WHO}),
        Entity(name="Bob"),
    ])  # fmt: skip
    memory.fuzzy(WHO)
    memory.admin.optimize()
    memory.admin.delete_edge("Ann", "vexotherm_of", WHO)
    return ["Bob"]


@history
def an_entity_that_was_renamed(memory: Memory, folder: Path) -> list[str]:
    (id,) = memory.write([Entity(name=WHO, summary=SAID, type="person")])
    memory.write([Edge(src=WHO, rel_type="knows", dst="Ann")])
    memory.fuzzy(WHO)
    memory.admin.optimize()
    memory.update_entity(id, {"was": WHO}, name="Peter", summary="vexotherm")
    return [id]


# -- moments, insights, runs -----------------------------------------------------------------------


@history
def a_moment_that_somebody_wrote(memory: Memory, folder: Path) -> list[str]:
    (note,) = memory.write([Resource(name="Note", content="We met.")])
    memory.write([
        Moment(name=f"Meeting {WHO}", starts_at=MONDAY, summary=SAID, topic_tags=("vexotherm",), resource_refs=(note,)),
    ])  # fmt: skip
    return [f"Meeting {WHO}"]


@history
def notes_that_a_moment_tells(memory: Memory, folder: Path) -> list[str]:
    ids = memory.write([
        Resource(name=f"{WHO} note", content=SAID, starts_at=MONDAY),
        Resource(name="Boats", content="The boats left the harbour early.", starts_at=MONDAY + timedelta(minutes=5)),
    ])  # fmt: skip
    memory.dreams.moments(hours=None, model=False)
    return [ids[0]]


@history
def resources_that_are_alike(memory: Memory, folder: Path) -> list[str]:
    for n in range(6):
        memory.read_text(
            f"# Note {n}\n\nWith {WHO} we looked at engine {n}: the vexotherm hums.",
            uri=f"notes/{n}.md",
        )
    memory.dreams.affinity()
    return [f"notes/{n}.md" for n in range(6)]


@history
def a_summary_of_insights(memory: Memory, folder: Path) -> list[str]:
    (source,) = memory.write([Resource(name="Source", content=SAID, uri="source.md")])
    memory.write(
        [Resource(name=f"Other {n}", content=f"word{n} thing{n} item{n}") for n in range(12)]
    )
    derived = {"kind": "synthesis", "generation": 1, "trust": "derived", "parents": (source,)}
    memory.write(
        [Resource(name=f"Insight {n}", content=f"{SAID} Number {n}.", **derived) for n in range(4)]
    )
    if memory.admin.embedder is not None:
        memory.embed_pending()
        memory.dreams.consolidate()
    return ["source.md"]


@history
def insights_of_insights(memory: Memory, folder: Path) -> list[str]:
    (parent,) = memory.write([Resource(name="Source", content=SAID, uri="source.md")])
    for n in range(3):
        (parent,) = memory.write([
            Resource(name=f"Insight {n} on {WHO}", content=f"vexotherm {n}", generation=n + 1, parents=(parent,)),
        ])  # fmt: skip
    return ["source.md"]


@history
def what_a_model_refused(memory: Memory, folder: Path) -> list[str]:
    memory.read_text(f"# Engines\n\n{SAID}", uri="notes/engines.md", at=MONDAY)
    memory.read_text("# Harbour\n\nThe harbour is wide.", uri="notes/harbour.md", at=MONDAY)
    memory.admin.llm._model = type(memory._engine._model_setting)(refuse)  # type: ignore[misc, call-arg, union-attr, attr-defined]
    with suppress(RemloomError):
        memory.learn(dreams=0, period="none")
    return ["notes/engines.md"]


@history
def replies_kept_for_a_run_that_stopped(memory: Memory, folder: Path) -> list[str]:
    memory.read_text(f"# Engines\n\n{SAID}", uri="notes/a-engines.md", at=MONDAY)
    for n in range(4):
        memory.read_text(
            f"# Boat {n}\n\nBoat number {n} sails with Anna.", uri=f"notes/boat{n}.md", at=MONDAY
        )
    with suppress(RemloomError):
        memory.learn(dreams=2, budget=Budget(calls=9))
    return ["notes/a-engines.md"]


@history
def what_a_run_changed_before_it_was_rolled_back(memory: Memory, folder: Path) -> list[str]:
    targets = chat_with(memory, 4)
    run = memory.dreams.moments(hours=None, model=False).run
    memory.runs.rollback(run.id)
    memory.dreams.moments(hours=None, model=False)
    return targets


@history
def jobs_that_read_it(memory: Memory, folder: Path) -> list[str]:
    file = folder / "engines.md"
    file.write_text(f"# Engines\n\n{SAID}\n")
    memory.jobs.add("read", {"source": str(file)})
    memory.jobs.work(until_idle=True)
    return [str(file)]


def each() -> Iterator[str]:
    yield from HISTORIES
