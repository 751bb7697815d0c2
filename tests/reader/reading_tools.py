"""What the tests of readings share: a book, and what can be done with it without an SQL engine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from remloom import Memory
from remloom.errors import SqlGuardError
from remloom.llm import LLM, Request
from remloom.reader.lines.chunk_lines import read_lines
from remloom.reader.lines.lines import Lines, Passage
from remloom.reader.loop.asking import DocumentAsker
from remloom.reader.loop.calls import ReadLimits
from remloom.reader.loop.events import EventStream, ReadEvent
from remloom.reader.loop.session import SessionStore
from remloom.reader.loop.strategy import ReadingStrategy, ReadTools
from remloom.reader.result import Reading, Rows
from remloom.testing.models import ScriptedModel

_BETWEEN = re.compile(r"line_num BETWEEN (\d+) AND (\d+)")


def book(chapters: int = 400) -> str:
    """A book that is too long to be read whole; the rent is in its middle, and nowhere else."""
    lines = []
    for number in range(1, chapters + 1):
        lines += [f"# Chapter {number}", ""]
        topic = "The rent is 900 euros a month." if number == chapters // 2 else "Ships sailed."
        lines += [f"Of the harbour town number {number} much was told, and little kept. {topic}"]
        lines += [f"In year {1500 + number} a storm took the mole and the light upon it.", ""]
    return "\n".join(lines)


def tools_of(memory: Memory, *uris: str, **changes: Any) -> ReadTools:
    store = memory.admin.store
    documents = {uri: read_lines(store, uri, uri) for uri in uris}

    def find(question: str, words: int) -> list[Passage]:
        wanted = set(re.findall(r"\w+", question.lower()))
        return [
            _passage(lines, number)
            for lines in documents.values()
            for number, text in enumerate(lines.texts, 1)
            if wanted & set(re.findall(r"\w{4,}", text.lower()))
        ][:5]

    given: dict[str, Any] = {"outline": lambda tokens: ("Chapter 1 (1-5)", []), "find": find}
    return ReadTools(**{"documents": documents, "queries": Ranges(documents), **given, **changes})


class Ranges:
    """Answers queries for a range of lines, and no others."""

    def __init__(self, documents: Mapping[str, Lines]) -> None:
        self._documents = documents
        self.run_so_far: list[str] = []

    def prepare(self, text: str, documents: object) -> Any:
        self._range(text)
        return Rows(sql=text)

    def run(self, text: str, documents: object) -> Rows:
        self.run_so_far.append(text)
        first, last = self._range(text)
        rows = tuple(
            (name, number, lines.texts[number - 1], lines.words(number, number))
            for name, lines in self._documents.items()
            for number in range(first, min(last, len(lines)) + 1)
        )
        return Rows(sql=text, columns=("doc", "line_num", "text", "word_count"), rows=rows)

    def _range(self, text: str) -> tuple[int, int]:
        found = _BETWEEN.search(text)
        if not found:
            raise SqlGuardError("no such column", statement=text, position=7, remedy="line_num")
        return int(found[1]), int(found[2])


def _passage(lines: Lines, number: int) -> Passage:
    text = lines.texts[number - 1]
    return Passage(
        uri=lines.uri, document=lines.uri, first=number, last=number, text=text,
        words=lines.words(number, number),
    )  # fmt: skip


def step(query: str = "", *, satisfied: bool = False, **fields: Any) -> dict[str, Any]:
    """A reply to `read_step`."""
    return {
        "thought": "reading on", "notes": "", "reading_mode": "read", "goal": "the rent",
        "sql_query": query, "satisfied": satisfied, "next_move": "answer", **fields,
    }  # fmt: skip


ANSWER = {
    "found": True, "missing": "",
    "sentences": [{
        "text": "The rent is 900 euros a month.", "document": "", "first_line": 998,
        "last_line": 998, "quote": "The rent is 900 euros a month.",
    }],
}  # fmt: skip


def scripted(
    replies: Iterable[Any], *, answer: Any = ANSWER, latency: float = 0.0
) -> ScriptedModel:
    """A model that gives these replies to `read_step`, and this one to `read_answer`."""
    steps = iter(replies)

    def reply(request: Request) -> Any:
        return next(steps) if request.task == "read_step" else answer

    return ScriptedModel(reply, latency)


def asked(model: ScriptedModel, task: str = "read_step") -> list[str]:
    """The prompts of a task so far."""
    return [request.prompt for request in model.requests if request.task == task]


def between(first: int, last: int) -> str:
    return (
        "SELECT line_num, text, word_count FROM documents "
        f"WHERE line_num BETWEEN {first} AND {last} ORDER BY line_num"
    )


def asker(memory: Memory, model: ScriptedModel, strategy: Any = None) -> DocumentAsker:
    store = memory.admin.store
    llm = LLM(model, kv=store.kv, wait=0.0)
    return DocumentAsker(llm, strategy or ReadingStrategy(), SessionStore(store))


def told(telling: EventStream[Reading]) -> tuple[list[ReadEvent], Reading]:
    """All events, and the reading that they end with."""
    events: list[ReadEvent] = []
    while True:
        try:
            events.append(next(telling))
        except StopIteration as stop:
            return events, stop.value


def ask(
    memory: Memory,
    replies: ScriptedModel | Iterable[Any],
    question: str = "What is the rent?",
    *,
    session: str | None = None,
    tools: ReadTools | None = None,
    strategy: Any = None,
    **limits: Any,
) -> tuple[list[ReadEvent], Reading, ScriptedModel]:
    model = replies if isinstance(replies, ScriptedModel) else scripted(replies)
    tools = tools or tools_of(memory, "book.md")
    telling = asker(memory, model, strategy).ask(question, tools, ReadLimits(**limits), session)
    events, reading = told(telling)
    return events, reading, model
