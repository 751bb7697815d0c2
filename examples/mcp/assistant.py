"""An agent of the OpenAI Agents SDK that has a memory over MCP, and nothing else of Remloom.

Each call is a conversation of its own, with a memory server of its own, as on another day:

    $ python assistant.py "I live in Porto."
    Noted.
    $ python assistant.py "Where do I live?" "I live in Lisbon now." "Where do I live?"
    You live in Porto.
    Noted.
    You live in Lisbon.
    $ python assistant.py "Forget where I live." "Where do I live?"
    Forgotten.
    You have not told me.

`rules` stands in for a language model, so that it runs without a key: it sees nothing but what a
model would be given. Put `model="gpt-5-mini"` in its place.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys

from agents import Agent, RunConfig, Runner
from agents.mcp import MCPServerStdio
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call

HOME = "assistant-memory"
STEPS = 5  # of a run at most


def main(*said: str, home: str = HOME) -> list[str]:
    """Say something to the agent, one sentence after the other; returns its answers."""
    return asyncio.run(converse(said, home))


async def converse(said: tuple[str, ...], home: str) -> list[str]:
    """Start the memory server, as a client does, and let the agent answer."""
    command = {
        "command": sys.executable,
        "args": ["-m", "remloom", "mcp", "--home", home],
        "env": {**os.environ, "REMLOOM_EMBEDDER": "none"},
    }
    config = RunConfig(tracing_disabled=True)
    async with MCPServerStdio(command, client_session_timeout_seconds=60) as memory:
        answers = []
        for sentence in said:
            model = ScriptedModel([ModelStep.respond(rules)] * STEPS)
            agent = Agent(name="Assistant", mcp_servers=[memory], model=model)
            run = await Runner.run(agent, sentence, run_config=config)
            answers.append(str(run.final_output))
        return answers


def rules(call: ModelCall) -> ModelStep:
    """Do what a model would: recall first, then answer, correct, remember or forget."""
    items = call.input if isinstance(call.input, list) else [{"content": call.input}]
    said = next(str(item["content"]) for item in items if "content" in item)
    last = items[-1]
    if last.get("type") != "function_call_output":
        return use("recall", question="Where do I live?")
    called = [item["name"] for item in items if item.get("type") == "function_call"][-1]
    known = re.findall(r"> I live in (\w+)", str(last["output"]))
    if said.endswith("?"):
        return say(f"You live in {known[0]}." if known else "You have not told me.")
    if called == "recall" and known:
        # what is no longer so goes, with all that was made of it
        names = re.findall(r'\("note"\) "(I live in .+?)" · ', str(last["output"]))
        return use("forget", what=names, dry_run=False)
    if said.startswith("Forget"):
        return say("Forgotten." if "Nothing of it remains" in str(last["output"]) else "Not so.")
    if called == "remember":
        return say("Noted.")
    return use("remember", text=said)


def use(tool: str, **arguments: object) -> ModelStep:
    """Call a tool."""
    return ModelStep(output=[function_call(tool, arguments, call_id=tool)])


def say(text: str) -> ModelStep:
    """Answer."""
    return ModelStep(output=[assistant_message(text)])


if __name__ == "__main__":
    print("\n".join(main(*sys.argv[1:])))
