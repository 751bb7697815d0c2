"""A question for all of something is asked of every part, and what was found is added up."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from remloom import Memory
from remloom.errors import ModelUnavailableError
from remloom.llm import LLM, Budget
from remloom.llm.contract import Request
from remloom.reader.check.evidence import ShownLines
from remloom.reader.lines.lines import Lines
from remloom.reader.loop.answering import Asking, WrittenAnswer
from remloom.reader.loop.calls import Calls
from remloom.reader.loop.events import Listener, deliver
from remloom.reader.loop.listing import list_parts, rank_parts
from remloom.testing import ScriptedModel

FIRMS = ("Orrin", "Vaskel", "Tamarind", "Helmsley")
_PAYS = re.compile(r"^(\d+)\| (The firm (\w+) pays a fee of \d+ euros)", re.MULTILINE)


def ledger(rows: int = 400) -> ShownLines:
    texts = []
    for row in range(rows):
        if row % 40 == 7:
            texts.append(f"The firm {FIRMS[row // 40 % 4]} pays a fee of {row} euros.")
        else:
            texts.append(
                f"On day {row} the water stood low, and nothing was sold at the weir at all."
            )
    return ShownLines({"ledger": Lines("ledger.md", "ledger", texts, ())})


def find_firms(request: Request) -> list[dict[str, Any]]:
    """What a good model finds in a part."""
    return [
        {"item": firm, "first_line": int(line), "last_line": int(line), "quote": quote}
        for line, quote, firm in _PAYS.findall(request.prompt)
    ]


def drive(asking: Asking[WrittenAnswer], llm: LLM) -> WrittenAnswer:
    return deliver(Calls(llm).make(asking, next(asking)), Listener(None))


def ask(evidence: ShownLines, model: ScriptedModel, tokens: int = 200_000) -> WrittenAnswer:
    return drive(
        list_parts("Which firms that pay fees are there?", evidence, tokens=tokens), LLM(model)
    )


def test_every_part_is_read_and_each_item_is_counted_once() -> None:
    evidence = ledger()
    model = ScriptedModel(lambda request: find_firms(request), latency=0.01)
    listed = ask(evidence, model)
    assert listed.text.startswith(
        "Found in every part, 4 items:\n- Orrin [Lines 8-8] [Lines 168-168] [Lines 328-328]\n"
    )
    assert [item.text for item in listed.sentences] == list(FIRMS)
    assert listed.doubts == ()
    assert evidence.unique_lines == 400
    assert model.most_at_once > 1


def test_what_the_budget_leaves_unread_is_told_and_what_matches_is_read_first() -> None:
    evidence = ledger(4000)
    listed = ask(evidence, ScriptedModel(lambda request: find_firms(request)), tokens=9_000)
    assert listed.text.startswith("Found in the parts that were read, ")
    assert listed.found
    (doubt,) = listed.doubts
    assert "were not read: there may be more" in doubt
    best = rank_parts("firm fee", {"x": Lines("x", "x", [*["water"] * 3000, "the firm's fee"], ())})
    assert best[0].last == 3001


def test_an_item_that_is_not_in_the_lines_is_marked_and_not_counted() -> None:
    wrong = {
        "item": "Zephyrine",
        "first_line": 1,
        "last_line": 1,
        "quote": "The firm Zephyrine pays",
    }
    listed = ask(ledger(20), ScriptedModel(lambda request: [*find_firms(request), wrong]))
    assert listed.text.startswith("Found in every part, 1 item:")
    assert "- Zephyrine [doubtful]" in listed.text
    assert listed.doubts[0].startswith("'Zephyrine': ")


def test_without_items_it_says_what_was_searched() -> None:
    listed = ask(ledger(20), ScriptedModel(lambda request: []))
    assert not listed.found
    assert listed.text.startswith("What was read does not answer this. Searched for “firms”")
    assert "Read: 100% of ledger." in listed.text


def test_a_part_that_fails_is_a_doubt_and_all_that_fail_are_an_error() -> None:
    def fail_once(request: Request) -> Any:
        is_first = "1| On day 0" in request.prompt
        return ModelUnavailableError("busy") if is_first else find_firms(request)

    evidence = ledger()
    asking = list_parts("List the firms.", evidence, tokens=200_000)
    from remloom.settings import Settings

    listed = drive(asking, LLM(ScriptedModel(fail_once), settings=Settings(llm_retries=0)))
    assert listed.found
    assert listed.text.startswith("Found in the parts that were read, ")
    assert "busy" in listed.doubts[-1]
    down = LLM(
        ScriptedModel(lambda _: ModelUnavailableError("down")), settings=Settings(llm_retries=0)
    )
    with pytest.raises(ModelUnavailableError):
        drive(list_parts("List the firms.", ledger(), tokens=200_000), down)


def test_a_budget_that_ends_meanwhile_leaves_parts_unread() -> None:
    llm = LLM(ScriptedModel(lambda request: find_firms(request)))
    with llm.run("r", Budget(calls=1)) as within:
        listed = drive(list_parts("List the firms.", ledger(), tokens=200_000), within)
    assert "were not read" in listed.doubts[-1]


COMPANY = [
    "# Annual report",
    "The company has 2,300 employees in eleven countries.",
    "The head office is in Lyon.",
    "The plant in Graz opened in 1998.",
]


def said(text: str, line: int, *, list_all: bool = False) -> dict[str, Any]:
    """A reply to `read_answer`."""
    sentence = {"text": text, "first_line": line, "last_line": line, "quote": COMPANY[line - 1]}
    return {"sentences": [sentence], "missing": "", "found": True, "list_all": list_all}


@pytest.fixture(autouse=True)
def home_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMLOOM_HOME", str(tmp_path))


@pytest.mark.parametrize("lines", [4, 4_000])
@pytest.mark.parametrize(
    "question",
    [
        "How many employees does the company have?",
        "How many people work there?",
        "Give me the number of all employees.",
        "Wie viele Mitarbeiter hat das Unternehmen?",
        "Combien de salariés compte la société ?",
    ],
)
def test_a_number_that_the_text_states_is_the_answer_and_no_lines_are_counted(
    question: str, lines: int
) -> None:
    def reply(request: Request) -> Any:
        if request.task == "read_step":
            return {"sql_query": "", "satisfied": True, "list_all": False}
        assert request.task == "read_answer"
        return said("The company has 2,300 employees.", 2)

    filler = [f"On day {day} the presses ran for {day % 9} hours." for day in range(lines - 4)]
    with (
        Memory.open(embedder="none", llm=ScriptedModel(reply)) as memory,
        memory.reader() as reader,
    ):
        reader.open_text("\n".join([*COMPANY, *filler]), name="report")
        reading = reader.ask(question)
    assert reading.answer == "The company has 2,300 employees. [Lines 2-2]"
    assert reading.calls <= 2
    assert reading.doubts == ()


def test_a_list_says_how_many_items_it_has_and_not_how_many_there_are() -> None:
    """Even of a model that has a stated number looked for in every part."""

    def reply(request: Request) -> Any:
        if request.task == "read_answer":
            return said("The company has 2,300 employees.", 2, list_all=True)
        item = {"item": "2,300 employees", "first_line": 2, "last_line": 2, "quote": COMPANY[1]}
        return [item]

    with (
        Memory.open(embedder="none", llm=ScriptedModel(reply)) as memory,
        memory.reader() as reader,
    ):
        reader.open_text("\n".join(COMPANY), name="report")
        reading = reader.ask("How many employees does the company have?")
    assert reading.answer == "Found in every part, 1 item:\n- 2,300 employees [Lines 2-2]"


def test_a_list_that_the_budget_does_not_allow_leaves_the_answer_with_a_doubt() -> None:
    def reply(request: Request) -> Any:
        assert request.task == "read_answer"
        return said("The company has 2,300 employees.", 2, list_all=True)

    filler = [f"On day {day} the presses ran for {day % 9} hours." for day in range(600)]
    with (
        Memory.open(embedder="none", llm=ScriptedModel(reply)) as memory,
        memory.reader() as reader,
    ):
        reader.open_text("\n".join([*COMPANY, *filler]), name="report")
        reading = reader.ask("List every plant.", budget_tokens=14_000, turns=0)
    assert reading.answer == "The company has 2,300 employees. [Lines 2-2]"
    assert "the budget is too small: there may be more" in reading.doubts[-1]


def test_where_the_model_says_so_every_part_is_looked_through() -> None:
    def reply(request: Request) -> Any:
        if request.task == "read_answer":
            return {"sentences": [], "missing": "", "found": False, "list_all": True}
        assert request.task == "read_part"
        return find_firms(request)

    (lines,) = ledger().documents.values()
    with (
        Memory.open(embedder="none", llm=ScriptedModel(reply)) as memory,
        memory.reader() as reader,
    ):
        reader.open_text("\n\n".join(lines.texts), name="ledger")
        reading = reader.ask("Which firms that pay fees are there?", budget_tokens=200_000)
    assert reading.answer.startswith("Found in every part, 4 items:")
    assert (reading.found, reading.coverage) == (True, {"ledger": 1.0})
    assert reading.calls > 2
