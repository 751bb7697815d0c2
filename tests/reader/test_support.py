"""What is told of a sentence and the lines that it cites: what is checked, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.quality.everyday_lies import describe
from hypothesis import given, settings
from hypothesis import strategies as st

from remloom.reader.support import Basis, doubts

TERM = "The term shall commence on July 19, 1999, and in no event run beyond the season."
FEE = "The Principal shall pay the Company a fee of $1.00 per tonne, inclusive of VAT."
NOTICE = "Notice is served at least 65 days prior to the end of the Initial Term."
FERRY = "The ferry to Vis leaves at 06:40, the last one back at 9 p.m."
SAMPLES = "None of the twelve samples contained lead; the missing ones were sent on Tuesday."


def _doubts(sentence: str, scope: str) -> list[str]:
    return doubts(sentence, Basis(scope=scope, cited=scope))


@pytest.mark.parametrize(
    ("sentence", "scope"),
    [
        ("Notice must be served 65 days before the end of the Initial Term.", NOTICE),
        ("The fee is one US dollar per tonne, VAT included.", FEE),
        ("The Company gets a fee of USD 1.00 per tonne.", FEE),
        ("The term begins on 19 July 1999.", TERM),
        ("The term ends with the 5th anniversary.", "It ends with the fifth anniversary."),
        ("The Vis ferry departs at 6:40 a.m.", FERRY),
        ("One can return from Vis until 21:00.", FERRY),
        ("All twelve samples were free of lead.", SAMPLES),
        (
            "Neither party is liable for damages.",
            "In no event shall either party be liable for damages.",
        ),
        ("The deposit is not refundable at all.", "The deposit is non-refundable."),
        ("The samples that were missing followed on Tuesday.", SAMPLES),
    ],
)
def test_what_is_said_in_other_words_is_not_doubted(sentence: str, scope: str) -> None:
    assert _doubts(sentence, scope) == []


@pytest.mark.parametrize(
    ("sentence", "scope", "doubt"),
    [
        ("Notice is served at least 65 weeks before the end.", NOTICE, "'65 weeks' is not in"),
        ("The fee is two dollars per tonne.", FEE, "'two dollars' is not in"),
        ("The term begins on 19 June 1999.", TERM, "'19 June 1999' is not in"),
        ("The ferry to Vis leaves at 18:40.", FERRY, "'18:40' is not in"),
        ("The last one leaves at 9 a.m.", FERRY, "'9 a.m.' is not in"),
        ("The ferry to Hvar leaves at 06:40.", FERRY, "'Hvar' is not in"),
        ("The Company shall pay the Company a fee.", FEE, "says 'company' where they say 'princi"),
        ("Many of the twelve samples contained lead.", SAMPLES, "but for a 'not'"),
        (
            "None of the twelve samples contained zinc.",
            SAMPLES,
            "says 'zinc' where they say 'lead'",
        ),
        ("The ferry to Vis arrives at 06:40.", FERRY, "says 'arrives' where they say 'leaves'"),
    ],
)
def test_another_number_date_time_name_or_word_is_doubted(
    sentence: str, scope: str, doubt: str
) -> None:
    assert doubt in "; ".join(_doubts(sentence, scope))


def test_what_only_says_the_question_again_has_to_stand_in_the_lines() -> None:
    lines = "4.2 The delivery of any notice hereunder will be deemed to constitute a warranty."
    basis = Basis(scope=lines, cited=lines, question="Who audits the books of the parties?")
    assert doubts("The parties may audit the books of the parties.", basis)
    assert not doubts("The delivery of a notice is a warranty.", basis)


def test_the_page_says_how_many_everyday_lies_pass() -> None:
    page = Path(__file__).parents[2] / "docs" / "reader.md"
    assert "\n".join(describe()) in page.read_text(encoding="utf-8")


_WORDS = ["harbour", "captain", "lantern", "orchard", "silver", "winter", "garden", "letter"]


@settings(max_examples=80, deadline=None)
@given(words=st.lists(st.sampled_from(_WORDS), min_size=5, max_size=8, unique=True), data=st.data())
def test_one_word_replaced_in_a_copy_is_doubted_and_the_copy_is_not(
    words: list[str], data: st.DataObject
) -> None:
    line = " ".join(words)
    at = data.draw(st.integers(0, len(words) - 1))
    new = data.draw(st.sampled_from(["kettle", "bridge", "Brücke", "märchen"]))
    changed = " ".join([*words[:at], new, *words[at + 1 :]])
    assert _doubts(line, line) == []
    assert f"says {new.casefold()!r} where they say {words[at]!r}" in "; ".join(
        _doubts(changed, line)
    )
