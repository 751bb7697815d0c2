"""What a model may not list in one reply is asked for in parts; nothing of it is lost unseen."""

from __future__ import annotations

import re
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remloom import Memory, Message
from remloom.llm import Request
from remloom.testing.models import Cut, ScriptedModel, ScriptedReply

AT = datetime(2026, 10, 1, 9, tzinfo=UTC)
# what is said has a number, by which it is known again
FACT = re.compile(r"gadget(\d+) is item\d+")
NUMBER = re.compile(r"number=(\d+)[^\n]*\n(.*?)\n</data", re.DOTALL)


def obedient(request: Request, *, cuts: bool = False) -> ScriptedReply:
    """Lists as many as the schema allows, and no more, as an endpoint that enforces it does."""
    assert request.schema is not None
    most = request.schema["properties"]["items"]["maxItems"]
    blocks = NUMBER.findall(request.prompt) or [("1", request.prompt)]
    claims: list[dict[str, Any]] = [
        {
            "key": f"gadget{fact[1]}", "value": f"item{fact[1]}", "quote": fact[0],
            "message": int(number),
        }
        for number, text in blocks
        for fact in FACT.finditer(text)
    ]  # fmt: skip
    if cuts and len(claims) > most:
        return Cut('{"items": [{"key": "gad')
    return {"items": claims[:most] if request.task == "profile_extract" else []}


def facts(numbers: range) -> str:
    return " ".join(f"My gadget{number} is item{number}." for number in numbers)


def staged(memory: Memory) -> set[str]:
    values = {one.value for one in memory.profile.staged()}
    return values | {str(belief.value) for belief in memory.profile.beliefs()}


@settings(max_examples=12, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 70), min_size=1, max_size=5).filter(any),
    cuts=st.booleans(),
    is_note=st.booleans(),
)
def test_every_fact_is_heard_however_many_stand_in_a_text(
    sizes: list[int], cuts: bool, is_note: bool
) -> None:
    model = ScriptedModel(lambda request: obedient(request, cuts=cuts))
    texts, count = [], 0
    for size in sizes:
        texts.append(facts(range(count, count + size)) or "Good morning.")
        count += size
    with (
        tempfile.TemporaryDirectory() as home,
        Memory.open(home, embedder="none", llm=model) as memory,
    ):
        if is_note:
            note = Path(home) / "note.md"
            note.write_text("\n\n".join(texts))
            memory.profile.observe(note)
        else:
            turns = [Message(speaker="user", text=text, at=AT) for text in texts]
            memory.read_chat(turns, uri="chat.json")
            memory.profile.observe()
        heard = staged(memory)
        assert {f"item{number}" for number in range(count)} <= heard
        assert [one for one in memory.runs.failed() if one.kind != "normalise"] == []


@pytest.mark.parametrize("cuts", [False, True])
def test_a_sentence_with_more_than_a_reply_may_list_waits_with_its_reason(
    tmp_path: Path, cuts: bool
) -> None:
    model = ScriptedModel(lambda request: obedient(request, cuts=cuts))
    sentence = "Mind that " + " and ".join(f"gadget{n} is item{n}" for n in range(40)) + "."
    with Memory.open(tmp_path, embedder="none", llm=model) as memory:
        memory.read_chat([Message(speaker="user", text=sentence, at=AT)], uri="chat.json")
        result = memory.profile.observe()
        [failed] = result.failed
        assert ("cut off" if cuts else "as many items as it may have") in failed.reason
        # what was listed counts
        assert len({v for v in staged(memory) if v.startswith("item")}) == (0 if cuts else 12)
        # it is no passage that was seen: the next scan tries it again
        calls = len(model.requests)
        memory.profile.observe()
        assert len(model.requests) > calls
