"""A question for all of something is asked of every part, and what was found is added up."""

from __future__ import annotations

import re
from typing import Any

import pytest

from remloom import Memory
from remloom.errors import ModelUnavailableError
from remloom.llm import LLM, Budget
from remloom.llm.contract import Request
from remloom.reader.answering import WrittenAnswer, drive
from remloom.reader.evidence import Evidence
from remloom.reader.lines import Lines
from remloom.reader.parts import asks_for_all, list_parts, rank_parts
from remloom.testing import ScriptedModel

FIRMS = ("Orrin", "Vaskel", "Tamarind", "Helmsley")
_PAYS = re.compile(r"^(\d+)\| (The firm (\w+) pays a fee of \d+ euros)", re.MULTILINE)


def ledger(rows: int = 400) -> Evidence:
    texts = []
    for row in range(rows):
        if row % 40 == 7:
            texts.append(f"The firm {FIRMS[row // 40 % 4]} pays a fee of {row} euros.")
        else:
            texts.append(
                f"On day {row} the water stood low, and nothing was sold at the weir at all."
            )
    return Evidence({"ledger": Lines("ledger.md", "ledger", texts, ())})


def find_firms(request: Request) -> list[dict[str, Any]]:
    """What a good model finds in a part."""
    return [
        {"item": firm, "first_line": int(line), "last_line": int(line), "quote": quote}
        for line, quote, firm in _PAYS.findall(request.prompt)
    ]


def ask(evidence: Evidence, model: ScriptedModel, tokens: int = 200_000) -> WrittenAnswer:
    return drive(
        list_parts("Which firms that pay fees are there?", evidence, tokens=tokens), LLM(model)
    )


def test_every_part_is_read_and_each_item_is_counted_once() -> None:
    evidence = ledger()
    model = ScriptedModel(lambda request: find_firms(request), latency=0.01)
    listed = ask(evidence, model)
    assert listed.text.startswith(
        "4 in all:\n- Orrin [Lines 8-8] [Lines 168-168] [Lines 328-328]\n"
    )
    assert [item.text for item in listed.sentences] == list(FIRMS)
    assert listed.doubts == ()
    assert evidence.unique_lines == 400
    assert model.most_at_once > 1


def test_what_the_budget_leaves_unread_is_told_and_what_matches_is_read_first() -> None:
    evidence = ledger(4000)
    listed = ask(evidence, ScriptedModel(lambda request: find_firms(request)), tokens=9_000)
    assert listed.text.startswith("At least ")
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
    assert listed.text.startswith("1 in all:")
    assert "- Zephyrine [unverified]" in listed.text
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
    assert listed.text.startswith("At least ")
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


@pytest.mark.parametrize(
    "question",
    [
        "List the parties.",
        "How many subsidiaries does it have?",
        "Name every product that is mentioned.",
        "Which payments are there?",
        "What are all the dates in it?",
        "Wie viele Verträge nennt der Bericht?",
        "Welche Fristen gibt es?",
        "Combien de parties y a-t-il?",
        "¿Cuántas partes hay?",
        "列出所有的当事人",
    ],
)
def test_questions_for_all_are_known(question: str) -> None:
    assert asks_for_all(question)


@pytest.mark.parametrize(
    "question",
    [
        "How many days' notice must be given?",
        "What happens if all parties agree?",
        "Who pays for repairs?",
        "When does the listing end?",
        "Wie viele Tage hat der Käufer?",
        "Is every party bound?",
    ],
)
def test_other_questions_are_not(question: str) -> None:
    assert not asks_for_all(question)


def test_a_reader_that_is_asked_for_all_looks_through_every_part() -> None:
    def reply(request: Request) -> Any:
        assert request.task == "read_part"
        return find_firms(request)

    (lines,) = ledger().documents.values()
    with (
        Memory.open(embedder="none", llm=ScriptedModel(reply)) as memory,
        memory.reader() as reader,
    ):
        reader.open_text("\n\n".join(lines.texts), name="ledger")
        reading = reader.ask("Which firms that pay fees are there?", budget_tokens=200_000)
    assert reading.answer.startswith("4 in all:")
    assert (reading.found, reading.coverage) == (True, {"ledger": 1.0})
    assert reading.calls > 2
