"""SQL over lines: what is written anew of a query, what it finds, and what is refused and how."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from remloom.errors import InvalidInputError
from remloom.reader.lines.outline import Section
from remloom.reader.sql.line_columns import MARKS, LineSource
from remloom.reader.sql.tables import LineTables, Ranked

CASES = json.loads(Path(__file__).with_name("sql_cases.json").read_text())
TEXTS = [
    "# Book",
    "",
    "It begins.",
    "",
    "## Chapter XII",
    "On bounds:",
    "The LIMIT of liability",
    "and the speed limit of roads",
    "",
    "## Code",
    "    return x + 1",
    "    # done",
]


def make_source(name: str = "book", texts: list[str] = TEXTS, **fields: Any) -> LineSource:
    marks = {mark: np.zeros(len(texts), bool) for mark in MARKS}
    headings = np.array([text.startswith("#") for text in texts])
    marks |= dict.fromkeys(("is_header", "is_section_start", "is_strategic"), headings)
    marks["is_code"] = np.array([line > 9 for line in range(1, len(texts) + 1)])
    return LineSource(
        name,
        texts,
        np.array([len([word for word in text.split() if word.isalnum()]) for text in texts]),
        marks,
        **fields,
    )


def make_tables() -> LineTables:
    source = make_source(
        sections=[
            Section(title="Book", level=1, first=1, last=12, words=18, path="Book"),
            Section(
                title="Chapter XII",
                level=2,
                first=5,
                last=9,
                words=14,
                path="Book > Chapter XII",
            ),
            Section(title="Code", level=2, first=10, last=12, words=5, path="Book > Code"),
        ],
    )
    ranked = [Ranked("book", 8, 2.0), Ranked("book", 7, 1.0)]
    return LineTables([source], rank=lambda words, limit: ranked[:limit])


@pytest.fixture(scope="module")
def tables() -> Iterator[LineTables]:
    opened = make_tables()
    yield opened
    opened.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["says"])
def test_a_query_is_answered_or_refused_as_the_case_says(
    tables: LineTables, case: dict[str, Any]
) -> None:
    if "error" in case:
        with pytest.raises(InvalidInputError) as refused:
            tables.run(case["sql"])
        error = refused.value
        assert case["error"] in error.message
        assert case.get("remedy", "") in error.remedy
        if "at" in case:
            statement, position = error.fields["statement"], error.fields["position"]
            assert statement[position:].startswith(case["at"])
        return
    answer = tables.run(case["sql"])
    assert answer.sql == case.get("written", answer.sql)
    assert [list(row) for row in answer.rows] == case.get(
        "rows", [list(row) for row in answer.rows]
    )
    assert list(answer.columns) == case.get("columns", list(answer.columns))
    if "lines" in case:
        at = answer.columns.index("line_num")
        assert [row[at] for row in answer.rows] == case["lines"]
    if "fixes" in case:
        assert len(answer.fixes) == len(case["fixes"])
        for fix, words in zip(answer.fixes, case["fixes"], strict=True):
            assert words in fix
    assert not answer.truncated


def test_what_is_not_mended_runs_as_it_is(tables: LineTables) -> None:
    answer = tables.run("SELECT text FROM documents WHERE is_header", fix=False)
    assert sorted(answer.rows) == [("# Book",), ("## Chapter XII",), ("## Code",)]
    assert not answer.fixes


def test_rows_are_bounded_and_it_is_said(tables: LineTables) -> None:
    answer = tables.run("SELECT a.line_num FROM documents a, documents b", most=100)
    assert answer.row_count == 100
    assert answer.truncated
    assert not tables.run("SELECT line_num FROM documents", most=12).truncated


def test_lines_of_several_documents_are_told_apart() -> None:
    with_page = make_source("contract", ["The LIMIT of pages"], pages=[(1, 3)])
    tables = LineTables([make_source(), with_page])
    answer = tables.run("SELECT line_num, text, page FROM documents WHERE text LIKE '%LIMIT%'")
    assert answer.sql.endswith("ORDER BY doc, line_num LIMIT 50")
    assert answer.as_dicts() == [
        {
            "line_num": 7,
            "text": "The LIMIT of liability",
            "page": None,
            "doc": "book",
            "word_count": 4,
        },
        {
            "line_num": 1,
            "text": "The LIMIT of pages",
            "page": 3,
            "doc": "contract",
            "word_count": 4,
        },
    ]
    widened = tables.run("SELECT text FROM documents WHERE is_header LIMIT 1")
    assert {row["doc"] for row in widened.as_dicts()} == {"book"}
    tables.close()


def test_rows_that_were_opened_keep_their_columns() -> None:
    source = make_source(
        "rows",
        ["first", "second"],
        extras={"speaker": ["Ann", None], "turn": [1, 2], "sure": [0.5, 1], "id": [2**70, 1]},
    )
    tables = LineTables([make_source(), source], table="talk")
    answer = tables.run("SELECT speaker, turn, sure, id FROM talk WHERE doc = 'rows' ORDER BY turn")
    assert answer.rows == (("Ann", 1, 0.5, str(2**70)), (None, 2, 1.0, "1"))
    # every example calls the lines so
    answer = tables.run("SELECT text FROM documents WHERE doc = 'rows' AND text = 'first'")
    assert "FROM talk" in answer.sql
    assert answer.rows[0][0] == "first"
    tables.close()


def test_a_query_that_takes_too_long_is_stopped() -> None:
    tables = LineTables([make_source(texts=[f"line {n}" for n in range(30_000)])], seconds=0.1)
    with pytest.raises(InvalidInputError, match=r"longer than 0.1 seconds"):
        tables.run("SELECT count(*) FROM documents a, documents b WHERE a.text < b.text")
    assert tables.run("SELECT count(*) FROM documents").rows == ((30_000,),)
    tables.close()
