"""What is private or a secret is kept nowhere, whatever is read and wherever it stands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest

from remloom import Memory, Message
from remloom.errors import InvalidInputError
from remloom.ingest.redaction import Redaction
from remloom.operations.tools.remember import REMEMBER
from remloom.settings import Settings
from remloom.sources import Document, Turn, from_text, open_source
from remloom.text.private import find_private, without_private
from test_secrets import PLANTED, SAID

KEY = PLANTED[10][1]


def values() -> list[str]:
    """Every secret of the tests, those that somebody says with what they are called by."""
    said = [text.replace("{", "").replace("}", "") for _, text in SAID]
    return [secret for _, secret in PLANTED] + said


def secrets() -> list[str]:
    """What may be nowhere: the lines of every secret."""
    said = [text[text.index("{") + 1 : text.index("}")] for _, text in SAID]
    planted = [line for _, secret in PLANTED for line in secret.splitlines()]
    return [one for one in (*planted, *said) if len(one) >= 8 and "-----" not in one]


def kept(memory: Memory, tmp_path: Path) -> str:
    """Everything that a memory has, as its export says it."""
    path = tmp_path / "export.jsonl"
    memory.admin.export(path)
    return path.read_text("utf-8")


@pytest.fixture(params=("sqlite", "sqlite-with-key", "postgres"))
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    home = tmp_path / "m" if request.param != "postgres" else request.getfixturevalue("postgres")
    key = "a key of some length" if request.param == "sqlite-with-key" else None
    with Memory.open(home, tenant=uuid4().hex, key=key, embedder="none") as opened:
        yield opened


def test_of_forty_kinds_of_secrets_no_byte_is_kept(memory: Memory, tmp_path: Path) -> None:
    texts = "\n\n".join(f"Paragraph {number}. {text}" for number, text in enumerate(values()))
    (tmp_path / "notes.md").write_text(f"---\ntitle: on {KEY}\nkey: {KEY}\n---\n# Keys\n\n{texts}")
    chat = [{"role": "user", "content": text} for text in values()]
    (tmp_path / "chat.json").write_text(json.dumps(chat))
    reports = [memory.read(tmp_path / "notes.md"), memory.read(tmp_path / "chat.json")]
    reports.append(memory.read_text(texts, uri=f"https://ann:{KEY}@example.org/notes"))
    messages = [Message(speaker="Ann", text=text, id=KEY) for text in values()]
    reports.append(memory.read_chat(messages, uri="chat"))
    reports.append(memory.read_chat([Message(speaker=KEY, text=KEY)], uri="chat", append=True))
    everything = kept(memory, tmp_path) + repr(reports)
    assert [secret for secret in secrets() if secret in everything] == []
    assert "[secret: Anthropic key]" in everything
    assert all(report.masked for report in reports)
    assert not memory.search_text(KEY).records


def test_what_an_agent_remembers_and_rows_are_masked_too(memory: Memory, tmp_path: Path) -> None:
    REMEMBER.does(memory, REMEMBER.takes(text=f"The key is {KEY}.", source=f"log {KEY}"), None)
    messages = [{"speaker": "user", "text": f"<private>absinthe</private> {KEY}"}]
    takes = msgspec.convert({"messages": messages, "source": "chat"}, REMEMBER.takes)
    REMEMBER.does(memory, takes, None)
    with memory.reader() as reader:
        reader.open_rows([{"text": f"row {KEY}", "password": "hunter2!"}], name="rows")
    everything = kept(memory, tmp_path)
    assert KEY not in everything
    assert "absinthe" not in everything
    assert "hunter2" not in everything


def test_of_a_message_that_is_private_as_a_whole_nothing_is_left(memory: Memory) -> None:
    messages = [Message(speaker="Ann", text=text) for text in ("<private>gin", "Nine boats.")]
    assert memory.read_chat(messages, uri="chat").resources == 1
    more = [Message(speaker="Ann", text="<private>gin</private>", id="m3")]
    assert memory.read_chat(more, uri="chat", append=True).resources == 0
    done = REMEMBER.does(memory, REMEMBER.takes(text="Tea. <private>gin", source="log"), None)
    assert memory.get_resource(done.ids[0]).content == "Tea."
    with pytest.raises(InvalidInputError, match="not remembered"):
        REMEMBER.does(memory, REMEMBER.takes(text="<private>gin", source="log"), None)


def test_what_cannot_be_read_tells_no_secret(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / f"{KEY}.md").write_bytes(b"\0\1\2\0")
    (folder / f"{KEY}.json").write_text(f'{{"{KEY}": ')
    report = memory.read(folder)
    assert len(report.skipped) == 2
    assert KEY not in repr(report)


def test_without_masking_the_words_are_kept_as_they_are(tmp_path: Path) -> None:
    settings = Settings.load(home=str(tmp_path / "plain"), embedder="none", mask_secrets=False)
    with Memory.open(settings=settings) as memory:
        report = memory.read_text(f"The key: {KEY} <private>and this</private>", uri="a.md")
        assert report.masked == 0
        everything = kept(memory, tmp_path)
        assert KEY in everything
        assert "and this" not in everything


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("tea <private>gin</private> cake", "tea  cake"),
        ("tea <PRIVATE>gin</Private> cake", "tea  cake"),
        ('tea <private why="x">gin</private > cake', "tea  cake"),
        ("tea <private>gin", "tea "),
        ("a <private>b <private>c</private> d</private> e", "a  e"),
        ("a <private>b <private>c</private> d", "a "),
        ("a </private> b", "a </private> b"),
        ("`<private>` is a tag, <privateer>", "`<private>` is a tag, <privateer>"),
        ("a `<private>b</private>`", "a ``"),
        ("a\n<private>\nb\n</private>\nc", "a\n\n\n\nc"),
    ],
)
def test_what_is_private_is_taken_out(text: str, left: str) -> None:
    if text == "a `<private>b</private>`":
        # a tag is spoken of where it stands alone in backticks
        assert find_private(text) == [(3, 23)]
    assert without_private(text).text == left


def test_what_is_private_is_in_no_title_or_fact_either(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "plans.md").write_text(
        "---\nauthor: Mallory Grim\n---\n<private>\n# Sell the harbour\n\nMallory Grim knows.\n</private>\nTea."
    )
    (tmp_path / "open.md").write_text("One.\n\nTwo <private>\n\nSell the harbour\n")
    chat = [
        {"role": "user", "content": "<private>Sell the harbour"},
        {"role": "assistant", "content": "Nine boats."},
    ]
    (tmp_path / "chat.json").write_text(json.dumps(chat))
    for name in ("plans.md", "open.md", "chat.json"):
        assert memory.read(tmp_path / name).items[0].status == "read"
    left_out = memory.read(tmp_path / "open.md").items[-1].reason
    assert left_out == "left out: what is private from line 3 on"
    everything = kept(memory, tmp_path)
    assert "harbour" not in everything
    assert "Nine boats." in everything


def test_an_html_file_keeps_nothing_private(memory: Memory, tmp_path: Path) -> None:
    pytest.importorskip("markitdown")
    html = "<html><body><p>Tea.</p><private><p>Gin.</p></private><p>Cake.</p></body></html>"
    (tmp_path / "a.html").write_text(html)
    assert memory.read(tmp_path / "a.html").items[0].status == "read"
    everything = kept(memory, tmp_path)
    assert "Gin" not in everything
    assert "Cake" in everything


def test_lines_are_cited_as_before(memory: Memory, tmp_path: Path) -> None:
    key = next(secret for kind, secret in PLANTED if kind == "private key")
    lines = ["---", f"key: {KEY}", "---", "# A", "", key, "", "<private>", "x", "</private>", ""]
    text = "\n".join([*lines, *(f"Line of {n}. {'word ' * 60}\n" for n in range(8)), "The end."])
    path = tmp_path / "a.md"
    path.write_text(text)
    memory.read(path)
    (found,) = memory.search_text("end").records[:1]
    last = text.split("\n").index("The end.") + 1
    assert found.lines is not None
    assert found.lines[1] == last


def test_pages_and_body_move_with_the_text() -> None:
    text = f"---\nkey: {KEY}\n---\nOne {KEY}.\n\nTwo <private>x</private>.\n\nThree."
    document = from_text(text, uri="a.md")
    pages = tuple(text.index(word) for word in ("One", "Two", "Three"))
    from msgspec.structs import replace

    read = Redaction(True).document(replace(document, pages=pages))
    assert [read.text[page:].partition(" ")[0] for page in read.pages] == ["One", "Two", "Three."]
    assert read.text[read.body :].startswith("One")


def test_columns_are_masked_by_what_they_are_called_too() -> None:
    columns = {
        "note": ("tea", f"key {KEY}", 4111111111111111),
        "password": ("hunter2!", "", None),
        "year": (1999, 2000, 2001),
    }
    document = Document(uri="rows", title="rows", text="a\nb\nc", columns=columns)
    read = Redaction(True).document(document).columns
    assert read["note"] == ("tea", "key [secret: Anthropic key]", "[secret: card number]")
    assert read["password"] == ("[secret: password]", "", None)
    assert read["year"] == columns["year"]


def test_in_a_table_a_column_of_passwords_is_masked(tmp_path: Path) -> None:
    (tmp_path / "users.csv").write_text(
        'name,"db password",note\n"Lee, Ann",sesame,"my ""x"""\nBob,,tea\nCy,"a,b",cake\n'
    )
    (document,) = open_source(tmp_path / "users.csv")
    assert isinstance(document, Document)
    assert Redaction(True).document(document).text.splitlines() == [
        'name,"db password",note',
        '"Lee, Ann",[secret: password],"my ""x"""',
        "Bob,,tea",
        "Cy,[secret: password],cake",
    ]


def test_sources_that_differ_by_a_secret_stay_apart() -> None:
    redaction = Redaction(True)
    one, two = (
        redaction.document(Document(uri=f"https://example.org/?k={key}", title="x", text="x")).uri
        for key in (KEY, KEY.replace("aB", "Ab"))
    )
    assert one != two
    assert KEY not in one
    again = redaction.document(Document(uri=one, title="x", text="x")).uri
    assert again == one


def test_a_turn_is_as_it_was_when_nothing_is_masked() -> None:
    turn = Turn(message=Message(speaker="Ann", text="Hi", at=datetime(2026, 1, 1, tzinfo=UTC)))
    document = Document(uri="chat", title="Chat", turns=(turn,))
    assert Redaction(True).document(document).turns[0] is turn
