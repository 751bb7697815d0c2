"""Sessions of the OpenAI Agents SDK: what is added comes back, in order, and what is said is found."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, SessionSettings
from agents.memory import Session
from agents.testing import ScriptedModel, assistant_message
from hypothesis import given, settings
from hypothesis import strategies as st

from remloom import Memory, Query
from remloom.adapters.openai_agents import RemloomSession
from remloom.errors import InvalidInputError
from remloom.predicates import Exists
from waiting import PATIENCE

CALL = {"type": "function_call", "call_id": "1", "name": "weather", "arguments": '{"in": "Lisbon"}'}
OUTPUT = {"type": "function_call_output", "call_id": "1", "output": "Sunny\0"}
SAID = [{"type": "output_text", "text": "It is sunny in Lisbon.", "annotations": []}]
TURNS: list[Any] = [
    {"role": "user", "content": "What is the weather in Lisbon?"},
    CALL,
    OUTPUT,
    {"type": "message", "role": "assistant", "content": SAID},
]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder="none") as memory:
        yield memory


def add(session: RemloomSession, *items: Any) -> None:
    asyncio.run(session.add_items(list(items)))


def get(session: RemloomSession, limit: int | None = None) -> list[Any]:
    return asyncio.run(session.get_items(limit))


def test_a_limit_takes_the_latest_and_may_be_a_setting(memory: Memory) -> None:
    session = RemloomSession("s", memory, session_settings={"limit": 2})
    add(session, *TURNS)
    assert get(session) == TURNS[-2:]
    assert get(session, 3) == TURNS[-3:]
    assert get(session, 0) == []
    assert get(session, -1) == TURNS
    assert isinstance(session, Session)
    assert session.session_settings == SessionSettings(limit=2)


def test_the_last_item_is_popped_and_a_session_is_cleared(memory: Memory) -> None:
    session, other = RemloomSession("s", memory), RemloomSession("S", memory)
    add(session, *TURNS)
    add(other, TURNS[0])
    assert asyncio.run(session.pop_item()) == TURNS[-1]
    add(session, {"role": "assistant", "content": "Rain."})
    assert get(session) == [*TURNS[:-1], {"role": "assistant", "content": "Rain."}]
    asyncio.run(session.clear_session())
    assert get(session) == []
    assert asyncio.run(session.pop_item()) is None
    assert get(other) == TURNS[:1]


def test_what_was_said_is_recalled_and_what_tools_said_is_not(memory: Memory) -> None:
    add(RemloomSession("s", memory, user="Sarah"), *TURNS)
    hits = memory.recall("sunny in Lisbon?", neighbours=1).hits
    assert {hit.record.content for hit in hits} == {
        "What is the weather in Lisbon?",
        "It is sunny in Lisbon.",
    }
    assert "> Sarah: What is the weather in Lisbon?" in memory.context("the weather in Lisbon?")
    assert memory.search_text("weather").records


def test_what_is_cleared_is_forgotten(memory: Memory) -> None:
    session = RemloomSession("s", memory)
    add(session, *TURNS)
    asyncio.run(session.clear_session())
    assert not memory.query_resources(Query().filter(Exists("uri")))
    assert not memory.search_text("Lisbon").records


def test_what_a_user_says_of_themselves_reaches_their_profile(memory: Memory) -> None:
    add(RemloomSession("s", memory), {"role": "user", "content": "I am allergic to peanuts."})
    memory.profile.observe()
    assert "peanuts" in memory.profile.context("What should I eat?").text


def test_of_many_who_pop_each_gets_another_item(memory: Memory) -> None:
    session = RemloomSession("s", memory)
    add(session, *({"n": number} for number in range(12)))

    async def pop_all() -> list[int]:
        popped = []
        while item := await session.pop_item():
            popped.append(item["n"])
        return popped

    async def main() -> list[list[int]]:
        return await asyncio.gather(*(pop_all() for _ in range(3)))

    popped = asyncio.run(main())
    assert sorted(number for part in popped for number in part) == list(range(12))


def test_who_cancels_an_add_waits_until_it_is_made(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    write = memory.write

    def slow_write(*arguments: Any, **options: Any) -> list[str]:
        begun.set()
        go_on.wait(PATIENCE)
        return write(*arguments, **options)

    monkeypatch.setattr(memory, "write", slow_write)

    async def main() -> None:
        session = RemloomSession("s", memory)
        task = asyncio.create_task(session.add_items([TURNS[0]]))
        await asyncio.to_thread(begun.wait, 5)
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await session.get_items() == [TURNS[0]]

    asyncio.run(main())


def test_what_is_no_json_is_refused_and_nothing_of_it_is_added(memory: Memory) -> None:
    session = RemloomSession("s", memory)
    with pytest.raises(InvalidInputError, match="is not JSON"):
        add(session, {"role": "user", "content": "hi"}, {"bytes": b""})
    assert get(session) == []


NUMBERS = itertools.count()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ROLES = st.sampled_from(["user", "assistant", "system", "tool"])
MESSAGES = st.fixed_dictionaries({"role": ROLES, "content": st.text() | JSON})


@given(st.text(), st.lists(MESSAGES | JSON, max_size=4))
@settings(max_examples=30)
def test_any_json_comes_back_whatever_the_session_is_called(
    memory: Memory, name: str, items: list[Any]
) -> None:
    # a session of its own for each example
    session = RemloomSession(f"{name} {next(NUMBERS)}", memory)
    add(session, *items)
    assert get(session) == items


def test_an_agent_is_given_what_was_said_before(memory: Memory) -> None:
    model = ScriptedModel([[assistant_message("Nice, Tom.")], [assistant_message("Tom.")]])
    agent = Agent(name="Friend", model=model)
    config = RunConfig(tracing_disabled=True)

    async def main() -> str:
        session = RemloomSession("s", memory)
        await Runner.run(agent, "My cat is called Tom.", session=session, run_config=config)
        done = await Runner.run(agent, "What is my cat called?", session=session, run_config=config)
        return str(done.final_output)

    assert asyncio.run(main()) == "Tom."
    assert len(get(RemloomSession("s", memory))) == 4
