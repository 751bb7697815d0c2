"""Makes `langgraph.db` by LangGraph itself: `pip install langgraph==1.2.22
langgraph-checkpoint-sqlite==3.1.2`, then run this.

The conversations are invented, and so is the model; all else is LangGraph's own.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph

PATH = Path(__file__).parent / "langgraph.db"


class State(MessagesState):
    """A state with more than messages in it."""

    places: set[str]


def call(state: State) -> dict[str, Any]:
    call = {"name": "timetable", "args": {"day": "Monday"}, "id": "t1"}
    said = AIMessage([{"type": "text", "text": "Let me look."}], tool_calls=[call], id="a1")
    return {"messages": [SystemMessage("Be brief.", id="s1"), said], "places": {"Harbour"}}


def look_up(state: State) -> dict[str, Any]:
    return {"messages": [ToolMessage("TOOL OUTPUT: two ferries", tool_call_id="t1", id="o1")]}


def answer(state: State) -> dict[str, Any]:
    return {"messages": [AIMessage(f"Answer {len(state['messages'])}.")]}


def main() -> None:
    PATH.unlink(missing_ok=True)
    graph = StateGraph(State)
    for node in (call, look_up, answer):
        graph.add_node(node)
    graph.add_edge(START, "call")
    graph.add_edge("call", "look_up")
    graph.add_edge("look_up", "answer")
    graph.add_edge("answer", END)
    connection = sqlite3.connect(PATH, check_same_thread=False)
    compiled = graph.compile(checkpointer=SqliteSaver(connection))
    for thread, texts in {
        "harbour": ["I always take the early ferry.", "I moved to Kiel."],
        "kitchen": ["I am allergic to peanuts."],
    }.items():
        for text in texts:
            message = HumanMessage(text, id=f"{thread}-{text[:4]}")
            compiled.invoke({"messages": [message]}, {"configurable": {"thread_id": thread}})
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()


if __name__ == "__main__":
    main()
