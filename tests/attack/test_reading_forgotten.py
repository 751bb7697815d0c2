"""What is forgotten while it is read is in no byte of the disk afterwards, whenever that happens."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from forgetting_histories import SAID, WORDS
from test_forgotten_words import left
from tried import Counted
from write_points import tell_of_writes

from remloom import Memory
from remloom.errors import RemloomError
from remloom.llm import Request
from remloom.settings import Settings
from remloom.testing.models import ScriptedModel

pytest.importorskip("duckdb")

_LINE = 301
_STEPS = (
    # a text without the number of its line
    "SELECT max(text) AS last FROM documents",
    "SELECT sum(CAST(text AS INT)) FROM documents WHERE text >= 'The end.' AND is_code = false",
    f"SELECT line_num, text FROM documents WHERE line_num BETWEEN {_LINE} AND {_LINE} LIMIT 9",
    "",
)


def _book(line: str) -> str:
    lines = [
        f"On day {day} the water stood at {day % 7} feet, and little else." for day in range(400)
    ]
    return "\n\n".join([*lines[:150], line, *lines[150:]])


class Reading:
    """Questions to a document, during which something is forgotten at the n-th chance."""

    def __init__(self, memory: Memory, target: str, at: int | None) -> None:
        self._memory = memory
        self._target = target
        self._at = at
        self._step = 0
        self.chances = 0
        self.is_forgotten = self.is_kept = False

    def chance(self, _: object = None) -> None:
        self.chances += 1
        if self.chances - 1 == self._at:
            self.is_forgotten = True
            assert self._memory.forget(self._target).verified

    def reply(self, request: Request) -> Any:
        """Quote whatever was shown of the line."""
        quote = SAID if SAID in request.prompt else "On day 1 the water stood"
        sentence = {
            "text": f"{quote} In 99 days.",
            "first_line": _LINE,
            "last_line": _LINE,
            "quote": quote,
        }
        self.chance()
        if request.task == "read_step":
            self._step += 1
            query = _STEPS[(self._step - 1) % len(_STEPS)]
            is_last = not query
            is_list = is_last and "every" in request.prompt
            return {
                "notes": f"It says {quote}",
                "sql_query": query,
                "satisfied": is_last,
                "list_all": is_list,
            }
        if request.task == "read_part":
            return [sentence | {"item": quote}] if SAID in request.prompt else []
        if "number: 1" in request.prompt:
            return {"sentences": [sentence | {"number": 1, "text": quote}]}
        return {"found": True, "missing": "", "sentences": [sentence]}

    def run(self) -> None:
        """Ask, ask again, list, in one session that is kept; and keep an answer."""
        with self._memory.reader("book.md", "bystander.md", told=self.chance) as reader:
            for question in ("How deep was it?", "What hums?", "List every thing that hums."):
                with suppress(RemloomError):
                    reading = reader.ask(question, session="humming", budget_tokens=19_000)
                    self.chance()
                    reader.keep(reading)
                    self.is_kept = True
                self.chance()


def _tried(home: str, target: Callable[[Memory], str], at: int | None) -> Reading:
    model = ScriptedModel(lambda request: reading.reply(request))
    settings = Settings.load(home=home, llm_retries=0)
    tenant = f"reading-{at}"
    with Memory.open(embedder="none", llm=model, settings=settings, tenant=tenant) as memory:
        memory.read_text(_book("The end."), uri="bystander.md")
        memory.read_text(_book(SAID), uri="book.md")
        reading = Reading(memory, target(memory), at)
        tell_of_writes(memory, reading.chance)
        reading.run()
        if at is not None:
            assert left(home) == [], f"forgotten at chance {at}"
            assert memory.search_text("water").records
            assert not any(word in str(memory.reader().sessions()).casefold() for word in WORDS)
    return reading


def _document(memory: Memory) -> str:
    return "book.md"


def _chunk(memory: Memory) -> str:
    """The chunk that has the line."""
    (row,) = memory.sql("SELECT id FROM resources WHERE content LIKE '%vexotherm%'").rows
    return str(row[0])


@pytest.mark.parametrize("target", [_document, _chunk])
def test_what_is_forgotten_at_any_moment_of_a_reading_is_nowhere_afterwards(
    home: str, target: Callable[[Memory], str], counted: Counted, long: bool, tmp_path: Any
) -> None:
    whole = _tried(str(tmp_path / "whole"), target, None)
    assert whole.is_kept
    assert whole.chances > 40
    # the short form tries some of them
    chances = range(0, whole.chances, 1 if long else 7 if "://" in home else 3)
    for at in chances:
        reading = _tried(home, target, at)
        assert reading.is_forgotten
    counted("moments of a reading at which what is read was forgotten", len(chances))
