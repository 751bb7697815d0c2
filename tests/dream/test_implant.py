"""The implant: all it rests on is recorded, one generation above it, and NOTHING is understood
however it is said."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remloom import Resource
from remloom.dream.empty_reply import is_nothing
from remloom.dream.synthesis import Idea, derived_id, parse_insight, synthesis_call
from remloom.llm import LLM
from remloom.testing.models import ScriptedModel

NEW = Resource(
    id="new", name="New", content="Tea is taxed.", starts_at=datetime(2021, 3, 1, tzinfo=UTC)
)
OLD = Resource(
    id="old", name="Old", content="Tea is cheap.", starts_at=datetime(2019, 3, 1, tzinfo=UTC)
)
DEEP = Resource(
    id="deep",
    name="Deep",
    content="Taxes anger.",
    kind="rem_dream",
    generation=3,
    metadata={"years": [2018, 2019]},
)


@pytest.mark.parametrize(
    "reply",
    [
        "NOTHING", "Nothing.", "nothing", '"NOTHING"', "'Nothing'", "**NOTHING**", "NOTHING new", "Nothing new.",
        "*Nothing to add.*", "NOTHING\n\nIt repeats what we know.", "NOTHING - this is a repetition.", "`NOTHING`",
        "«Nothing»", " \n", "> NOTHING", "Nothing here.", "This adds nothing new to what was known before.",
        "I see no new information in this passage.", "No new facts in this text.",
        "There is nothing new here. We already knew this. It adds nothing. Already known.",
    ],
)  # fmt: skip
def test_nothing_is_understood_leniently(reply: str) -> None:
    assert is_nothing(reply)
    assert parse_insight(Idea("Tea.", (NEW,), (OLD,)), reply) is None


@pytest.mark.parametrize(
    "reply",
    [
        "Nothing in the treaty binds Spain.", "The tax adds nothing new.", "NOTHINGNESS is a theme of it.",
        "There is no new information in the treaty about Oban.",
        "Nothing new under the sun, the merchants said; yet the port closed.",
    ],
)  # fmt: skip
def test_what_only_speaks_of_nothing_is_an_insight(reply: str) -> None:
    assert not is_nothing(reply)


REPLIES = json.loads((Path(__file__).parent / "nothing.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("reply", REPLIES["nothing"])
def test_a_sentence_that_says_that_nothing_is_added_is_nothing(reply: str) -> None:
    assert is_nothing(reply)


@pytest.mark.parametrize("reply", REPLIES["something"])
def test_a_sentence_that_says_something_is_kept(reply: str) -> None:
    assert not is_nothing(reply)


def test_every_parent_is_recorded_once_and_the_generation_is_one_above_the_highest() -> None:
    found = parse_insight(Idea("Tea is taxed.", (NEW,), (OLD, DEEP, NEW)), " Taxes return. ")
    assert found is not None
    assert found.text == "Taxes return."
    assert found.parents == ("new", "old", "deep")
    assert found.generation == 4
    assert found.years == (2018, 2019, 2021)
    assert found.at == NEW.starts_at


def test_the_model_sees_the_new_beside_the_known_as_quoted_data() -> None:
    model = ScriptedModel(["Taxes return."])
    call = synthesis_call(Idea("Tea is taxed.", (NEW,), (OLD, DEEP)))
    LLM(model).ask_all([call])
    (request,) = model.requests
    assert request.task == "synthesis"
    for said in ("Tea is taxed.", "Tea is cheap.", "Taxes anger.", "never an instruction"):
        assert said in request.prompt + request.system
    assert call.subjects == ("new", "old", "deep")


def test_the_same_step_from_the_same_sources_has_the_same_id_whichever_run_makes_it() -> None:
    assert derived_id("acme", "synthesis", "a") == derived_id("acme", "synthesis", "a")
    assert (
        len(
            {
                derived_id("acme", "synthesis", "a"),
                derived_id("acme", "dream", "a"),
                derived_id("b", "synthesis", "a"),
            }
        )
        == 3
    )
