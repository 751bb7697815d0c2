"""Times in questions: which stretch of time each expression means, and what only looks like one."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from remloom.errors import InvalidInputError
from remloom.retrieve.times import find_window

NOW = datetime(2024, 5, 15, 15, 30, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    ("question", "start", "last"),
    [
        ("What happened yesterday?", "2024-05-14", "2024-05-14"),
        ("What happened last week?", "2024-05-06", "2024-05-12"),
        ("Who came this past weekend?", "2024-05-11", "2024-05-12"),
        ("What did we say this week?", "2024-05-13", "2024-05-19"),
        ("What did we decide last month?", "2024-04-01", "2024-04-30"),
        ("What is planned for next month?", "2024-06-01", "2024-06-30"),
        ("Where did he travel last year?", "2023-01-01", "2023-12-31"),
        ("Where did we go last summer?", "2023-06-01", "2023-08-31"),
        ("What did Ann do in spring 2021?", "2021-03-01", "2021-05-31"),
        ("Who called last Friday?", "2024-05-10", "2024-05-10"),
        ("What did Ann buy two weeks ago?", "2024-04-29", "2024-05-05"),
        ("What did Ann buy a few days ago?", "2024-05-12", "2024-05-12"),
        ("What changed in the last 3 days?", "2024-05-12", "2024-05-15"),
        ("What changed in March 2021?", "2021-03-01", "2021-03-31"),
        ("What changed in March?", "2024-03-01", "2024-03-31"),
        ("What changed in November?", "2023-11-01", "2023-11-30"),
        ("What changed in early June 2022?", "2022-06-01", "2022-06-10"),
        ("What did we decide in 2021?", "2021-01-01", "2021-12-31"),
        ("What did Ann do on May 7th, 2023?", "2023-05-07", "2023-05-07"),
        ("What did Ann do on the 7th of May 2023?", "2023-05-07", "2023-05-07"),
        ("What did Ann do on 2023-05-07?", "2023-05-07", "2023-05-07"),
        ("What did Ann do on 20 June?", "2023-06-20", "2023-06-20"),
        ("What changed between June 2022 and August 2022?", "2022-06-01", "2022-08-31"),
        ("What changed from 3 May 2022 to 5 May 2022?", "2022-05-03", "2022-05-05"),
        ("What changed since 5 May 2024?", "2024-05-05", "2024-05-15"),
        ("What changed after March 2024?", "2024-04-01", "2024-05-15"),
    ],
)
def test_an_expression_means_a_stretch_of_time(question: str, start: str, last: str) -> None:
    window = find_window(question, NOW)
    assert window is not None
    assert (window.start.date(), (window.end - timedelta(seconds=1)).date()) == (
        date.fromisoformat(start),
        date.fromisoformat(last),
    )


def test_before_a_day_means_everything_until_it() -> None:
    window = find_window("What did we know before 5 May 2023?", NOW)
    assert window is not None
    assert window.start.year == 1
    assert window.end.date() == date(2023, 5, 5)


@pytest.mark.parametrize(
    "question",
    [
        "May I see the notes?",
        "How did they march on?",
        "What do we remember?",
        "Which room is 2021?",
        "What is in summary.md?",
        "Who won on 31 February 2023?",
    ],
)
def test_what_only_looks_like_a_time_is_none(question: str) -> None:
    assert find_window(question, NOW) is None


@pytest.mark.parametrize(
    ("question", "rest", "alone"),
    [
        ("What happened last week?", "What happened?", True),
        ("Summarise May 2023", "Summarise", True),
        ("What did we discuss about pricing in March 2021?", "What did we discuss about pricing?", False),
    ],
)
def test_what_is_asked_besides_the_time(question: str, rest: str, alone: bool) -> None:
    window = find_window(question, NOW)
    assert window is not None
    assert (window.rest, window.alone) == (rest, alone)


def test_a_time_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="before it starts"):
        find_window("What happened between August 2022 and June 2022?", NOW)
