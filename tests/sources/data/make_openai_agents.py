"""Makes `openai_agents.db` by the SDK itself: `pip install openai-agents==0.24.0`, then run this.

The conversation is invented. A scripted model stands in for OpenAI's; all else is the SDK's own.
"""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

from agents import Agent, Runner, SQLiteSession, function_tool, set_tracing_disabled
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningItem,
)
from openai.types.responses.response_reasoning_item import Summary

PATH = Path(__file__).parent / "openai_agents.db"


def said(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(
        id="msg", type="message", role="assistant", status="completed", content=[part]
    )


class Scripted(Model):
    """Answers with what stands in a list."""

    def __init__(self, answers: list[list[Any]]) -> None:
        self._answers = answers

    async def get_response(self, *args: Any, **options: Any) -> ModelResponse:
        return ModelResponse(output=self._answers.pop(0), usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **options: Any) -> Any:
        raise NotImplementedError


@function_tool
def timetable(day: str) -> str:
    """Look a day up."""
    return f"TOOL OUTPUT: two ferries on {day}"


async def main() -> None:
    set_tracing_disabled(True)
    PATH.unlink(missing_ok=True)
    call = ResponseFunctionToolCall(
        type="function_call", call_id="c1", name="timetable", arguments='{"day": "Monday"}'
    )
    thought = ResponseReasoningItem(
        id="r1", type="reasoning", summary=[Summary(type="summary_text", text="a hidden thought")]
    )
    answers = [[thought, call], [said("There are two ferries.")], [said("Noted.")]]
    agent = Agent(
        name="Ferry", instructions="Be brief.", model=Scripted(answers), tools=[timetable]
    )
    first = SQLiteSession("harbour", PATH)
    await Runner.run(
        agent, "I always take the early ferry. When does it go on Monday?", session=first
    )
    second = SQLiteSession("kitchen", PATH)
    await Runner.run(agent, "I am allergic to peanuts.", session=second)
    first.close()
    second.close()
    # the same times at each making
    with sqlite3.connect(PATH) as connection:
        connection.execute(
            "UPDATE agent_messages SET created_at = '2026-01-12 09:00:' || printf('%02d', id)"
        )
        connection.execute("PRAGMA journal_mode = DELETE")


if __name__ == "__main__":
    asyncio.run(main())
