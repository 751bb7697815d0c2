"""What a reply must look like, so that it fits into the tokens it may take."""

from __future__ import annotations

from typing import Annotated

import msgspec
import pytest
from msgspec import Meta, Struct

from remloom.ask.agent import Step
from remloom.dream.affinity import Verdict
from remloom.dream.learn.steps import Learnings
from remloom.dream.moments.llm import MomentDrafts
from remloom.engine.recall import Paraphrased
from remloom.llm.prompts import prompt
from remloom.llm.schemas import bounded, read, schema
from remloom.retrieve.rerankers import Helpful

TASKS = {
    "affinity": Verdict,
    "ask": Step,
    "entities": Learnings,
    "moment": MomentDrafts,
    "expand": Paraphrased,
    "rerank": Helpful,
}


class Fact(Struct):
    text: str
    kind: Annotated[str, Meta(max_length=10)] = ""


def longest(part: dict, whole: dict) -> object:
    """The longest value of a part of a schema."""
    if "$ref" in part:
        return longest(whole["$defs"][part["$ref"].rpartition("/")[2]], whole)
    match part["type"]:
        case "object":
            return {name: longest(one, whole) for name, one in part["properties"].items()}
        case "array":
            return [longest(part["items"], whole)] * part["maxItems"]
        case "string":
            return "x" * part["maxLength"]
        case "boolean":
            return False
        case "integer":
            return 100
    return 0.25


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("share", [1, 2])
def test_the_longest_reply_of_every_task_fits_into_its_tokens_and_is_read(
    task: str, share: int
) -> None:
    tokens = prompt(task).max_tokens // share
    wanted = bounded(TASKS[task], tokens)
    reply = msgspec.json.encode(longest(wanted, wanted)).decode()
    assert len(reply) <= 3 * tokens  # English has some four characters a token
    read(reply, TASKS[task])


def test_names_stay_whole_longer_than_what_is_told_of_them() -> None:
    fields = bounded(Learnings, 200)["$defs"]["Learning"]["properties"]
    assert fields["entity"]["maxLength"] >= 48


def test_a_schema_that_fits_keeps_its_own_limits_and_others_are_given() -> None:
    wanted = bounded(list[Fact], 10_000)
    assert wanted["properties"]["items"]["maxItems"] == 12
    assert wanted["$defs"]["Fact"]["properties"]["text"]["maxLength"] == 300
    assert wanted["$defs"]["Fact"]["properties"]["kind"]["maxLength"] == 10
    assert "maxItems" not in schema(list[Fact])["properties"]["items"]


def test_what_goes_beyond_what_was_asked_for_is_read_all_the_same() -> None:
    many = [{"entity": f"Name {n}", "learning": "long " * 200} for n in range(40)]
    assert len(read(msgspec.json.encode({"items": many}).decode(), Learnings)) == 40


def test_plain_text_has_no_schema() -> None:
    assert bounded(str, 100) is None
