"""LlamaIndex: messages are kept and come back, and what the memory has is retrieved."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from llama_index.core.base.llms.types import ImageBlock, TextBlock, ToolCallBlock
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.memory import Memory as AgentMemory

from remloom import Memory
from remloom.adapters.llamaindex import RemloomChatStore, RemloomMemoryBlock, RemloomRetriever
from remloom.errors import UnknownNameError

TOM = ChatMessage(role="user", content="My cat is called Tom.")
NICE = ChatMessage(role="assistant", content="What a nice name for a cat.")
CALL = ChatMessage(
    role="assistant",
    blocks=[
        TextBlock(text="Let me see."),
        ToolCallBlock(tool_call_id="1", tool_name="weather", tool_kwargs={"in": "Lisbon"}),
        ImageBlock(url="https://example.org/cat.png"),
    ],
    additional_kwargs={"n": 1},
)
RESULT = ChatMessage(role="tool", content="Sunny", additional_kwargs={"tool_call_id": "1"})


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder="none") as memory:
        yield memory


def user(text: str) -> ChatMessage:
    return ChatMessage(role="user", content=text)


# -- memory block --------------------------------------------------------------------------------


def test_a_block_recalls_what_left_the_queue_in_whichever_session(memory: Memory) -> None:
    block = RemloomMemoryBlock(memory=memory)

    async def main() -> str:
        await block.aput([TOM, NICE], from_short_term_memory=True, session_id="monday")
        return await block.aget([user("What is my cat called?")], session_id="tuesday")

    told = asyncio.run(main())
    assert "> user: My cat is called Tom." in told
    assert "llamaindex:monday" in told


def test_a_block_makes_nothing_up_where_nothing_fits(memory: Memory) -> None:
    block = RemloomMemoryBlock(memory=memory)
    assert asyncio.run(block.aget([])) == ""
    assert asyncio.run(block.aget([RESULT])) == ""
    assert "Tom" not in asyncio.run(block.aget([user("What is my cat called?")]))


def test_a_very_long_message_is_asked_about_by_its_end(memory: Memory) -> None:
    block = RemloomMemoryBlock(memory=memory)
    asyncio.run(block.aput([TOM]))
    question = user("Lorem ipsum. " * 2000 + "What is my cat called?")
    assert "Tom" in asyncio.run(block.aget([question]))


def test_an_agents_memory_is_given_what_its_queue_is_too_short_for(memory: Memory) -> None:
    agent = AgentMemory.from_defaults(
        session_id="s",
        token_limit=60,
        token_flush_size=20,
        chat_history_token_ratio=0.5,
        memory_blocks=[RemloomMemoryBlock(memory=memory)],
        # no download of a tokenizer
        tokenizer_fn=str.split,
    )

    async def main() -> list[ChatMessage]:
        for message in (TOM, NICE):
            await agent.aput(message)
        for number in range(8):
            await agent.aput(user(f"The number {number} is a fine one, do you not think so?"))
            await agent.aput(ChatMessage(role="assistant", content="I do, it is fine."))
        await agent.aput(user("What is my cat called?"))
        return await agent.aget()

    given = asyncio.run(main())
    assert TOM.content not in [message.content for message in given]
    assert given[0].role.value == "system"
    assert "My cat is called Tom." in str(given[0].content)


# -- chat store ----------------------------------------------------------------------------------


def test_messages_of_each_chat_come_back_as_they_were(memory: Memory) -> None:
    store = RemloomChatStore(memory=memory)
    messages = [TOM, NICE, CALL, RESULT]
    store.set_messages("a/b #1", messages)
    store.add_message("A/B #1", TOM)
    assert store.get_messages("a/b #1") == messages
    assert sorted(store.get_keys()) == ["A/B #1", "a/b #1"]
    assert store.delete_message("a/b #1", 1) == NICE
    assert store.delete_message("a/b #1", 3) is None
    assert store.delete_last_message("a/b #1") == RESULT
    assert store.get_messages("a/b #1") == [TOM, CALL]
    store.set_messages("a/b #1", [NICE])
    assert store.get_messages("a/b #1") == [NICE]
    assert store.delete_messages("a/b #1") == [NICE]
    assert store.delete_messages("a/b #1") is None
    assert store.get_keys() == ["A/B #1"]


def test_what_is_in_a_chat_store_is_recalled_until_it_is_deleted(memory: Memory) -> None:
    buffer = ChatMemoryBuffer.from_defaults(
        chat_store=RemloomChatStore(memory=memory), chat_store_key="s", tokenizer_fn=str.split
    )
    buffer.put(TOM)
    assert buffer.get() == [TOM]
    assert memory.recall("What is the cat called?").hits[0].uri == "llamaindex-chat:s"
    buffer.reset()
    assert not memory.search_text("Tom").records


# -- retriever -----------------------------------------------------------------------------------


def test_nodes_say_where_they_are_from(memory: Memory) -> None:
    memory.read_text("The board approved the merger.", uri="minutes.md", name="Minutes")
    memory.read_text("The cafeteria has soup.", uri="menu.md")
    retriever = RemloomRetriever(memory, similarity_top_k=1)
    [node] = retriever.retrieve("Did the board approve the merger?")
    assert node.text == "The board approved the merger."
    assert node.metadata["source"] == "minutes.md:1"
    assert node.metadata["trust"] == "read"
    assert asyncio.run(retriever.aretrieve("Did the board approve the merger?")) == [node]
    assert retriever.retrieve("Who plays the violin?") == []


def test_options_of_recall_are_checked(memory: Memory) -> None:
    with pytest.raises(UnknownNameError, match="iterated"):
        RemloomRetriever(memory, options={"mode": "iterted"}).retrieve("anything?")
