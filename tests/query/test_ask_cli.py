"""`remloom ask` against an endpoint on loopback: the seed's conversation as a user sees it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from test_ask import RECORDS, step

from endpoint import Endpoint, endpoint, said
from remloom import Memory
from remloom.serve.cli.app import program

SAID = [
    step(
        "TRAVERSE WITH LOOKUP 'sarah chen' DEPTH 0",
        memo="Goal: org. PLAN mode",
        plan=("analyze edges", "go deeper"),
    ),
    step("TRAVERSE manages WITH LOOKUP 'sarah chen'", memo="Goal: org. Step 2: depth=1"),
    step("LOOKUP 'Pricing Decision'", memo="Goal: org. Step 3: pricing"),
    step(answer="Bob Smith [2] and Alice Jones [3] work for Sarah Chen [1]; she priced [4]."),
]


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    def answer(number: int, body: dict[str, Any]) -> Any:
        return said(SAID[number])

    for variable in [name for name in os.environ if name.startswith("REMLOOM_")]:
        monkeypatch.delenv(variable)
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.write(RECORDS)
    with endpoint(answer) as served:
        for name, value in {
            "HOME": str(tmp_path), "EMBEDDER": "none", "LLM_BASE_URL": served.url, "LLM_MODEL": "tiny-1",
            "LLM_API_KEY": "secret",
        }.items():  # fmt: skip
            monkeypatch.setenv(f"REMLOOM_{name}", value)
        yield served


def run(*words: str) -> Result:
    return CliRunner().invoke(program, ["ask", *words])


def test_each_turn_is_shown_with_its_memo_then_the_answer_with_its_sources(
    served: Endpoint,
) -> None:
    done = run("Show me Sarah's organization chart")
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0] == '1. TRAVERSE WITH LOOKUP sarah chen DEPTH 0 MEMO "Goal: org. PLAN mode"'
    assert lines[1].strip() == "plan: analyze edges; go deeper"
    assert lines[2].strip() == "found 1, 3 edges"
    assert "   memo: Goal: org. Step 3: pricing" in lines
    assert "Bob Smith [2] and Alice Jones [3] work for Sarah Chen [1]; she priced [4]." in lines
    assert "Sarah Chen [1] manages Alice Jones [2], Bob Smith [3]" in lines
    assert "[4] Pricing Decision  /notes/pricing.md:9-12" in lines


def test_as_json_it_is_the_seeds_response(served: Endpoint) -> None:
    response = json.loads(run("Show me Sarah's organization chart", "--json").output)
    assert response["query"] == {
        "query_type": "traverse",
        "parameters": {
            "initial_query": "sarah chen",
            "max_depth": 0,
            "plan_memo": "Goal: org. PLAN mode",
        },
    }
    assert response["staged_plan"] == ["analyze edges", "go deeper"]
    assert [turn["memo"] for turn in response["turns"]] == [
        "Goal: org. PLAN mode", "Goal: org. Step 2: depth=1", "Goal: org. Step 3: pricing",
    ]  # fmt: skip
    assert response["tokens"] == 480


def test_without_a_model_it_says_which_setting_names_one(
    served: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REMLOOM_LLM_MODEL")
    done = run("Who is Sarah?")
    assert done.exit_code != 0
    assert "REMLOOM_LLM_MODEL" in done.output
