"""The implant: all it rests on is recorded, one generation above it, and NOTHING is understood
however it is said."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remloom import Resource
from remloom.dream.synthesis import Idea, derived_id, is_nothing, parse_insight, synthesis_call
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


# as models reply, by language; no head is trained on any of them
REPLIES = json.loads((Path(__file__).parent / "nothing.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "reply",
    [
        "NOTHING", "Nothing.", "nothing", '"NOTHING"', "**NOTHING**", "NOTHING new", "*Nothing to add.*", "`NOTHING`",
        "NOTHING\n\nIt repeats what we know.", "NOTHING - this is a repetition.", "«Nothing»", " \n", "> NOTHING",
        "This adds nothing new.", "There is nothing new here. We already knew this. It adds nothing. Already known.",
        "NICHTS", "Nada.", "**Rien**",
    ],
)  # fmt: skip
def test_nothing_is_understood_leniently(reply: str) -> None:
    assert is_nothing(reply)
    assert parse_insight(Idea("Tea.", (NEW,), (OLD,)), reply) is None


@pytest.mark.parametrize(
    "reply",
    [
        "Nothing in the treaty binds Spain.", "There is nothing new here. But the toll doubled in 1934.",
        "Nothing new under the sun, the merchants said; yet the port closed.",
        "Das wiederholt nur Bekanntes. Der Zoll hat sich 1934 aber verdoppelt.",
    ],
)  # fmt: skip
def test_what_says_something_beside_is_an_insight(reply: str) -> None:
    assert not is_nothing(reply)


@pytest.mark.parametrize("language", REPLIES)
def test_hardly_an_insight_is_lost_and_most_of_what_says_nothing_is_heard(language: str) -> None:
    lost, heard = (
        sum(map(is_nothing, REPLIES[language][label])) for label in ("something", "nothing")
    )
    assert lost <= 1
    assert heard >= len(REPLIES[language]["nothing"]) * 3 / 5


@pytest.mark.parametrize(
    "reply",
    [
        "The report repeats what the minister said in May.", "We already knew the toll; now we know who set it.",
        "The audit found no new debts.", "The letter confirms what was said before.",
        "The passage says that Mary knew nothing of the plan.", "Der Bericht wiederholt die Zahlen von 2019.",
    ],
)  # fmt: skip
def test_an_insight_that_speaks_of_nothing_is_kept(reply: str) -> None:
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
