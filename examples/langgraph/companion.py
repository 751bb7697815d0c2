"""A companion on LangGraph's prebuilt agent that remembers, corrects itself, and forgets.

Each call is a process and a conversation of its own, as on another day:

    $ python companion.py "I am vegetarian."
    Noted.
    $ python companion.py "What do I eat?"
    You are vegetarian.
    $ python companion.py "I am vegan now."
    Noted.
    $ python companion.py "What do I eat?"
    You are vegan.
    $ python companion.py "Forget what I eat."
    Forgotten.
    $ python companion.py "What do I eat?"
    You have not told me.

`Rules` stands in for a language model, so that it runs without a key: it sees nothing but what a
model would be given, the messages and the results of tools. Put a chat model in its place.
"""

from __future__ import annotations

import re
import sys
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.prebuilt import InjectedStore
from langgraph.store.base import BaseStore

from remloom.adapters.langgraph import RemloomStore

HOME = "companion-memory"
NOTES = ("users", "1", "notes")


def main(said: str, home: str = HOME) -> str:
    """Say something to the companion; returns its answer."""
    with RemloomStore.open(home, embedder="none") as store:
        agent = create_agent(Rules(), [note, look_up, forget], store=store)
        done = agent.invoke({"messages": [HumanMessage(said)]})
        return str(done["messages"][-1].content)


@tool
def note(topic: str, text: str, store: Annotated[BaseStore, InjectedStore()]) -> str:
    """Note something about the user, in place of what was noted under this topic."""
    store.put(NOTES, topic, {"text": text})
    return "Noted."


@tool
def look_up(question: str, store: Annotated[BaseStore, InjectedStore()]) -> str:
    """Look up what was noted about the user."""
    found = store.search(NOTES, query=question, limit=3)
    return "\n".join(f"{item.key}: {item.value['text']}" for item in found) or "nothing"


@tool
def forget(topic: str, store: Annotated[BaseStore, InjectedStore()]) -> str:
    """Forget what was noted under a topic, and all that was made of it."""
    store.delete(NOTES, topic)
    return "Forgotten."


class Rules(BaseChatModel):
    """Answers as a model would, from the messages."""

    @property
    def _llm_type(self) -> str:
        return "rules"

    def bind_tools(self, tools: Any, **_: Any) -> Rules:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=answer(messages))])


def answer(messages: list[BaseMessage]) -> AIMessage:
    """Call a tool for what the user says, or tell what came of it."""
    last = messages[-1]
    if isinstance(last, ToolMessage):
        if last.name != "look_up":
            return AIMessage(str(last.content))
        known = re.search(r"^diet: (.+)$", str(last.content), re.MULTILINE)
        return AIMessage(f"You are {known[1]}." if known else "You have not told me.")
    said = str(last.content)
    if said.startswith("Forget"):
        return call("forget", topic="diet")
    if said.endswith("?"):
        return call("look_up", question=said)
    diet = re.search(r"I am (\w+)", said)
    return call("note", topic="diet", text=diet[1] if diet else said)


def call(name: str, **arguments: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "1"}])


if __name__ == "__main__":
    print(main(" ".join(sys.argv[1:])))
