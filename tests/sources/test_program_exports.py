"""Exports of ChatGPT and Claude: zips, folders, and conversations.json of any size."""

from __future__ import annotations

import io
import json
import signal
import struct
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from remloom import Memory, Resource
from remloom.sources import Document, Skipped, open_source
from remloom.sources.chats import exports as exports_module

ABOUT = "I am a vegetarian and live in Kiel."


def node(name: str, parent: str | None, role: str, text: Any, **message: Any) -> dict[str, Any]:
    """A node as ChatGPT writes it."""
    content = text if isinstance(text, dict) else {"content_type": "text", "parts": [text]}
    body = {
        "id": f"m-{name}",
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": 1704448800.25,
        "update_time": None,
        "content": content,
        "status": "finished_successfully",
        "end_turn": True,
        "weight": 1.0,
        "metadata": {},
        "recipient": "all",
        "channel": None,
        **message,
    }
    return {"id": name, "message": body, "parent": parent, "children": []}


def chatgpt(
    id: str, nodes: list[dict[str, Any]], current: str, title: str = "Ferries"
) -> dict[str, Any]:
    root = {"id": "root", "message": None, "parent": None, "children": []}
    return {
        "title": title,
        "create_time": 1704448800.0,
        "update_time": 1704448900.0,
        "mapping": {"root": root, **{one["id"]: one for one in nodes}},
        "moderation_results": [],
        "current_node": current,
        "conversation_id": id,
        "is_archived": False,
        "id": id,
    }


def simple(id: str, text: str = "When does the ferry go?") -> dict[str, Any]:
    nodes = [node("a", "root", "user", text), node("b", "a", "assistant", "At nine.")]
    return chatgpt(id, nodes, "b")


def whole() -> dict[str, Any]:
    """A conversation with one of everything."""
    instructions = {
        "content_type": "user_editable_context",
        "user_profile": f"The user provided the following:\n```{ABOUT}```",
        "user_instructions": "Also:\n```Answer briefly.```",
    }
    memories = {"content_type": "model_editable_context", "model_set_context": "1. likes tea"}
    hidden = {"is_visually_hidden_from_conversation": True}
    seen = {
        "content_type": "multimodal_text",
        "parts": [
            {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1"},
            {"content_type": "audio_transcription", "text": "And what is this?"},
            "A photo of mine.",
        ],
    }
    return chatgpt(
        "c-whole",
        [
            node("s", "root", "system", "be good", metadata=hidden),
            node("i", "s", "user", instructions, metadata=hidden),
            node("m", "i", "assistant", memories, metadata=hidden),
            node("q", "m", "user", "How many berths?"),
            node("x", "q", "assistant", "an abandoned answer"),
            node("t", "q", "assistant", {"content_type": "thoughts", "thoughts": []}),
            node(
                "c", "t", "assistant", {"content_type": "code", "text": "search()"}, recipient="web"
            ),
            node("o", "c", "tool", {"content_type": "execution_output", "text": "TOOL OUTPUT"}),
            node("r", "o", "assistant", "Nine. \ue200cite\ue202turn0search0\ue201"),
            node("v", "r", "user", seen, create_time=1704449000),
        ],
        "v",
    )


def claude(id: str, messages: list[tuple[str, str, str | None]]) -> dict[str, Any]:
    """A conversation as Claude writes it; messages are (id, text, parent)."""
    return {
        "uuid": id,
        "name": "Berths",
        "summary": "a summary that the model wrote",
        "created_at": "2026-01-12T09:00:00.000000Z",
        "updated_at": "2026-01-12T09:10:00.000000Z",
        "account": {"uuid": "acc"},
        "chat_messages": [
            {
                "uuid": uuid,
                "text": text,
                "content": [
                    {"type": "thinking", "thinking": "a hidden thought"},
                    {"type": "text", "text": text, "citations": []},
                    {"type": "tool_use", "name": "search", "input": {"q": "berths"}},
                    {"type": "tool_result", "content": [{"type": "text", "text": "TOOL OUTPUT"}]},
                ],
                "sender": "human" if number % 2 == 0 else "assistant",
                "created_at": f"2026-01-12T09:0{number}:00.000000Z",
                "attachments": [{"file_name": "a.txt", "extracted_content": "ATTACHED"}],
                "files": [],
                **({"parent_message_uuid": parent} if parent else {}),
            }
            for number, (uuid, text, parent) in enumerate(messages)
        ],
    }


def zipped(path: Path, files: dict[str, Any], **options: Any) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, **options) as archive:
        for name, value in files.items():
            archive.writestr(name, value if isinstance(value, str | bytes) else json.dumps(value))
    return path


