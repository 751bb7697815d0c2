"""Transcripts of Claude Code: `~/.claude/projects/**/*.jsonl`.

Each record names its parent, so a transcript is a tree: what counts is the branch that its last
record is on. The format is not a published one: records of unknown types are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct

from ..document import Document, Skipped, Turn
from ..entries import Entries, Note
from .json_lines import read_lines
from .session import ASSISTANT, USER, CodingSession, nothing_said, turn

PROGRAM = "Claude Code"
_SPEAKERS = (USER, ASSISTANT)
# a record with one of these is not what was said by the user, or by the agent to the user
_NOT_MESSAGES = (
    "isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly",
    "isApiErrorMessage", "toolUseResult",
)  # fmt: skip
_SYNTHETIC = "<synthetic>"  # model of what the program answers itself
_EDITS = {
    "Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
}  # fmt: skip
_SHELL = "Bash"
_GIVEN = frozenset((*_EDITS.values(), "command"))  # to tools, as far as it is kept
_EXIT = re.compile(r"(?:Error: )?Exit code (\d+)")


class _Node(Struct):
    line: int
    session: str
    parent: str
    branches: bool  # the branch that is taken may end here
    record: dict[str, Any]


class _Result(Struct):
    failed: bool
    exit_code: int | None


def is_record(value: Any) -> bool:
    """Whether a line says which session it is of, and who speaks; or is a title of one."""
    if not isinstance(value, dict):
        return False
    if value.get("type") == "summary":
        return "leafUuid" in value
    if value.get("type") not in _SPEAKERS or not isinstance(value.get("message"), dict):
        return False
    return isinstance(value.get("sessionId"), str) and "uuid" in value


def read(path: Path, uri: str) -> Iterator[Document | Skipped]:
    """Read each session as a chat, with the uri `<uri>#<session id>`; it is one, mostly."""
    tree = _Tree(path.stem)
    broken = Entries("line")
    for number, record in read_lines(path, uri):
        if not isinstance(record, dict):
            broken.leave_out(number, "no record")
        else:
            tree.add(number, record)
    sessions = list(tree.sessions())
    for session in sessions:
        # copies in other files may end before it does; a rewound one goes on, and ends later
        yield session.document(uri, current=False)
    if not sessions:
        yield from nothing_said(uri)
    if broken.left_out:
        yield Skipped(uri=uri, reason=f"left out: {'; '.join(broken.left_out)}")


class _Tree:
    def __init__(self, stem: str) -> None:
        self._stem = stem
        self._nodes: dict[str, _Node] = {}  # by uuid, in the order of the file
        self._loose: dict[str, list[tuple[int, str]]] = {}  # session -> odd records of it
        self._results: dict[str, _Result] = {}  # by the id of the call of a tool

    def add(self, line: int, record: dict[str, Any]) -> None:
        session = str(record.get("sessionId") or self._stem)
        uuid, kind = record.get("uuid"), record.get("type")
        if not isinstance(kind, str):
            self._loose.setdefault(session, []).append((line, "no record"))
            return
        if not isinstance(uuid, str) or not uuid:
            if kind in _SPEAKERS:
                self._loose.setdefault(session, []).append((line, "no uuid"))
            return
        self._add_results(record)
        parent = record.get("parentUuid") or record.get("logicalParentUuid")
        # a session that is resumed may have its records once more
        self._nodes.setdefault(
            uuid,
            _Node(
                line,
                session,
                parent if isinstance(parent, str) else "",
                not record.get("isSidechain"),
                _slim(record),
            ),
        )

    def _add_results(self, record: dict[str, Any]) -> None:
        """Note how calls of tools ended. Calls that are made at once end beside the branch."""
        for part in _parts(record):
            if part.get("type") == "tool_result":
                content = part.pop("content", "")
                if isinstance(content, list):
                    content = next(
                        (one.get("text") for one in content if isinstance(one, dict)), ""
                    )
                code = _EXIT.match(content) if isinstance(content, str) else None
                failed = part.get("is_error") is True
                exit_code = int(code[1]) if failed and code else None if failed else 0
                self._results[str(part.get("tool_use_id"))] = _Result(failed, exit_code)

    def sessions(self) -> Iterator[CodingSession]:
        leaves: dict[str, str] = {}
        for uuid, node in self._nodes.items():
            if node.branches:
                leaves[node.session] = uuid
        for name in dict.fromkeys((*leaves, *self._loose)):
            session = CodingSession(PROGRAM, name)
            for node in self._branch(leaves.get(name, ""), name):
                session.entries.read(node.line, node, _turn)
                self._note_actions(session, node)
            for line, problem in self._loose.get(name, ()):
                session.entries.leave_out(line, problem)
            if session.entries.turns or session.entries.left_out:
                yield session

    def _branch(self, leaf: str, session: str) -> list[_Node]:
        """The records of a session on the branch that ends with a leaf, in the order of the file.
        Where one is lost, the branch goes on with what stood before it."""
        taken: dict[str, _Node] = {}
        while leaf and leaf not in taken:
            node = taken[leaf] = self._nodes[leaf]
            is_lost = node.parent and node.parent not in self._nodes
            leaf = self._before[leaf] if is_lost else node.parent
        nodes = (node for node in taken.values() if node.session == session)
        return sorted(nodes, key=lambda node: node.line)

    @cached_property
    def _before(self) -> dict[str, str]:
        """The record that stands before each in the file, but for those of sub-agents."""
        before: dict[str, str] = {}
        last = ""
        for uuid, node in self._nodes.items():
            before[uuid] = last
            last = uuid if node.branches else last
        return before

    def _note_actions(self, session: CodingSession, node: _Node) -> None:
        record, actions = node.record, session.actions
        branch = record.get("gitBranch")
        actions.move(folder=record.get("cwd"), branch=None if branch == "HEAD" else branch)
        for part in _parts(record):
            result = self._results.get(str(part.get("id")))
            given = part.get("input")
            if part.get("type") != "tool_use" or result is None or not isinstance(given, dict):
                continue
            name = part.get("name")
            if name == _SHELL:
                actions.run(given.get("command"), result.exit_code, failed=result.failed)
            elif isinstance(name, str) and name in _EDITS and not result.failed:
                actions.edit(given.get(_EDITS[name]))


def _slim(record: dict[str, Any]) -> dict[str, Any]:
    """A record without what may be large and is not read: a whole tree is kept at once."""
    for part in _parts(record):
        part.pop("thinking", None)
        given = part.get("input")
        if isinstance(given, dict):
            part["input"] = {name: value for name, value in given.items() if name in _GIVEN}
    if record.get("toolUseResult"):
        record["toolUseResult"] = True
    return record


def _turn(node: _Node, odd: Note) -> Turn | None:
    record = node.record
    speaker, message = record.get("type"), record.get("message")
    if speaker == "attachment":
        return _queued(node, odd)
    if speaker not in _SPEAKERS or any(record.get(mark) for mark in _NOT_MESSAGES):
        return None
    if not isinstance(message, dict):
        odd("no message")
        return None
    is_result = any(part.get("type") == "tool_result" for part in _parts(record))
    if message.get("model") == _SYNTHETIC or (speaker == USER and is_result):
        return None
    return turn(
        str(speaker),
        message.get("content"),
        odd,
        id=record["uuid"],
        at=record.get("timestamp"),
        line=node.line,
    )


def _queued(node: _Node, odd: Note) -> Turn | None:
    """What the user typed while the agent worked."""
    attachment = node.record.get("attachment")
    if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
        return None
    if attachment.get("isMeta") or attachment.get("commandMode", "prompt") != "prompt":
        return None
    at = node.record.get("timestamp")
    prompt = attachment.get("prompt")
    return turn(USER, prompt, odd, id=node.record["uuid"], at=at, line=node.line)


def _parts(record: dict[str, Any]) -> list[dict[str, Any]]:
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    parts = content if isinstance(content, list) else []
    return [part for part in parts if isinstance(part, dict)]
