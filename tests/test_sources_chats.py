"""Chats in the shapes that programs export and people paste."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from remloom.errors import InvalidInputError
from remloom.model import Message
from remloom.sources import Document, Skipped, from_messages, from_text, open_source
from remloom.text.dates import parse

SAID = [("Ann", "hi"), ("Bob", "yo")]


def read(tmp_path: Path, name: str, value: Any) -> list[Document]:
    (tmp_path / name).write_text(
        value if isinstance(value, str) else json.dumps(value, indent=1), encoding="utf-8"
    )
    found = list(open_source(tmp_path / name))
    assert not any(isinstance(one, Skipped) for one in found), found
    return [one for one in found if isinstance(one, Document)]


def said(document: Document) -> list[tuple[str, str]]:
    return [(turn.message.speaker, turn.message.text) for turn in document.turns]


@pytest.mark.parametrize(
    "value",
    [
        [{"speaker": "Ann", "text": "hi"}, {"speaker": "Bob", "text": "yo"}],
        [
            {"role": "user", "name": "Ann", "content": "hi"},
            {"role": "assistant", "name": "Bob", "content": "yo"},
        ],
        {
            "messages": [
                {"author": name, "content": text, "date": "2024-01-05"} for name, text in SAID
            ]
        },
        {
            "messages": [
                {"from": name, "text": [text[0], {"type": "bold", "text": text[1]}]}
                for name, text in SAID
            ]
        },
        [
            {"type": "message", "user": name, "text": text, "ts": "1704448800.000200"}
            for name, text in SAID
        ],
        {
            "chat_messages": [
                {"sender": name, "content": [{"type": "text", "text": text}]} for name, text in SAID
            ]
        },
        {
            "conversation": {
                f"session_{n}": [{"speaker": name, "text": text}]
                for n, (name, text) in enumerate(SAID)
            }
        },
    ],
    ids=["speaker", "role and name", "author and date", "telegram", "slack", "claude", "sessions"],
)
def test_exports_of_many_shapes_are_chats(tmp_path: Path, value: Any):
    (document,) = read(tmp_path, "chat.json", value)
    assert said(document) == SAID
    assert document.category == "chat"


@pytest.mark.parametrize(
    "entries",
    [
        [{"role": "user", "name": "Ann"}, {"role": "assistant", "name": "Bob"}],
        [{"sender": "Ann", "isCreatedByUser": True}, {"sender": "Bob", "isCreatedByUser": False}],
        [{"name": "Ann", "is_user": True, "date": 1}, {"name": "Bob", "is_user": False, "date": 2}],
    ],
)
def test_who_is_the_assistant_is_taken_from_the_export(
    tmp_path: Path, entries: list[dict[str, Any]]
):
    value = [{**one, "text": text} for one, (_, text) in zip(entries, SAID, strict=True)]
    (document,) = read(tmp_path, "chat.json", value)
    assert said(document) == SAID
    assert [turn.message.role for turn in document.turns] == ["user", "assistant"]


def test_chatgpt_exports_follow_the_current_branch(tmp_path: Path):
    def node(parent: str | None, role: str, text: str, at: float) -> dict[str, Any]:
        message = {
            "author": {"role": role},
            "content": {"content_type": "text", "parts": [text]},
            "create_time": at,
        }
        return {"parent": parent, "message": message}

    value = [
        {
            "title": "Berths",
            "conversation_id": "c1",
            "current_node": "d",
            "mapping": {
                "root": {"parent": None, "message": None},
                "a": node("root", "system", "be good", 1704448800.0),
                "b": node("a", "user", "how many berths?", 1704448801.0),
                "c": node("b", "assistant", "an abandoned answer", 1704448802.0),
                "d": node("b", "assistant", "nine", 1704448803.0),
            },
        }
    ]
    (document,) = read(tmp_path, "conversations.json", value)
    assert said(document) == [("user", "how many berths?"), ("assistant", "nine")]
    assert document.title == "Berths"
    assert document.turns[1].message.at == datetime(2024, 1, 5, 10, 0, 3, tzinfo=UTC)


def test_an_export_of_several_chats_gives_a_document_each(tmp_path: Path):
    value = [{"id": f"c{n}", "messages": [{"speaker": "Ann", "text": f"hi {n}"}]} for n in (1, 2)]
    documents = read(tmp_path, "chats.json", value)
    assert [document.uri.rpartition("#")[2] for document in documents] == ["c1", "c2"]


def test_messages_keep_their_ids_times_and_lines(tmp_path: Path):
    text = (
        '{"messages": [\n{"id": 7, "speaker": "Ann", "text": "héllo", "at": "2025-02-10T09:02:00+01:00"},\n'
        '{"id": 8, "speaker": "Bob", "text": "yo"}\n]}'
    )
    (document,) = read(tmp_path, "chat.json", text)
    first, second = document.turns
    assert (first.message.id, first.lines) == ("7", (2, 2))
    assert first.message.at == datetime(2025, 2, 10, 8, 2, tzinfo=UTC)
    assert (second.message.id, second.lines) == ("8", (3, 3))


def test_the_same_words_said_again_have_a_line_of_their_own(tmp_path: Path):
    value = [{"speaker": name, "text": said} for name in ("Ann", "Bob") for said in ("ok", "text")]
    (document,) = read(tmp_path, "chat.json", value)
    lines = [(4, 4), (8, 8), (12, 12), (16, 16)]
    assert [turn.lines for turn in document.turns] == lines


def test_messages_are_found_however_a_program_escapes_them(tmp_path: Path):
    values = [{"speaker": "Ann", "text": f"see /tmp/{n}: “naïve”\n😀"} for n in range(3)]
    written = "[\n" + ",\n".join(map(json.dumps, values)) + "\n]"
    for escaped in (written, written.replace("/", "\\/"), written.replace("u00ef", "u00EF")):
        (document,) = read(tmp_path, "chat.json", escaped)
        assert [turn.lines for turn in document.turns] == [(2, 2), (3, 3), (4, 4)]


def test_sessions_and_picture_captions_are_kept(tmp_path: Path):
    value = {"session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "look", "blip_caption": "a red boat"}],
             "session_1_date_time": "1:56 pm on 8 May, 2023", "session_10": [{"speaker": "Ann", "text": "later"}],
             "session_2": [{"speaker": "Bob", "text": "then"}]}  # fmt: skip
    (document,) = read(tmp_path, "chat.json", value)
    assert [turn.session for turn in document.turns] == ["session_1", "session_2", "session_10"]
    assert document.turns[0].message.text == "look [image: a red boat]"
    assert document.turns[0].message.at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def test_json_lines_hold_messages_or_conversations(tmp_path: Path):
    lines = '{"role": "user", "content": "hi"}\n\n{"role": "assistant", "content": "yo"}\n'
    (document,) = read(tmp_path, "chat.jsonl", lines)
    assert said(document) == [("user", "hi"), ("assistant", "yo")]
    assert [turn.lines for turn in document.turns] == [(1, 1), (3, 3)]
    two = '{"messages": [{"role": "user", "content": "a"}]}\n{"messages": [{"role": "user", "content": "b"}]}\n'
    assert [said(document) for document in read(tmp_path, "two.jsonl", two)] == [
        [("user", "a")],
        [("user", "b")],
    ]


@pytest.mark.parametrize(
    "value",
    [{"a": 1}, [1, 2, 3], [{"name": "Hammer", "content": "A tool"}, {"name": "Saw", "content": "Another"}], [], "text",
     {"messages": []}, [{"title": "x", "body": "y"}]],
)  # fmt: skip
def test_other_json_is_read_as_text(tmp_path: Path, value: Any):
    (document,) = read(tmp_path, "data.json", json.dumps(value))
    assert document.turns == ()
    assert document.text == json.dumps(value)


def test_entries_that_are_no_messages_or_say_nothing_are_left_out_and_told_of(tmp_path: Path):
    value = [{"speaker": "Ann", "text": f"hello {n}"} for n in range(5)]
    value[1:1] = [{"speaker": "Bob", "text": ""}, {"event": "Bob joined"}]
    (tmp_path / "chat.json").write_text(json.dumps(value))
    (tmp_path / "chat.jsonl").write_text("\n" + "\n".join(map(json.dumps, value)))
    for name, told in (("chat.json", "entry 2, 3"), ("chat.jsonl", "line 3, 4")):
        (document,) = open_source(tmp_path / name)
        assert isinstance(document, Document)
        assert [turn.message.text for turn in document.turns] == [f"hello {n}" for n in range(5)]
        assert document.left_out == (f"{told}: no message, or nothing is said in it",)
    assert document.turns[1].lines == (5, 5)


@pytest.mark.parametrize("broken", ["{not json", "[" * 100_000, "9" * 5000, "\0", '{"role": "us'])
def test_a_broken_line_costs_only_itself(tmp_path: Path, broken: str):
    lines = ['{"role": "user", "content": "hi"}', broken, '{"role": "assistant", "content": "yo"}']
    (tmp_path / "chat.jsonl").write_text("\n".join(lines))
    (document,) = open_source(tmp_path / "chat.jsonl")
    assert isinstance(document, Document)
    assert said(document) == [("user", "hi"), ("assistant", "yo")]
    (told,) = document.left_out
    assert told.startswith("line 2: no ")


def test_two_chats_of_one_id_are_both_kept(tmp_path: Path):
    value = [{"id": "c", "messages": [{"speaker": "Ann", "text": f"hi {n}"}]} for n in (1, 2)]
    documents = read(tmp_path, "chats.json", [*value])
    assert len({document.uri for document in documents}) == 2


def test_a_transcript_with_times_is_a_chat(tmp_path: Path):
    text = "[2024-01-05 10:00] Sarah Chen: hi there\nand a second line\n\n[2024-01-05 10:02:30] Bob: yo\n"
    (document,) = read(tmp_path, "log.txt", text)
    assert said(document) == [("Sarah Chen", "hi there\nand a second line"), ("Bob", "yo")]
    assert [turn.lines for turn in document.turns] == [(1, 2), (4, 4)]
    assert document.turns[1].message.at == datetime(2024, 1, 5, 10, 2, 30, tzinfo=UTC)


def test_a_transcript_without_times_is_a_chat_when_every_line_has_a_speaker(tmp_path: Path):
    (document,) = read(
        tmp_path, "log.txt", "Sarah: hi\nBob: yo\nSarah: how are you?\nBob: well, thanks\n"
    )
    assert said(document)[0] == ("Sarah", "hi")
    assert len(document.turns) == 4


@pytest.mark.parametrize(
    "text",
    [
        "Note: this is important.\nWarning: so is this.\nNote: again.\nWarning: and again.\n",
        "Name: Sarah\nAge: 30\nCity: Porto\nJob: engineer\n",
        "Dear all: hello.\nThe plan has three steps: one, two, three.\nRegards: Bob\nThat is it.",
        "Sarah: hi\nBob: yo\n",
        "Q: what?\nA: this.\nQ: why?\nA: because.\n",
    ],
)
def test_other_text_with_colons_is_no_chat(tmp_path: Path, text: str):
    (document,) = read(tmp_path, "notes.txt", text)
    assert document.turns == ()


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("2024-01-05", "2024-01-05T00:00:00+00:00"),
        ("2024-01-05T10:00:00+02:00", "2024-01-05T08:00:00+00:00"),
        ("January 5th, 2024", "2024-01-05T00:00:00+00:00"),
        ("5 Jan 2024", "2024-01-05T00:00:00+00:00"),
        ("05.01.2024 10:00", "2024-01-05T10:00:00+00:00"),
        (1704448800, "2024-01-05T10:00:00+00:00"),
        (1704448800000, "2024-01-05T10:00:00+00:00"),
        ("March 1815", "1815-03-01T00:00:00+00:00"),
    ],
)
def test_dates_are_understood(value: Any, wanted: str):
    found = parse(value)
    assert found is not None
    assert found.isoformat() == wanted


@pytest.mark.parametrize(
    "value",
    [
        "03/04/2024",
        "soon",
        "",
        None,
        True,
        3.5,
        "12",
        -1,
        {"a": 1},
        10**400,
        "0001-01-01T00:00:00+05:00",
    ],
)
def test_what_is_no_date_or_an_unknowable_one_is_none(value: Any):
    assert parse(value) is None


def test_a_text_at_hand_is_a_document():
    document = from_text("# Monday\r\n\r\nWe met.", uri="notes/1")
    assert (document.title, document.category, document.text) == (
        "Monday",
        "note",
        "# Monday\n\nWe met.",
    )
    assert from_text("We met.", uri="notes/monday-notes").title == "monday notes"


def test_messages_at_hand_are_a_chat():
    at = datetime(2025, 1, 1, tzinfo=UTC)
    document = from_messages(
        [Message(speaker="Ann", text="hi", at=at), Message(speaker="Bob", text=" ")], uri="chat/1"
    )
    assert said(document) == [("Ann", "hi")]
    assert document.at == at


@pytest.mark.parametrize(
    "read_nothing",
    [
        lambda: from_text(" ", uri="x"),
        lambda: from_text("a", uri=""),
        lambda: from_messages([], uri="x"),
        lambda: from_messages(["hi"], uri="x"),  # type: ignore[list-item]
        lambda: from_messages(
            [Message(speaker="Ann", text="hi", at=datetime(2025, 1, 1))], uri="x"
        ),
        lambda: from_text("a", uri="x", at=datetime(2025, 1, 1)),
    ],
)
def test_nothing_to_read_is_an_error_with_a_remedy(read_nothing: Any):
    with pytest.raises(InvalidInputError) as error:
        read_nothing()
    assert error.value.remedy
