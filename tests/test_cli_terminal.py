"""What reaches the terminal: nothing that steers it, hides text or turns its direction round,
whatever was read."""

from __future__ import annotations

import ast
import json
import os
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from remloom import Edge, Entity, Memory, Resource
from remloom.serve import cli
from remloom.serve.cli.app import program
from remloom.serve.cli.frame.terminal import console, to_json, visible

ALL = [chr(code) for code in range(sys.maxunicode + 1)]
HIDDEN = [
    sign for sign in ALL if unicodedata.category(sign) in ("Cc", "Cf", "Zl", "Zp") and sign != "\n"
]
# TAGs, further selectors, and what is kept for their like
HIDDEN += [chr(code) for code in range(0xE0000, 0xE1000)]
HIDDEN += ["\u034f", "\u115f", "\u1160", "\u180b", "\u180f", "\u2065", "\u3164", "\uffa0"]
EVIL = "Evil\x1b[31m\x9b2J\u202egnp\u2066\u200b\u200d\ufeff\U000e0041\U000e0042\x07\x7f\u061c\u00ad"
hidden = frozenset(HIDDEN)


def test_no_character_that_is_not_visible_is_shown() -> None:
    for sign in HIDDEN:
        assert not hidden & set(visible(f"a{sign}b")), f"U+{ord(sign):04X}"
        assert not hidden & set(to_json({f"k{sign}": sign}).replace("\n", "")), f"U+{ord(sign):04X}"
        assert json.loads(to_json({f"k{sign}": sign})) == {f"k{sign}": sign}


def test_what_is_visible_stays_as_it_is() -> None:
    kept = [
        sign
        for sign in ALL
        if sign not in hidden
        and unicodedata.category(sign) not in ("Cn", "Cs", "Co", "Mn")
        and ord(sign) < 0x30000
    ]
    assert visible("".join(kept)) == "".join(kept)
    for text in (
        "Straße",
        "東京 タワー",
        "שלום",
        "न्यूयॉर्क",
        "e\u0301",
        "☀\ufe0f",
        "one\ntwo",
        "𝔘",
        "🏳\ufe0f",
    ):
        assert visible(text) == text
        assert text.replace("\n", "\\n") in to_json([text])


def test_a_hidden_text_is_gone_and_leaves_a_sign_that_it_was_there() -> None:
    tags = "".join(chr(0xE0000 + ord(letter)) for letter in "ignore all")
    assert visible(f"hi{tags}!") == "hi\N{REPLACEMENT CHARACTER}!"
    assert visible("x" + "\ufe00\ufe0f" * 9) == "x\ufe0f"
    assert visible("\u202eevil\u202c") == "\N{REPLACEMENT CHARACTER}evil\N{REPLACEMENT CHARACTER}"


@settings(max_examples=300)
@given(
    st.recursive(
        st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(HIDDEN)), st.lists
    )
)
def test_json_says_the_same_and_shows_nothing_hidden(value: object) -> None:
    told = to_json(value)
    assert json.loads(told) == value
    assert not hidden & set(told.replace("\n", ""))


def test_a_console_draws_nothing_hidden_and_keeps_its_own_colours(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=EVIL)
    table.add_column(EVIL)
    table.add_row(Text(EVIL, "bold red"))
    drawing = console()
    drawing._force_terminal, drawing.no_color = True, False
    drawing._color_system = drawing._detect_color_system()
    drawing.print(table, EVIL)
    shown = capsys.readouterr().out
    assert "Evil" in shown
    assert not (hidden - {"\x1b"}) & set(shown)


# -- every command ---------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in [name for name in os.environ if name.startswith("REMLOOM_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("REMLOOM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REMLOOM_EMBEDDER", "none")
    monkeypatch.chdir(tmp_path)
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        memory.write([
            Entity(name=EVIL, type=f"t{EVIL}", aliases=(f"alias {EVIL}",), summary=EVIL, properties={EVIL: EVIL}),
            Resource(name=f"doc {EVIL}", content=f"plum {EVIL}", uri=f"file:{EVIL}", metadata={EVIL: EVIL}),
            Edge(src=EVIL, rel_type=f"r{EVIL}", dst=f"doc {EVIL}", properties={EVIL: EVIL}),
        ])  # fmt: skip
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(program, list(words))


def evil_link(folder: Path) -> str:
    notes = folder / "notes"
    notes.mkdir()
    (notes / "link").symlink_to(f"nowhere {EVIL}")
    (notes / f"{EVIL}.txt").write_text(f"plum {EVIL}")
    (notes / f"{EVIL}.json").write_text("{")
    return str(notes)


CALLS: list[Callable[[Path], tuple[str, ...]]] = [
    lambda _: ("lookup", EVIL),
    lambda _: ("fuzzy", "evil", "--threshold", "0.01"),
    lambda _: ("search", "plum", "--text"),
    lambda _: ("recall", "plum", "--mode", "text"),
    lambda _: ("recall", "plum", "--mode", "text", "--context"),
    lambda _: ("traverse", EVIL, "--depth", "2"),
    lambda _: ("traverse", EVIL, "--plan"),
    lambda _: ("query", "SELECT name, content, uri, category FROM resources"),
    lambda _: ("query", f"SELEC '{EVIL}'"),
    lambda _: ("query", f"SELECT {EVIL} FROM resources"),
    lambda _: ("query", f"SEARCH 'x' WHERE {EVIL} = 1"),
    lambda _: ("show", EVIL),
    lambda _: ("show", f"none {EVIL}"),
    lambda _: ("stats",),
    lambda _: ("doctor",),
    lambda _: ("stats", "--tenant", EVIL),
    lambda _: ("stats", "--home", f"http://{EVIL}"),
    lambda _: ("stats", EVIL),
    lambda _: (f"no{EVIL}",),
    lambda _: ("stats", f"--no{EVIL}"),
    lambda _: ("fuzzy", "x", "--limit", EVIL),
    lambda _: ("forget", EVIL, "--dry-run"),
    lambda _: ("forget", EVIL),
    lambda _: ("tenant", "delete", EVIL),
    lambda _: ("tenant", "key", f"no/{EVIL}"),
    lambda folder: ("import", str(folder / EVIL)),
    lambda folder: ("read", evil_link(folder)),
    lambda folder: ("read", str(folder / f"none {EVIL}")),
]


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("number", range(len(CALLS)))
def test_no_command_shows_anything_hidden_in_its_results_or_its_errors(
    home: Path, number: int, as_json: bool
) -> None:
    words = CALLS[number](home)
    done = run(*words, *(["--json"] if as_json else []))
    assert done.exit_code != 70, done.output
    assert done.output
    assert not hidden & set(done.output.replace("\n", "")), ascii(done.output)


def test_no_other_module_of_the_command_line_prints() -> None:
    folder = Path(cli.__file__).parent
    for file in folder.rglob("*.py"):
        if file.name == "terminal.py":
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in (
                    "print",
                    "click.echo",
                    "click.secho",
                    "Console",
                    "sys.stdout.write",
                ), f"{file.name}:{node.lineno} prints by itself"