def documents(path: Path) -> list[Document]:
    found = list(open_source(path))
    assert not any(isinstance(one, Skipped) for one in found), found
    return [one for one in found if isinstance(one, Document)]


def said(document: Document) -> list[tuple[str, str]]:
    return [(turn.message.speaker, turn.message.text) for turn in document.turns]


def failure(path: Path) -> str:
    *_, skipped = open_source(path)
    assert isinstance(skipped, Skipped)
    assert skipped.failed
    return skipped.reason


def test_of_chatgpt_the_words_of_the_shown_branch_and_the_custom_instructions_are_read(
    tmp_path: Path,
):
    path = zipped(tmp_path / "export.zip", {"conversations.json": [whole()], "user.json": {}})
    (document,) = documents(path)
    assert said(document) == [
        ("user", f"{ABOUT}\n\nAnswer briefly."),
        ("user", "How many berths?"),
        ("assistant", "Nine."),
        ("user", "And what is this?\nA photo of mine."),
    ]
    assert document.uri == f"{path}#c-whole"
    assert document.title == "Ferries"
    assert document.turns[3].message.id == "m-v"
    assert document.turns[3].message.at == datetime(2024, 1, 5, 10, 3, 20, tzinfo=UTC)
    assert document.metadata == {"program": "ChatGPT"}


def test_custom_instructions_are_taken_as_the_user_wrote_them_if_they_are_there(tmp_path: Path):
    value = whole()
    written = {"about_user_message": "I row.", "about_model_message": "No ```code```."}
    value["mapping"]["i"]["message"]["metadata"]["user_context_message_data"] = written
    (document,) = documents(zipped(tmp_path / "export.zip", {"conversations.json": [value]}))
    assert said(document)[0] == ("user", "I row.\n\nNo ```code```.")


def test_of_claude_nothing_but_what_was_said_is_read(tmp_path: Path):
    value = claude("k1", [("m1", "How many berths?", None), ("m2", "Nine.", None)])
    users = '[{"email_address": "ann@example.org", "verified_phone_number": "+49 1"}]'
    path = zipped(tmp_path / "data.zip", {"users.json": users, "conversations.json": [value]})
    (document,) = documents(path)
    assert said(document) == [("human", "How many berths?"), ("assistant", "Nine.")]
    assert (document.uri, document.title) == (f"{path}#k1", "Berths")
    assert document.turns[1].message.id == "m2"
    assert document.turns[1].message.at == datetime(2026, 1, 12, 9, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("leaf", "expected"),
    [(None, ["a", "a2", "b2"]), ("b", ["a", "b"]), ("gone", ["a", "a2", "b2"])],
)
def test_of_claude_the_branch_of_the_leaf_is_read_or_else_of_the_last(
    tmp_path: Path, leaf: str | None, expected: list[str]
):
    value = claude("k", [("a", "a", None), ("b", "b", "a"), ("a2", "a2", "a"), ("b2", "b2", "a2")])
    value["current_leaf_message_uuid"] = leaf
    (document,) = documents(zipped(tmp_path / "data.zip", {"conversations.json": [value]}))
    assert [text for _, text in said(document)] == expected


def test_messages_of_claude_with_a_broken_link_are_all_read(tmp_path: Path):
    value = claude("k", [("a", "a", None), ("b", "b", "lost"), ("c", "c", "b")])
    (document,) = documents(zipped(tmp_path / "data.zip", {"conversations.json": [value]}))
    assert [text for _, text in said(document)] == ["a", "b", "c"]


