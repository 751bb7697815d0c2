"""Claude's memory tool: it replies as the SDK's own tool does, and what it writes is remembered."""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from remloom import Memory
from remloom.adapters.anthropic import AsyncRemloomMemoryTool, RemloomMemoryTool

NOTES = "/memories/notes.md"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder="none") as memory:
        yield memory


@pytest.fixture
def tool(memory: Memory) -> RemloomMemoryTool:
    return RemloomMemoryTool(memory)


def call(tool: RemloomMemoryTool, command: str, **given: Any) -> Any:
    return tool.call({"command": command, **given})


# -- as the SDK's own tool ---------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "A", "a-b", "a_b", ".hidden", "é", "a b", "%2f", ".", "..", ""])
PATHS = st.lists(NAMES, max_size=3).map(lambda names: "/".join(["/memories", *names]))
# also what does not begin as it should
ANY_PATHS = PATHS | st.sampled_from(["/memoriesb", "/etc", "memories/a", "/memories/../memories/a"])
TEXTS = st.text("ab\n\r\t é\0", max_size=12) | st.just("x" * 1500) | st.just("x" * 2048)
LINES = st.integers(-2, 6)


class RepliesAreThoseOfTheOwnTool(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.memory = Memory.open(self.folder / "memory", embedder="none")
        self.ours = RemloomMemoryTool(self.memory)
        self.theirs = BetaLocalFilesystemMemoryTool(str(self.folder / "files"))

    def teardown(self) -> None:
        self.compare("view", path="/memories")
        self.memory.close()
        shutil.rmtree(self.folder)

    def compare(self, command: str, **given: Any) -> None:
        folders = self.folders()
        theirs, ours = (reply(tool, command, given) for tool in (self.theirs, self.ours))
        if theirs[0] != "done":
            # a rename that fails leaves folders behind there; ours does nothing
            for folder in sorted(self.folders() - folders, reverse=True):
                folder.rmdir()
        if theirs[0] == "broken":
            # an error of the system, which is not meant for the model
            assert ours[0] == "refused"
        else:
            assert ours == theirs

    def folders(self) -> set[Path]:
        return {path for path in self.theirs.memory_root.rglob("*") if path.is_dir()}

    @rule(path=ANY_PATHS, first=LINES, last=LINES, whole=st.booleans())
    def view(self, path: str, first: int, last: int, whole: bool) -> None:
        self.compare("view", path=path, view_range=None if whole else [first, last])

    @rule(path=ANY_PATHS, text=TEXTS)
    def create(self, path: str, text: str) -> None:
        self.compare("create", path=path, file_text=text)

    @rule(path=PATHS, text=TEXTS)
    def create_below(self, path: str, text: str) -> None:
        self.compare("create", path=f"{path}/f", file_text=text)

    @rule(path=PATHS, old=st.text("ab\n", max_size=2), new=TEXTS, inside=st.booleans())
    def str_replace(self, path: str, old: str, new: str, inside: bool) -> None:
        path = f"{path}/f" if inside else path
        self.compare("str_replace", path=path, old_str=old, new_str=new)

    @rule(path=PATHS, line=LINES, text=TEXTS, inside=st.booleans())
    def insert(self, path: str, line: int, text: str, inside: bool) -> None:
        path = f"{path}/f" if inside else path
        self.compare("insert", path=path, insert_line=line, insert_text=text)

    @rule(path=ANY_PATHS)
    def delete(self, path: str) -> None:
        self.compare("delete", path=path)

    @rule(path=PATHS, to=ANY_PATHS)
    def rename(self, path: str, to: str) -> None:
        self.compare("rename", old_path=path, new_path=to)


def reply(tool: Any, command: str, given: dict[str, Any]) -> tuple[str, Any]:
    try:
        # as it is given to the methods: the runner makes objects of these fields
        text = getattr(tool, command)(SimpleNamespace(command=command, **given))
    except ToolError as error:
        return "refused", error.content
    except Exception as error:
        return "broken", error
    # what a folder takes differs between file systems
    return "done", re.sub(r"(?m)^\S+(?=\t.*/$)|^\S+(?=\t/memories$)", "4K", text)


TestRepliesAreThoseOfTheOwnTool = RepliesAreThoseOfTheOwnTool.TestCase
TestRepliesAreThoseOfTheOwnTool.settings = settings(max_examples=15, stateful_step_count=15)


# -- as a memory ---------------------------------------------------------------------------------


def test_what_is_written_is_recalled_and_what_is_deleted_is_forgotten(
    memory: Memory, tool: RemloomMemoryTool
) -> None:
    call(tool, "create", path=NOTES, file_text="Sarah prefers trains to planes.\n")
    [hit] = memory.recall("How does Sarah like to travel? trains").hits
    assert (hit.uri, hit.record.content) == (
        "memory-tool:/memories/notes.md",
        "Sarah prefers trains to planes.\n",
    )
    call(tool, "str_replace", path=NOTES, old_str="trains to planes", new_str="boats")
    assert not memory.search_text("planes").records
    call(tool, "rename", old_path=NOTES, new_path="/memories/travel/sarah.md")
    [hit] = memory.recall("Does Sarah prefer boats?").hits
    assert hit.uri == "memory-tool:/memories/travel/sarah.md"
    call(tool, "delete", path="/memories/travel")
    assert not memory.search_text("Sarah").records
    assert memory.admin.check() == []


def test_a_file_that_the_memory_forgets_is_gone(memory: Memory, tool: RemloomMemoryTool) -> None:
    call(tool, "create", path="/memories/a/b.md", file_text="words")
    assert memory.forget("memory-tool:/memories/a/b.md").verified
    with pytest.raises(ToolError, match=r"/memories/a/b\.md does not exist"):
        call(tool, "view", path="/memories/a/b.md")
    assert call(tool, "view", path="/memories").endswith("\t/memories/a/")


def test_edits_at_the_same_moment_lose_nothing(memory: Memory, tool: RemloomMemoryTool) -> None:
    call(tool, "create", path=NOTES, file_text="")
    with ThreadPoolExecutor(4) as threads:
        for line in range(20):
            threads.submit(call, tool, "insert", path=NOTES, insert_line=0, insert_text=f"{line}")
    assert sorted(map(int, memory.recall("1", abstain=False).hits[0].record.content.split())) == [
        *range(20)
    ]


def test_of_two_who_create_a_file_one_is_told_that_it_exists(tool: RemloomMemoryTool) -> None:
    def create(number: int) -> str:
        try:
            return str(call(tool, "create", path="/memories/a/b", file_text=str(number)))
        except ToolError as error:
            return str(error)

    with ThreadPoolExecutor(4) as threads:
        replies = list(threads.map(create, range(8)))
    assert sorted(set(replies)) == [
        "File /memories/a/b already exists",
        "File created successfully at: /memories/a/b",
    ]
    assert replies.count("File created successfully at: /memories/a/b") == 1


def test_the_asynchronous_tool_does_the_same(memory: Memory) -> None:
    tool = AsyncRemloomMemoryTool(memory, cache_control={"type": "ephemeral"})
    commands = [
        {"command": "create", "path": NOTES, "file_text": "one\ntwo\n"},
        {"command": "insert", "path": NOTES, "insert_line": 1, "insert_text": "and"},
        {"command": "str_replace", "path": NOTES, "old_str": "two", "new_str": "three"},
        {"command": "view", "path": NOTES},
        {"command": "rename", "old_path": NOTES, "new_path": "/memories/n.md"},
        {"command": "delete", "path": "/memories/n.md"},
    ]

    async def main() -> list[Any]:
        replies = [await tool.call(command) for command in commands]
        return [*replies, await tool.clear_all_memory()]

    replies = asyncio.run(main())
    assert replies[3].endswith("     1\tone\n     2\tand\n     3\tthree\n     4\t")
    assert replies[-1] == "All memory cleared"
    assert tool.to_dict() == {
        "type": "memory_20250818",
        "name": "memory",
        "cache_control": {"type": "ephemeral"},
    }


@pytest.mark.parametrize("path", ["/memories/a\0b", "/memories/\ud800", "/memories/" + "n" * 300])
def test_names_that_no_file_can_have_are_refused(tool: RemloomMemoryTool, path: str) -> None:
    with pytest.raises(ToolError, match="has"):
        call(tool, "create", path=path, file_text="x")


def test_halves_of_surrogate_pairs_are_refused_and_nothing_is_written(
    tool: RemloomMemoryTool,
) -> None:
    with pytest.raises(ToolError, match=r"notes.md was not written: .* surrogates not allowed"):
        call(tool, "create", path=NOTES, file_text="\ud800")
    with pytest.raises(ToolError, match="does not exist"):
        call(tool, "view", path=NOTES)
