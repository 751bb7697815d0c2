"""Transcripts of Codex: `~/.codex/sessions/**/rollout-*.jsonl`.

A thread that was reverted goes on in another file, which says up to where the one before it counts.
In earlier versions a record says how many turns were rolled back. The format is not a published
one: records of unknown types are passed over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from ..document import Document, Skipped, Turn
from ..entries import Entries, Note, words
from .json_lines import read_lines
from .session import ASSISTANT, USER, CodingSession, nothing_said, turn

PROGRAM = "Codex"
_FOLDERS = "[0-9]*/[0-9]*/[0-9]*"  # of the days below `sessions`
_DEPTH = 3
_FILE_LINE = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_EXIT = re.compile(r"(?:Process exited with code|[Ee]xit code:?) (\d+)")
_TYPED = "user."  # kinds of what the user gave begin with it

_Numbered = tuple[int, dict[str, Any]]  # line, and the record in it


def is_record(value: Any) -> bool:
    """Whether a line is the first one of a rollout."""
    if not isinstance(value, dict) or value.get("type") != "session_meta":
        return False
    return isinstance(value.get("payload"), dict) and isinstance(_meta(value).get("id"), str)


def read(path: Path, uri: str) -> Iterator[Document | Skipped]:
    """Read a thread as a chat, with the uri `<uri>#<id>`, by the newest of its files."""
    broken = Entries("line")
    records = list(_records(path, uri, broken))
    meta = next((record for _, record in records if is_record(record)), None)
    if meta is None:
        yield from nothing_said(uri)
        return
    id = _meta(meta)["id"]
    files = _files(path, id)
    if path != files[-1]:
        reason = f"the thread goes on in {files[-1].name}, and is read with it"
        yield Skipped(uri=uri, reason=reason)
        return
    for earlier in reversed(files[:-1]):
        end = _end_of_base(records, id)
        before = _records(earlier, str(earlier), Entries("line"))
        # the first record says of what the file goes on; lines are of the newest alone
        records = [(0, one) for _, one in before if _is_before(one, end)] + [
            (0, one) for _, one in records
        ]
    session = CodingSession(PROGRAM, id)
    _replay(session, _taken(records))
    if session.entries.turns or session.entries.left_out:
        yield session.document(uri, cited=len(files) == 1)
    else:
        yield from nothing_said(uri)
    if broken.left_out:
        yield Skipped(uri=uri, reason=f"left out: {'; '.join(broken.left_out)}")


def _records(path: Path, uri: str, broken: Entries) -> Iterator[_Numbered]:
    for number, record in read_lines(path, uri):
        if isinstance(record, dict) and isinstance(record.get("payload"), dict):
            yield number, _slim(record)
        elif not isinstance(record, dict):
            broken.leave_out(number, "no record")


def _slim(record: dict[str, Any]) -> dict[str, Any]:
    """A record without what is long and not read."""
    payload = record["payload"]
    if record.get("type") == "compacted":
        payload = {"message": payload.get("message")}
    elif record.get("type") not in ("session_meta", "turn_context", "response_item", "event_msg"):
        payload = {}
    return {**record, "payload": payload}


def _meta(record: dict[str, Any]) -> dict[str, Any]:
    payload: dict[str, Any] = record["payload"]
    return payload


def _files(path: Path, id: str) -> list[Path]:
    """The files of a thread, the oldest first, if it has several below `sessions`."""
    root = path.parents[_DEPTH] if len(path.parents) > _DEPTH else path.parent
    folders = (path.parent.glob(f"rollout-*-{id}*"), root.glob(f"{_FOLDERS}/rollout-*-{id}*"))
    found = {file for some in folders for file in some if file.suffix == ".jsonl"}
    found = {file for file in found if not file.is_symlink()}
    return sorted({*found, path}, key=lambda file: file.name)


def _end_of_base(records: Iterable[_Numbered], id: str) -> int:
    """Up to which ordinal the file before counts; 0: no further."""
    for _, record in records:
        base = _meta(record).get("history_base")
        if isinstance(base, dict) and base.get("thread_id") == id:
            end = base.get("end_ordinal_exclusive")
            return end if isinstance(end, int) else 0
    return 0


def _is_before(record: dict[str, Any], end: int) -> bool:
    ordinal = record.get("ordinal")
    return isinstance(ordinal, int) and ordinal < end


def _taken(records: Iterable[_Numbered]) -> list[_Numbered]:
    """The records without those of turns that were rolled back, and of summaries."""
    taken: list[_Numbered] = []
    for number, record in records:
        payload = _meta(record)
        if payload.get("type") == "thread_rolled_back":
            _roll_back(taken, payload.get("num_turns"))
        elif record.get("type") == "compacted":
            _drop_summary(taken, payload.get("message"))
        else:
            taken.append((number, record))
    return taken


def _drop_summary(taken: list[_Numbered], summary: Any) -> None:
    """Drop the last words of the agent if they are the summary, which no user has seen."""
    last = next((n for n in range(len(taken) - 1, -1, -1) if _said(taken[n][1])), None)
    is_summary = last is not None and isinstance(summary, str)
    if last is not None and is_summary and summary.endswith(_said(taken[last][1])):
        del taken[last]


def _roll_back(taken: list[_Numbered], turns: Any) -> None:
    left = turns if isinstance(turns, int) else 0
    while taken and left > 0:
        _, record = taken.pop()
        left -= _role(record) == USER and bool(_prompt(record))


def _said(record: dict[str, Any]) -> str:
    """What the agent said in a record, as it is."""
    if _role(record) != ASSISTANT:
        return ""
    return words(_meta(record).get("content"))


def _role(record: dict[str, Any]) -> str:
    payload = _meta(record)
    if record.get("type") != "response_item" or payload.get("type") != "message":
        return ""
    role = payload.get("role")
    return role if role in (USER, ASSISTANT) else ""


def _prompt(record: dict[str, Any]) -> list[Any]:
    """The parts of a message of the user that the user gave, as far as the record says so."""
    payload = _meta(record)
    content = payload.get("content")
    parts = content if isinstance(content, list) else [content]
    passed = payload.get("internal_chat_message_metadata_passthrough")
    kinds = passed.get("content_item_kinds") if isinstance(passed, dict) else None
    if not isinstance(kinds, list) or len(kinds) != len(parts):
        return parts if turn(USER, parts, lambda problem: None) else []
    return [
        part
        for part, kind in zip(parts, kinds, strict=True)
        if isinstance(kind, str) and kind.startswith(_TYPED)
    ]


def _replay(session: CodingSession, records: Iterable[_Numbered]) -> None:
    calls: dict[str, dict[str, Any]] = {}
    # newer versions say how a command ended, earlier ones what the model was told of it
    has_items = any(_meta(record).get("type") == "item_completed" for _, record in records)
    for number, record in records:
        payload = _meta(record)
        kind = payload.get("type")
        if record.get("type") in ("session_meta", "turn_context"):
            _move(session, payload)
        elif _role(record):
            session.entries.read(number, record, partial(_turn, line=number))
        elif kind == "item_completed":
            _note_item(session, payload.get("item"))
        elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
            calls[str(payload.get("call_id"))] = payload
        elif kind in ("function_call_output", "custom_tool_call_output") and not has_items:
            _note_output(session, calls.get(str(payload.get("call_id"))), payload.get("output"))


def _turn(record: dict[str, Any], odd: Note, line: int) -> Turn | None:
    payload, role = _meta(record), _role(record)
    content = _prompt(record) if role == USER else payload.get("content")
    id, at = payload.get("id"), record.get("timestamp")
    if not isinstance(id, str) or not id:
        # of earlier versions: the time tells one from another
        id = f"{at} {role}" if at else ""
    return turn(role, content, odd, id=id, at=at, line=line)


def _move(session: CodingSession, payload: dict[str, Any]) -> None:
    git = payload.get("git")
    git = git if isinstance(git, dict) else {}
    session.actions.move(
        folder=payload.get("cwd"), branch=git.get("branch"), commit=git.get("commit_hash")
    )


def _note_item(session: CodingSession, item: Any) -> None:
    if not isinstance(item, dict):
        return
    status = item.get("status")
    if item.get("type") == "CommandExecution" and status in ("failed", "completed"):
        session.actions.run(item.get("command"), item.get("exit_code"))
    elif item.get("type") == "FileChange" and status == "completed":
        changes = item.get("changes")
        for path in changes if isinstance(changes, dict) else ():
            session.actions.edit(path)


def _note_output(session: CodingSession, call: dict[str, Any] | None, output: Any) -> None:
    """Note a call by what the model was told of it."""
    if call is None:
        return
    code = _exit_code(output)
    given = call.get("arguments") or call.get("input") or call.get("action")
    patch = given if isinstance(given, str) else ""
    try:
        given = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        given = None
    given = given if isinstance(given, dict) else {}
    command = given.get("command", given.get("cmd"))
    patch = json.dumps(command) if "*** Begin Patch" in json.dumps(command) else patch
    if "*** Begin Patch" in patch:
        if code in (0, None):
            for path in _FILE_LINE.findall(patch.replace("\\n", "\n")):
                session.actions.edit(path.strip())
    elif command is not None and code is not None:
        session.actions.run(command, code)


def _exit_code(output: Any) -> int | None:
    if isinstance(output, str):
        try:
            decoded = json.loads(output)
        except ValueError:
            decoded = None
        if isinstance(decoded, dict):
            output = decoded
    if isinstance(output, dict):
        facts = output.get("metadata")
        code = facts.get("exit_code") if isinstance(facts, dict) else output.get("exit_code")
        return code if isinstance(code, int) else None
    # the first lines tell; what the command said follows
    found = _EXIT.search(output[:200]) if isinstance(output, str) else None
    return int(found[1]) if found else None