def test_parts_of_an_export_are_read_in_order_and_each_conversation_once(tmp_path: Path):
    files = {
        "export/conversations-010.json": [simple("c3")],
        "export/conversations-002.json": [simple("c2"), simple("c1")],
        "export/conversations-000.json": [simple("c1")],
    }
    *found, skipped = open_source(zipped(tmp_path / "export.zip", files))
    assert [one.uri.rpartition("#")[2] for one in found] == ["c1", "c2", "c3"]
    assert isinstance(skipped, Skipped)
    assert skipped.reason == "left out: entry 3: another has the same id"


def test_an_unpacked_export_is_read_without_the_account_and_the_uploads(tmp_path: Path):
    for name, value in {
        "conversations.json": [simple("c1")],
        "user.json": {"email": "ann@example.org"},
        "users.json": [{"email_address": "ann@example.org"}],
        "message_feedback.json": [],
    }.items():
        (tmp_path / name).write_text(json.dumps(value))
    (tmp_path / "chat.html").write_text("<html>all of it once more</html>")
    (tmp_path / "file-abc-report.md").write_text("# ATTACHED")
    (tmp_path / "notes.md").write_text("# A note of somebody else's")
    found = list(open_source(tmp_path))
    read = [one.uri for one in found if isinstance(one, Document)]
    assert read == [f"{tmp_path}/conversations.json#c1", f"{tmp_path}/notes.md"]
    (account,) = open_source(tmp_path / "users.json")
    assert isinstance(account, Skipped)


def test_a_users_json_that_stands_alone_is_a_document(tmp_path: Path):
    (tmp_path / "users.json").write_text('{"berths": 9}')
    (document,) = documents(tmp_path)
    assert document.media_type == "application/json"


def test_a_conversations_json_larger_than_other_files_may_be_is_read(tmp_path: Path):
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([simple(f"c{number}") for number in range(9)]))
    assert len(list(open_source(path, max_bytes=1000))) == 9
    # what only looks like one is not
    path.write_text(json.dumps([{"mapping": {"a": 1}, "size": "x" * 1000}]))
    (skipped,) = open_source(path, max_bytes=1000)
    assert isinstance(skipped, Skipped)
    assert "larger than" in skipped.reason


def test_a_byte_order_mark_and_indentation_do_no_harm(tmp_path: Path):
    path = tmp_path / "conversations.json"
    path.write_text("\ufeff\n" + json.dumps([simple("c1")], indent=2), encoding="utf-8")
    assert len(documents(path)) == 1


def test_entries_that_are_no_conversations_are_counted(tmp_path: Path):
    empty = chatgpt("c2", [node("s", "root", "system", "be good")], "s")
    value = [simple("c1"), 7, "x", None, [1, [2]], {"a": {"b": []}}, empty]
    path = zipped(tmp_path / "export.zip", {"conversations.json": value})
    document, *skipped = open_source(path)
    assert isinstance(document, Document)
    assert [one.reason for one in skipped if isinstance(one, Skipped)] == [
        "left out: entry 2, 3, 4, 5, 6: not a conversation",
        "left out: entry 7: nothing is said in it",
    ]


def test_an_export_without_conversations_says_so(tmp_path: Path):
    (skipped,) = open_source(zipped(tmp_path / "export.zip", {"conversations.json": []}))
    assert isinstance(skipped, Skipped)
    assert skipped.reason == "there are no conversations in it"


def test_inside_a_folder_a_zip_is_read_only_if_its_name_matches(tmp_path: Path):
    zipped(tmp_path / "export.zip", {"conversations.json": [simple("c1")]})
    (skipped,) = open_source(tmp_path)
    assert isinstance(skipped, Skipped)
    assert not skipped.failed
    (document,) = open_source(tmp_path, glob="*.zip")
    assert isinstance(document, Document)


# -- what is damaged or made to do harm ----------------------------------------------------------


def test_conversations_before_a_damage_are_read_and_the_damage_is_told(tmp_path: Path):
    text = json.dumps([simple("c1"), simple("c2"), simple("c3")])
    path = tmp_path / "conversations.json"
    path.write_text(text[: len(text) - 500])
    assert [one.uri.rpartition("#")[2] for one in list(open_source(path))[:2]] == ["c1", "c2"]
    assert "damaged or cut" in failure(path)


