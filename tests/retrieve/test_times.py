"""Times in questions: which stretch of time each expression means, and what only looks like one."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import LITTLE, effort
from remloom.errors import InvalidInputError
from remloom.retrieve.time_expressions import find_window, words

NOW = datetime(2024, 5, 15, 15, 30, tzinfo=UTC)  # a Wednesday
PHRASES = json.loads((Path(__file__).parent / "time_phrases.json").read_text(encoding="utf-8"))
SENTENCES = (
    "{}",
    "What did Ann decide {}?",
    "{}, what changed?",
    "Tell me what Ann said {} about pricing.",
)


def _moment(text: str) -> datetime:
    """A time in UTC; nothing is the earliest there is."""
    return (datetime.fromisoformat(text) if text else datetime(1, 1, 2)).replace(tzinfo=UTC)


@pytest.mark.parametrize("group", PHRASES, ids=[group["about"] for group in PHRASES])
def test_every_phrase_means_the_time_that_is_recorded_of_it(group: dict[str, Any]) -> None:
    """`cases`: a phrase, then each stretch it means ("" is the earliest time); without any it is no
    time. A phrase is tried alone and in sentences, unless the group says that its phrases are
    `whole` questions."""
    now = datetime.fromisoformat(group["now"])
    if zone := group.get("zone"):
        now = now.replace(tzinfo=ZoneInfo(zone))
    wrong = []
    for phrase, *spans in group["cases"]:
        for sentence in SENTENCES[:1] if group.get("whole") else SENTENCES:
            window = find_window(sentence.format(phrase), now)
            found = list(window.spans) if window else []
            if found != [(_moment(start), _moment(end)) for start, end in spans]:
                wrong.append((sentence.format(phrase), [tuple(map(str, span)) for span in found]))
    assert wrong == []


def test_there_are_hundreds_of_phrases() -> None:
    cases = [case for group in PHRASES for case in group["cases"]]
    assert sum(len(case) > 1 for case in cases) >= 400
    assert sum(len(case) == 1 for case in cases) >= 100


@pytest.mark.parametrize(
    "piece",
    ["the ", "of ", "early ", "end of the ", "two days before ", "the day after the ", "from May to ", "in May and ",
     "between ", "5/", "2021-", "May, ", "Monday at ", "a few ", "the first week of "],
)  # fmt: skip
def test_phrases_in_phrases_without_end_are_read_at_once(piece: str) -> None:
    assert effort(lambda: find_window((piece * 8_000)[:7_990] + " May", NOW)) < LITTLE


@given(st.text(alphabet="0123456789/-: '.,?$aMy thefirsoflnWdkJ", max_size=60))
def test_no_question_breaks_it(question: str) -> None:
    with suppress(InvalidInputError):
        window = find_window(question, NOW)
        assert window is None or all(start < end for start, end in window.spans)


PIECES = sorted(
    words.BEGINNINGS | {"of", "in", "and", "to", "before", "after", "5", "2021", "ago", "-"}
)


@given(
    st.lists(st.sampled_from(PIECES), max_size=9),
    st.datetimes(
        min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31), timezones=st.just(UTC)
    ),
)
def test_no_sequence_of_words_of_time_breaks_it(pieces: list[str], now: datetime) -> None:
    with suppress(InvalidInputError):
        window = find_window(" ".join(pieces), now)
        assert window is None or all(start < end for start, end in window.spans)


@pytest.mark.parametrize(
    ("question", "rest", "alone"),
    [
        ("What happened last week?", "What happened?", True),
        ("Summarise May 2023", "Summarise", True),
        (
            "What did we discuss about pricing in March 2021?",
            "What did we discuss about pricing?",
            False,
        ),
    ],
)
def test_what_is_asked_besides_the_time(question: str, rest: str, alone: bool) -> None:
    window = find_window(question, NOW)
    assert window is not None
    assert (window.rest, window.alone) == (rest, alone)


def test_a_time_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="before it starts"):
        find_window("What happened between August 2022 and June 2022?", NOW)
