"""Markers say of each line what it is."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from remloom.reader.lines.markers import LineMark, mark_lines, mark_table

CASES = json.loads((Path(__file__).parent / "marker_cases.json").read_text(encoding="utf-8"))
MARKS = {
    "header": LineMark.HEADER,
    "list": LineMark.LIST_ITEM,
    "code": LineMark.CODE,
    "section": LineMark.SECTION_START,
}


@pytest.mark.parametrize("case", CASES, ids=[case["what"] for case in CASES])
def test_each_line_is_what_it_looks_like(case: dict[str, Any]) -> None:
    marks = mark_lines(case["text"].split("\n")).marks
    for name, bit in MARKS.items():
        marked = [line for line, mark in enumerate(marks, 1) if mark & bit]
        assert (name, marked) == (name, case.get(name, []))


def test_of_a_table_the_header_alone_is_marked() -> None:
    marked = mark_table(4, (1,))
    assert list(marked.marks) == [LineMark.HEADER | LineMark.SECTION_START, 0, 0, 0]
    assert not marked.headings


def test_on_a_page_a_number_sign_is_no_heading() -> None:
    texts = ["ARTICLE IV", "", "# This was made by a program", "", "text"]
    assert list(mark_lines(texts, printed=True).headings) == [0]


def test_lines_of_any_characters_are_marked() -> None:
    rng = random.Random(5)
    signs = "#*-_=~`.:;()[]{}|1IVXa§第章\ufeff \t\x0b“é一、"
    texts = ["".join(rng.choices(signs, k=rng.randrange(9))) for _ in range(5_000)]
    assert len(mark_lines(texts).marks) == 5_000


def test_no_line_takes_long_however_it_is_made() -> None:
    hard = ["A" * 50_000, "1." * 30_000, "I" * 50_000 + ".", "A a " * 20_000, "(" * 50_000]
    hard += ["1.1 " + "A " * 30_000, "# " + "#" * 50_000 + "x", "x=" * 30_000, "```" * 20_000]
    hard += ["```" + "`" * n for n in range(300)] + ["Section 1 " + "A, " * 30_000]
    assert len(mark_lines(hard).marks) == len(hard)
