"""Every function of the table answers alike on both stores, whatever it is given."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from postgres_server import database
from remloom import Home, Memory, RemloomError, Resource
from remloom.sql.functions import Function, functions

TEXTS = ("name", "content", "NULL", "''", "'Ünïté  '", "metadata ->> 'none'", "'2026-02-29'")
LITERAL_TEXTS = ("''", "'a'", "' '", "'é'", "'zz'")
WHOLE = ("-900", "-2", "-1", "0", "1", "2", "3", "900")
NUMBERS = (*WHOLE, "-2.5", "0.5", "NULL", "ordinal", "metadata ->> 'page'")
TIMES = ("starts_at", "NULL", "'2024-02-29'", "ends_at")
ARGUMENTS = {
    "text": TEXTS,
    "text…": LITERAL_TEXTS,
    "integer…": WHOLE,
    "real": NUMBERS,
    "time": TIMES,
    "unit…": ("'year'", "'week'", "'hour'"),
    "json": ("metadata", "NULL", "related_entities"),
    "boolean": ("ordinal > 1", "NULL", "TRUE"),
    "same": ("name", "NULL", "'b'"),
}


@pytest.fixture(scope="module")
def memories(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Memory]]:
    folder: Path = tmp_path_factory.mktemp("functions")
    with database(postgres) as url:
        Home(url).migrate()
        with Memory.open(folder, embedder="none") as one, Memory.open(url, tenant="t", embedder="none") as other:  # fmt: skip
            for memory in (one, other):
                memory.write(_rows())
            yield [one, other]


def _rows() -> list[Resource]:
    return [
        Resource(
            id="a",
            name="Straße",
            content="aéïß漢字🍕 b",
            ordinal=3,
            metadata={"page": 2.5, "a": [1]},
            related_entities=("x",),
            starts_at=datetime(2024, 2, 29, 23, 59, 59, tzinfo=UTC),
        ),
        Resource(id="b", name="b", content="a", metadata={}),
    ]


def _calls(function: Function) -> list[str]:
    rng = random.Random(function.name)
    made = {
        f"{name}({', '.join(_arguments(function, rng))})"
        for name in (function.name, *function.aliases)
        for _ in range(24)
    }
    return sorted(made)


def _arguments(function: Function, rng: random.Random) -> list[str]:
    chosen: list[str] = []
    for parameter in function.takes:
        if parameter.endswith("?") and rng.random() < 0.4:
            break
        kind = parameter.rstrip("?")
        # what is no list is looked through as a text, and JSON is written with blanks or without
        if function.name in ("has_any", "contains") and kind in ("json", "same"):
            chosen.append("related_entities")
            continue
        if kind == "…":
            chosen += [rng.choice(TEXTS) for _ in range(rng.randrange(3))]
        else:
            chosen.append(rng.choice(ARGUMENTS[kind]))
    return chosen


@pytest.mark.parametrize("function", functions(), ids=lambda function: function.name)
def test_both_stores_answer_a_function_alike(memories: list[Memory], function: Function) -> None:
    if not function.takes:
        pytest.skip("it gives the time of the statement")
    for call in _calls(function):
        answers = [_answer(memory, f"SELECT {call} FROM resources ORDER BY id") for memory in memories]  # fmt: skip
        assert answers[0] == answers[1], call


def _answer(memory: Memory, statement: str) -> Any:
    try:
        return memory.sql(statement).rows
    except RemloomError as error:
        return type(error).__name__