def test_an_odd_conversation_costs_only_itself(tmp_path: Path):
    whole = [json.dumps(simple(f"c{number}")) for number in range(5)]
    path = tmp_path / "conversations.json"
    for odd, told in (
        ('{"title": }', "its JSON is damaged"),
        ('{"title": "x"}}', "its JSON is damaged"),
        ("nonsense", "its JSON is damaged"),
        ("[" * 500 + "]" * 500, "JSON nested too deeply"),
        (whole[2].replace("At nine", "\xff"), "bytes that are no UTF-8"),
        (whole[2].replace("At nine", "\0"), ""),
        (whole[2].replace('"mapping"', '"size": NaN, "mapping"'), ""),
        (whole[2].replace('"mapping"', f'"size": {"9" * 5000}, "mapping"'), ""),
        (whole[2].replace('"mapping"', '"size": 1e999, "mapping"'), ""),
    ):
        path.write_bytes(f"[{', '.join([*whole[:2], odd, *whole[3:]])}]".encode("latin-1"))
        found = list(open_source(path))
        read = [one.uri.rpartition("#")[2] for one in found if isinstance(one, Document)]
        wanted = ["c0", "c1", "c2", "c3", "c4"]
        if told and "UTF-8" not in told:
            wanted.remove("c2")
        assert read == wanted, (odd, found)
        reasons = [one.reason for one in found if isinstance(one, Skipped)]
        assert reasons == ([f"left out: entry 3: {told}"] if told else [])


@pytest.mark.parametrize("name", ["../conversations.json", "a/../../x", "/etc/x", "C:\\x", "..\\x"])
def test_a_zip_that_leads_out_of_itself_is_refused(tmp_path: Path, name: str):
    files = {"conversations.json": [simple("c1")], name: "x"}
    assert "would lead out of it" in failure(zipped(tmp_path / "export.zip", files))


def test_a_zip_of_something_else_says_what_is_missing(tmp_path: Path):
    assert "without conversations.json" in failure(zipped(tmp_path / "photos.zip", {"a.txt": "x"}))


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path):
    bomb = "[" + " " * 30_000_000 + "]"
    assert "that is no text" in failure(zipped(tmp_path / "bomb.zip", {"conversations.json": bomb}))


def test_a_zip_that_lies_about_its_size_ends_where_it_said(tmp_path: Path):
    path = zipped(tmp_path / "liar.zip", {"conversations.json": "[" + " " * 3_000_000 + "]"})
    data = path.read_bytes()
    # both places that declare the size unpacked
    small = data.replace(struct.pack("<L", 3_000_002), struct.pack("<L", 2000))
    path.write_bytes(small)
    assert "damaged or cut" in failure(path)


def test_an_encrypted_zip_is_refused(tmp_path: Path):
    path = zipped(tmp_path / "export.zip", {"conversations.json": [simple("c1")]})
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    assert "encrypted" in failure(path)


def test_a_truncated_zip_fails_wherever_it_is_cut(tmp_path: Path):
    data = zipped(tmp_path / "export.zip", {"conversations.json": [simple("c1")]}).read_bytes()
    for end in (4, 100, len(data) // 2, len(data) - 30, len(data) - 1):
        path = tmp_path / f"{end}.zip"
        path.write_bytes(data[:end])
        assert failure(path)


def test_a_damaged_byte_in_a_zip_is_told(tmp_path: Path):
    path = zipped(tmp_path / "export.zip", {"conversations.json": [simple("c1")]})
    data = bytearray(path.read_bytes())
    data[120] ^= 0xFF
    path.write_bytes(data)
    assert failure(path)


def test_a_zip_with_a_huge_index_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(exports_module, "_LARGEST_INDEX", 1000)
    files = {"conversations.json": [simple("c1")]} | {f"file-{n}": "" for n in range(100)}
    assert "index" in failure(zipped(tmp_path / "many.zip", files))


@pytest.mark.parametrize("opening", ["[", '[{"title": "", "mapping": ', '{"a":'])
def test_json_nested_without_end_takes_no_memory(tmp_path: Path, opening: str):
    text = '[{"title": "t", "mapping": {}}, ' + opening * 200_000
    path = zipped(tmp_path / "deep.zip", {"conversations.json": text}, compresslevel=0)
    path.write_bytes(path.read_bytes())
    bare = tmp_path / "conversations.json"
    bare.write_text(text)
    tracemalloc.start()
    try:
        assert "too deeply" in failure(bare)
        assert failure(path)
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()


def test_a_conversation_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(exports_module, "LARGEST", 500_000)
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([simple("c1"), simple("c2", "x" * 600_000)]))
    first, _ = open_source(path)
    assert isinstance(first, Document)
    assert "one conversation is larger than" in failure(path)


