"""The shell: where statements end, what is completed, and what a session looks like, piped in and
on a terminal."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from remloom.memory import Home, Memory
from remloom.model import Edge, Entity
from remloom.serve.cli.app import program
from remloom.serve.cli.commands.completion import StatementCompleter
from remloom.serve.cli.commands.shell import COMMANDS
from remloom.serve.cli.commands.statements import from_lines, is_open, split
from waiting import PATIENCE

RECORDS = [
    Entity(name="Sarah Chen", type="person", aliases=("S. Chen",)),
    Entity(name="Men in Black", type="film"),
    Edge(src="Sarah Chen", rel_type="manages", dst="Bob Smith"),
    Edge(src="Sarah Chen", rel_type="mentors", dst="Alice Jones"),
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in [name for name in os.environ if name.startswith("REMLOOM_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("REMLOOM_HOME", str(tmp_path))
    monkeypatch.setenv("REMLOOM_EMBEDDER", "none")
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.write(RECORDS)
    return tmp_path


# -- where statements end --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("LOOKUP sally", ["LOOKUP sally"]),
        ("LOOKUP a; LOOKUP b;", ["LOOKUP a", "LOOKUP b"]),
        (" ;; ", []),
        ("-- only a comment", []),
        ("LOOKUP a -- b; c\n; LOOKUP d", ["LOOKUP a -- b; c", "LOOKUP d"]),
        ("FUZZY 'a;b'", ["FUZZY 'a;b'"]),
        ('FUZZY "say ""a; b"" twice"; LOOKUP c', ['FUZZY "say ""a; b"" twice"', "LOOKUP c"]),
        (r'FUZZY "a \"; b"', [r'FUZZY "a \"; b"']),
        ("LOOKUP O'Brien; LOOKUP x", ["LOOKUP O'Brien", "LOOKUP x"]),
        ("LOOKUP well--known; LOOKUP x", ["LOOKUP well--known", "LOOKUP x"]),
        ("LOOKUP 'never closed; LOOKUP x", ["LOOKUP 'never closed; LOOKUP x"]),
    ],
)
def test_statements_end_at_semicolons_outside_quotes_and_comments(
    text: str, statements: list[str]
) -> None:
    assert split(text) == statements


@pytest.mark.parametrize(
    "text",
    [
        "LOOKUP a,",
        "LOOKUP a,  -- the rest follows\n",
        'FUZZY "a',
        "SELECT 'it''s",
        "LOOKUP a; FUZZY 'b",
    ],
)
def test_a_statement_goes_on_after_a_comma_and_inside_quotes(text: str) -> None:
    assert is_open(text)


@pytest.mark.parametrize(
    "text", ["", "LOOKUP a", "LOOKUP a, b", "LOOKUP a,;", "LOOKUP O'Brien", 'FUZZY "a, b,"']
)
def test_any_other_statement_ends_with_its_line(text: str) -> None:
    assert not is_open(text)


def test_a_stream_gives_each_statement_as_soon_as_its_line_has_come() -> None:
    seen = []

    def lines() -> Iterator[str]:
        for line in ("LOOKUP a\n", "LOOKUP b,\n", "  c; LOOKUP d\n", "FUZZY 'open"):
            yield line
            seen.append(line)

    found = [(statement, len(seen)) for statement in from_lines(lines())]
    assert found == [("LOOKUP a", 0), ("LOOKUP b,\n  c", 2), ("LOOKUP d", 2), ("FUZZY 'open", 4)]


# -- completion ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("", ["LOOKUP", "FUZZY", "SEARCH", "SELECT", "TRAVERSE", "EXPLAIN"]),
        ("l", ["lookup"]),
        ("LOOKUP s", ["S. Chen", "Sarah Chen"]),
        ('LOOKUP "sar', ['"Sarah Chen"']),
        ("LOOKUP men", ['"Men in Black"']),
        ("LOOKUP sarah chen, b", ["Bob Smith"]),
        ("LOOKUP sarah chen d", ["depth", "direction"]),
        ("LOOKUP x; TR", ["TRAVERSE"]),
        ("TRAVERSE m", ["manages", "mentors"]),
        ("TRAVERSE manages,men", ["mentors"]),
        ("TRAVERSE manages ", ["PLAN", "WITH"]),
        ("TRAVERSE WITH x DIRECTION ", ["out", "in", "both"]),
        ("TRAVERSE WITH x ORDER BY edge.w", ["edge.weight"]),
        ("TRAVERSE WITH x DEPTH 2 DI", ["DIRECTION"]),
        ("FUZZY sara TYPE ", ["film", "person"]),
        ("FUZZY sara TYPE person ", ["THRESHOLD", "LIMIT"]),
        ("SEARCH berth MODE ", ["vector", "late", "words"]),
        ("SEARCH x IN e", ["entities"]),
        ("SELECT name FROM ", ["resources", "entities", "moments"]),
        ("\\t", ["\\tenant"]),
    ],
)
def test_what_fits_is_offered(home: Path, typed: str, offered: list[str]) -> None:
    with Memory.open(home, embedder="none") as memory:
        completer = StatementCompleter(lambda: memory, COMMANDS)
        found = completer.get_completions(Document(typed), CompleteEvent())
        assert [completion.text for completion in found] == offered


# -- a session from a pipe -------------------------------------------------------------------------


def pipe(text: str, *options: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(program, ["shell", *options], input=text)
    return result.exit_code, result.stdout, result.stderr


def test_piped_statements_are_answered_in_turn(home: Path) -> None:
    code, out, err = pipe("LOOKUP sarah chen\nLOOKUP bob smith; LOOKUP alice jones\n")
    assert (code, err) == (0, "")
    assert [line.split("  ")[0] for line in out.splitlines() if "entities" in line] == [
        "Sarah Chen",
        "Bob Smith",
        "Alice Jones",
    ]


def test_a_wrong_statement_does_not_stop_the_next_and_gives_the_exit_code(home: Path) -> None:
    code, out, err = pipe("SELEC x\nLOOKUP sarah chen\n")
    assert code == 2
    assert "Sarah Chen" in out
    assert "^" in err


def test_json_is_switched_on_and_off(home: Path) -> None:
    _, out, _ = pipe(
        "\\json on\nSELECT count(*) AS n FROM entities\n\\json off\nLOOKUP sarah chen\n"
    )
    document, end = json.JSONDecoder().raw_decode(out)
    assert document["rows"] == [[4]]
    assert out[end:].strip().startswith("Sarah Chen  entities/person")


def test_the_tenant_is_changed_but_not_to_one_that_is_not_there(home: Path) -> None:
    with Memory.open(home, tenant="acme", embedder="none") as memory:
        memory.write([Entity(name="Wile E. Coyote", type="person")])
    code, out, err = pipe(
        "\\tenant acme\nLOOKUP wile e. coyote\n\\tenant nope\nLOOKUP wile e. coyote\n\\tenant\n"
    )
    assert code == 3
    assert out.count("Wile E. Coyote  entities/person") == 2
    assert "there is no tenant 'nope'" in err
    assert out.endswith("* acme\n  default\n")


def test_quit_ends_the_session(home: Path) -> None:
    assert pipe("\\quit\nLOOKUP sarah chen\n") == (0, "", "")


def test_help_and_exit_are_understood_without_a_backslash(home: Path) -> None:
    code, out, _ = pipe("help\nexit\nLOOKUP sarah chen\n")
    assert (code, "\\quit" in out, "also S. Chen" in out) == (0, True, False)


def test_help_names_every_command_and_its_examples_are_right(home: Path) -> None:
    _, out, _ = pipe("\\help\n")
    assert all(command in out for command in COMMANDS)
    examples = [line.split("   ")[0] for line in out.splitlines() if line[:4].isupper()]
    assert len(examples) >= 5
    from remloom.query.parser import parse

    for example in examples:
        parse(example.strip())


def test_a_shell_on_a_tenant_that_is_not_there_exits_with_3(home: Path) -> None:
    code, _, err = pipe("LOOKUP x\n", "--tenant", "nope")
    assert code == 3
    assert "tenant create nope" in err


# -- a session on a terminal -----------------------------------------------------------------------


class Terminal:
    """A shell on a pseudo-terminal: type, and wait for what is to be seen."""

    def __init__(self, home: Path, **environment: str) -> None:
        import pty

        self.screen, inside = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "remloom", "shell"],
            stdin=inside,
            stdout=inside,
            stderr=inside,
            env={
                **os.environ,
                "PROMPT_TOOLKIT_NO_CPR": "1",
                "TERM": "xterm",
                "COLUMNS": "100",
                **environment,
            },
            start_new_session=True,
        )
        os.close(inside)
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self.screen, text.encode())

    def wait_for(self, text: str) -> str:
        """What appeared up to this text, from where the last call left off."""
        until = time.monotonic() + PATIENCE
        while text not in self.seen:
            ready, _, _ = select.select([self.screen], [], [], max(0.0, until - time.monotonic()))
            assert ready, f"{text!r} did not appear, but {self.seen!r}"
            self.seen += os.read(self.screen, 65536).decode(errors="replace")
        before, _, self.seen = self.seen.partition(text)
        return before

    def end(self) -> int:
        self.type("\x04")
        code = self.process.wait(PATIENCE)
        os.close(self.screen)
        return code


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_session_on_a_terminal(home: Path) -> None:
    terminal = Terminal(home)
    terminal.wait_for("default>")
    terminal.type("LOOKUP sarah chen,\r")
    terminal.wait_for("...")
    terminal.type("bob smith\r")
    terminal.wait_for("entities/person")
    terminal.wait_for(" ms")
    terminal.type("SELEC x\r")
    terminal.wait_for("error: ")
    terminal.wait_for("^")
    terminal.wait_for("default>")
    assert terminal.end() == 0
    history = home / "tenants" / "default" / "shell_history"
    assert "SELEC x" in history.read_text()
    assert history.stat().st_mode & 0o077 == 0


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_the_history_of_an_encrypted_tenant_is_not_written_down(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMLOOM_KEY", "1c" * 32)
    Home(home, key="1c" * 32).create("sealed")
    terminal = Terminal(home, REMLOOM_TENANT="sealed")
    terminal.wait_for("sealed>")
    terminal.type("LOOKUP xyzzy plugh\r")
    terminal.wait_for("nothing found")
    terminal.wait_for("sealed>")
    assert terminal.end() == 0
    assert not [
        file for file in home.rglob("*") if file.is_file() and b"xyzzy" in file.read_bytes()
    ]
