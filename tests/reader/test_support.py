"""What is told of a sentence and the lines that it cites, as far as the head can judge it."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remloom.heads.head import head
from remloom.reader.check.citations import Basis, doubts

# none of these stands in training/texts: kind, lines, what is falsely said of them, and the word
# that the reason has to name
LIES = [
    ("roles", "The parrot bit the vet before she could close the cage.",
     "The vet bit the parrot before he could close the cage.", "vet"),
    ("roles", "Nadia lent Bogdan her telescope for the summer.",
     "Bogdan lent Nadia his telescope for the summer.", "Nadia"),
    ("opposite", "The town council accepted the plan for the tram.",
     "The town council rejected the plan for the tram.", "rejected"),
    ("opposite", "The price of copper rose sharply in the spring.",
     "The price of copper fell sharply in the spring.", "fell"),
    ("negation", "The guarantee covers scratches on the lid.",
     "The guarantee does not cover scratches on the lid.", "not"),
    ("negation", "Guests are not allowed to smoke on the balcony.",
     "Guests are allowed to smoke on the balcony.", "not"),
    ("number", "The tunnel is 14 kilometres long and has two lanes.",
     "The tunnel is 41 kilometres long and has two lanes.", "41"),
    ("number", "Seven of the jurors voted for the longer sentence.",
     "Nine of the jurors voted for the longer sentence.", "Nine"),
    ("unit", "Stir the paint for five minutes before you use it.",
     "Stir the paint for five hours before you use it.", "hours"),
    ("unit", "The tank holds 300 litres of rain water.",
     "The tank holds 300 gallons of rain water.", "gallons"),
    ("date", "The lighthouse was automated on 8 November 1983.",
     "The lighthouse was automated on 8 December 1983.", "December"),
    ("date", "Registration closes on Tuesday at noon.",
     "Registration closes on Friday at noon.", "Friday"),
    ("quantifier", "Some of the windows face the canal.",
     "All of the windows face the canal.", "All"),
    ("quantifier", "Each of the runners got a medal and a towel.",
     "None of the runners got a medal and a towel.", "None"),
    ("name", "Ottilie Brandt designed the stage for the second act.",
     "Walburga Brandt designed the stage for the second act.", "Walburga"),
    ("name", "The samples were flown to Nairobi for analysis.",
     "The samples were flown to Kampala for analysis.", "Kampala"),
]  # fmt: skip
TRUE = [
    ("The parrot bit the vet before she could close the cage.", "The vet was bitten by the parrot."),
    ("Nadia lent Bogdan her telescope for the summer.", "Bogdan borrowed Nadia's telescope."),
    ("The town council accepted the plan for the tram.", "The council said yes to the tram."),
    ("The price of copper rose sharply in the spring.",
     "Copper became much more expensive that spring."),
    ("The guarantee covers scratches on the lid.", "A scratched lid falls under the guarantee."),
    ("Guests are not allowed to smoke on the balcony.",
     "Smoking on the balcony is forbidden to guests."),
    ("The tunnel is 14 kilometres long and has two lanes.", "There are two lanes in the tunnel."),
    ("Seven of the jurors voted for the longer sentence.",
     "The longer sentence had the votes of seven jurors."),
    ("Stir the paint for five minutes before you use it.", "Before use, the paint needs stirring."),
    ("The tank holds 300 litres of rain water.", "There is room for 300 litres of rain in the tank."),
    ("The lighthouse was automated on 8 November 1983.",
     "Since November 1983 the lighthouse has run by itself."),
    ("Registration closes on Tuesday at noon.", "One can register until Tuesday, 12 o'clock."),
    ("Some of the windows face the canal.", "The canal can be seen through some windows."),
    ("Each of the runners got a medal and a towel.", "Every runner was given a towel."),
    ("Ottilie Brandt designed the stage for the second act.",
     "The second act's stage is by Ottilie Brandt."),
    ("The samples were flown to Nairobi for analysis.", "A plane took the samples to Nairobi."),
    ("The harbour office opens at seven and closes at four.", "The harbour office opens at seven."),
    ("The committee shall publish its report within ten days of the vote.",
     "The committee publishes its report within ten days of the vote."),
    ("The dam was finished in 1931 by two local firms.",
     "Two local firms finished the dam in 1931."),
    ("The pilot had been awake for nineteen hours when the plane landed.",
     "The pilot had been awake for 19 hours."),
]  # fmt: skip


def _doubts(sentence: str, lines: str) -> list[str]:
    return doubts(sentence, Basis(scope=lines, cited=lines))


def test_of_plain_lies_four_fifths_are_doubted_with_a_reason_that_names_the_word() -> None:
    reasons = [("".join(_doubts(lie, lines)), word) for _, lines, lie, word in LIES]
    doubted = [(reason, word) for reason, word in reasons if reason]
    assert len(doubted) >= 0.8 * len(LIES)
    assert sum(word in reason for reason, word in doubted) >= 0.8 * len(doubted)


def test_of_right_paraphrases_a_quarter_at_most_are_doubted() -> None:
    doubted = [claim for lines, claim in TRUE if _doubts(claim, lines)]
    assert len(doubted) <= 0.25 * len(TRUE), doubted


@pytest.mark.parametrize("lines", [lines for _, lines, *_ in LIES])
def test_the_lines_themselves_are_never_doubted(lines: str) -> None:
    assert _doubts(lines, lines) == []
    assert _doubts(f"{lines} [notes: Lines 3-4]", lines) == []


def test_a_reason_names_the_words_that_differ_and_the_head_with_its_probability() -> None:
    (reason,) = _doubts("The board fired her in May.", "The board hired her in May.")
    version = head("support").version
    assert reason.startswith("it says 'fired' where the lines say 'hired' (")
    assert re.search(rf"\(support@{version}, 0\.\d\d\)$", reason)


def test_what_has_no_word_of_the_lines_is_doubted() -> None:
    lines = "4.2 The delivery of any notice hereunder will be deemed to constitute a warranty."
    (reason,) = _doubts("Tenants get a refund on Tuesday.", lines)
    assert reason == "the lines say nothing of 'Tenants', 'refund', 'Tuesday'"


def test_what_another_cited_sentence_says_is_judged_by_that_sentence() -> None:
    quoted = "Marcus Webb stopped the queue at 08:10."
    cited = f"{quoted} Bianca Osei informed the customers on Monday."
    basis = Basis(scope=quoted, cited=cited)
    assert doubts("Bianca Osei informed the customers on Monday.", basis) == []
    (reason,) = doubts("Bianca Osei informed the customers on Friday.", basis)
    assert "'Friday'" in reason


def test_a_word_parted_at_a_line_end_is_one_word() -> None:
    assert (
        _doubts("A royalty is due on termination fees.", "A royalty is due on termi-\nnation fees.")
        == []
    )


@pytest.mark.parametrize(
    ("sentence", "lines"),
    [
        ("The tenant has to leave the house by May.", "Der Mieter hat das Haus bis Mai zu räumen, und er ist nicht zu entschädigen."),
        ("The period of the contract is three years.", "契約の期間は三年とし、更新することができない。"),
    ],
)  # fmt: skip
def test_a_sentence_in_another_language_than_the_lines_is_not_checked(
    sentence: str, lines: str
) -> None:
    assert _doubts(sentence, lines) == ["it is in another language than the lines: not checked"]


@pytest.mark.parametrize(
    ("sentence", "lines"),
    [
        ("The term is five years.", ""),
        ("", "The term is five years."),
        ("12", "12"),
        ("12", "The term is 14 years."),
        ("12 13 14", "…"),
        ("word " * 4_000, "word other " * 40_000),
        ("9" * 9_000, "9 " * 9_000),
        ("a b " * 2_000, "b a " * 50_000),
        ("x" * 100_000, "[" * 100_000),
        (". " * 50_000, ".\n" * 50_000),
    ],
)
def test_odd_texts_are_judged_quickly(sentence: str, lines: str) -> None:
    began = time.monotonic()
    reasons = _doubts(sentence, lines)
    assert time.monotonic() - began < 5.0
    assert all(len(reason) < 500 for reason in reasons)


def test_what_is_said_of_no_lines_is_doubted() -> None:
    assert _doubts("The term is five years.", "")
    assert _doubts("12", "The term is 14 years.")


@settings(max_examples=60, deadline=None)
@given(sentence=st.text(max_size=200), scope=st.text(max_size=200), cited=st.text(max_size=200))
def test_any_text_is_judged(sentence: str, scope: str, cited: str) -> None:
    reasons = doubts(sentence, Basis(scope=scope, cited=cited))
    assert len(reasons) <= 1
    assert all(reasons)