def test_a_tree_that_leads_round_in_a_circle_ends(tmp_path: Path):
    value = chatgpt("c1", [node("a", "b", "user", "hi"), node("b", "a", "assistant", "yo")], "b")
    (document,) = documents(zipped(tmp_path / "export.zip", {"conversations.json": [value]}))
    assert ("user", "hi") in said(document)


HOSTILE: list[Any] = [None, 7, "x", [], [7], {"a": 7}]


@pytest.mark.parametrize("value", HOSTILE)
def test_fields_of_other_types_stop_nothing(tmp_path: Path, value: Any):
    one = simple("c1")
    conversations = [
        {**one, "mapping": {"a": value}},
        {**one, "mapping": {"a": {"message": value}}},
        {**one, "id": value, "conversation_id": value, "title": value, "current_node": value},
        *(
            chatgpt("c2", [node("a", "root", "user", "hi", **{field: value})], "a")
            for field in ("id", "author", "content", "create_time", "metadata", "recipient")
        ),
        chatgpt("c3", [node("a", "root", "user", {"content_type": "text", "parts": value})], "a"),
        {**claude("k1", []), "chat_messages": [value]},
        {**claude("k2", [("a", "a", None)]), "name": value},
    ]
    path = zipped(
        tmp_path / "export.zip", {"conversations.json": [one, *conversations, simple("z")]}
    )
    found = list(open_source(path))
    assert not any(isinstance(item, Skipped) and item.failed for item in found), found
    assert any(item.uri.endswith("#z") for item in found)


# -- memory --------------------------------------------------------------------------------------


class Endless(io.RawIOBase):
    """An export of `count` conversations, made while it is read."""

    def __init__(self, count: int) -> None:
        self._parts = self._write(count)
        self._rest = b""

    def _write(self, count: int) -> Iterator[bytes]:
        yield b"["
        for number in range(count):
            yield b", " * bool(number) + json.dumps(simple(f"c{number}", "tea " * 2000)).encode()
        yield b"]"

    def read(self, size: int = -1) -> bytes:
        while len(self._rest) < size and (part := next(self._parts, b"")):
            self._rest += part
        data, self._rest = self._rest[:size], self._rest[size:]
        return data


def test_memory_does_not_grow_with_an_export():
    tracemalloc.start()
    try:
        reading = exports_module._Reading("x")
        # 6 MB of JSON
        assert sum(1 for _ in reading.read(Endless(600))) == 600
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_an_export_is_read_into_memory_once_and_a_longer_one_goes_on(tmp_path: Path):
    path = tmp_path / "export.zip"
    zipped(path, {"conversations.json": [whole(), simple("c1")]})
    with Memory.open(tmp_path / "memory", embedder="none") as memory:
        assert [item.status for item in memory.read(path).items] == ["read", "read"]
        assert memory.search_text("vegetarian").records[0].uri == f"{path}#c-whole"
        count = memory.admin.stats().records["resources"]
        zipped(path, {"conversations.json": [simple("c2"), whole(), simple("c1")]})
        statuses = [item.status for item in memory.read(path).items]
        assert statuses == ["read", "unchanged", "unchanged"]
        assert memory.admin.stats().records["resources"] == count + 2


KILLED = """
import os, signal, sys
from remloom import Memory, Resource

def kill(done, total):
    if done == 80:
        os.kill(os.getpid(), signal.SIGKILL)

with Memory.open(sys.argv[1], embedder="none") as memory:
    memory.read(sys.argv[2], progress=kill)
"""


@pytest.mark.crash
def test_a_reading_that_was_killed_goes_on_and_nothing_is_there_twice(tmp_path: Path):
    path = tmp_path / "export.zip"
    # more than one batch of what is written together before the kill, and some after it
    zipped(path, {"conversations.json": [simple(f"c{number}") for number in range(100)]})
    home = tmp_path / "memory"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(home), str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    with Memory.open(home, embedder="none") as memory:
        statuses = [item.status for item in memory.read(path).items]
        assert len(statuses) == 100
        assert 0 < statuses.count("unchanged") <= 80
        assert memory.admin.stats().records["resources"] == 200
        assert {item.status for item in memory.read(path).items} == {"unchanged"}


def grown(id: str, *more: str, title: str = "Ferries") -> dict[str, Any]:
    """A conversation of two turns, and more a minute apart."""
    nodes = [
        node("a", "root", "user", "When does the ferry go?"),
        node("b", "a", "assistant", "At nine."),
    ]
    for number, text in enumerate(more, 1):
        at = 1704448800.25 + 60 * number
        nodes.append(node(f"n{number}", nodes[-1]["id"], "user", text, create_time=at))
    return chatgpt(id, nodes, nodes[-1]["id"], title)


def turns_of(memory: Memory) -> list[tuple[str, str]]:
    chunks = [one for one in memory.admin.records("resources") if isinstance(one, Resource)]
    return sorted((one.uri.rpartition("/")[2], one.content) for one in chunks)


def test_the_next_export_goes_on_with_the_conversations_of_the_last(tmp_path: Path) -> None:
    months = {
        "january": [grown("c1"), grown("c2")],
        "february": [grown("c1", "And back?"), grown("c2", title="Renamed"), simple("c3")],
    }
    for month, conversations in months.items():
        folder = tmp_path / month
        folder.mkdir()
        (folder / "conversations.json").write_text(json.dumps(conversations))
    january, february = (tmp_path / month / "conversations.json" for month in months)
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        memory.read(january)
        first = memory.read(february)
        assert [(one.uri.split("/")[-2], one.status) for one in first.items] == [
            ("january", "read"),
            ("january", "unchanged"),
            ("february", "read"),
        ]
        after = turns_of(memory)
        both = ["When does the ferry go?", "At nine."]
        assert sorted(text for _, text in after) == sorted([*both * 3, "And back?"])
        # both of them again, the older one first
        again = [item.status for path in (january, february) for item in memory.read(path).items]
        assert again == ["unchanged"] * 5
        assert turns_of(memory) == after


def test_two_exports_that_are_read_together_are_one_in_either_order(tmp_path: Path) -> None:
    found = []
    for order in (("a", "b"), ("b", "a")):
        root = tmp_path / "".join(order)
        for name, more in zip(order, [(), ("And back?",)], strict=True):
            (root / name).mkdir(parents=True)
            (root / name / "conversations.json").write_text(json.dumps([grown("c1", *more)]))
        with Memory.open(root / "home", embedder="none") as memory:
            memory.read(root)
            found.append([text for _, text in turns_of(memory)])
    assert found[0] == found[1]
    assert len(found[0]) == 3


def test_another_conversation_of_the_same_id_takes_nothing_away(tmp_path: Path) -> None:
    def said(text: str, minutes: int) -> dict[str, Any]:
        at = 1704448800.25 + 60 * minutes
        turn = node(f"of {text}", "root", "user", text, create_time=at)
        return chatgpt("c1", [turn], turn["id"], "Ferries")

    exports = {"mine": said("Mine.", 0), "older": said("Older.", -9), "newer": said("Newer.", 9)}
    for name, conversation in exports.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "conversations.json").write_text(json.dumps([conversation]))
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        for _ in range(2):
            for name in exports:
                memory.read(tmp_path / name / "conversations.json")
            assert sorted(text for _, text in turns_of(memory)) == ["Mine.", "Newer.", "Older."]
