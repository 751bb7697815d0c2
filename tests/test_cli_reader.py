"""`remloom reader`: what it shows for questions and commands, with a model and without, piped in
and as JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from remloom.serve.cli.app import program

LEASE = """\
# Lease

The Tenant pays 900 euros a month.

## Term

The lease ends on March 31, 2027.

## Repairs

All repairs to the roof are made by the Landlord.
"""


@pytest.fixture
def lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in [name for name in os.environ if name.startswith("REMLOOM_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("REMLOOM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REMLOOM_EMBEDDER", "none")
    file = tmp_path / "lease.md"
    file.write_text(LEASE, encoding="utf-8")
    return file


def run(*arguments: object, input: str = "") -> Result:
    return CliRunner().invoke(program, ["reader", *map(str, arguments)], input=input)


def test_without_a_model_a_question_shows_the_lines_to_read(lease: Path) -> None:
    done = run(lease, "--question", "Who repairs the roof?")
    assert done.exit_code == 0, done.output
    assert "lease.md:1-11  Lease" in done.stdout
    assert "11  All repairs to the roof are made by the Landlord." in done.stdout
    assert "no language model is set" in done.stderr


def test_each_command_shows_its_part(lease: Path) -> None:
    commands = {
        "outline": "Term [Lines 5-8]",
        "search: ends": "The lease ends on March 31, 2027.",
        "find: When does it end?": "The lease ends on March 31, 2027.",
        "lines 3": "The Tenant pays 900 euros a month.",
        "lines 1-3": "lease.md:1-3",
        "sql: SELECT line_num FROM documents WHERE is_header": "9",
        "schema": "is_strategic",
        "stats": "questions asked",
        "coverage": "of 11 lines",
        "documents": "Lease  11 lines",
        "help": "search: WORDS",
    }
    for command, shown in commands.items():
        done = run(lease, input=f"{command}\nquit\nnever run\n")
        assert done.exit_code == 0, done.output
        assert shown in done.stdout, command


def test_sessions_are_listed_and_deleted(lease: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer_with(monkeypatch, quote="made by the Landlord")
    run(lease, "--session", "moving", "--question", "Who repairs the roof?")
    commands = "sessions\ndelete-session: moving\nsessions\ndelete-session: moving\n"
    done = run(lease, input=commands)
    before, after = done.stdout.split("deleted 'moving'")
    assert "moving" in before
    assert "moving" not in after
    assert "there is no session 'moving'" in done.stderr
    assert done.exit_code != 0


def test_without_a_file_sessions_are_listed_and_gone_on_with(
    lease: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_with(monkeypatch, quote="made by the Landlord")
    run(lease, "--session", "moving", "--question", "Who repairs the roof?")
    listed = run()
    assert listed.exit_code == 0, listed.output
    assert "moving" in listed.stdout
    again = run("--session", "moving", input="documents\nsessions\n")
    assert again.exit_code == 0, again.output
    assert "Lease  11 lines" in again.stdout
    unknown = run("--session", "moved", input="documents\n")
    assert "there is no session 'moved'" in unknown.stderr
    assert "there are: moving" in unknown.stderr
    assert "give a FILE" in run("--question", "Who repairs the roof?").stderr


def test_where_no_session_is_kept_it_says_so(lease: Path) -> None:
    run(lease, input="outline\n")
    done = run()
    assert done.exit_code == 0, done.output
    assert "no session is kept" in done.stdout


def test_what_was_shown_is_darker_in_the_bar(lease: Path) -> None:
    done = run(lease, input="lines 1-5\ncoverage\n")
    assert done.stdout.splitlines()[-1] == "Lease  ▕█████      ▏ 45% of 11 lines"


def test_one_more_document_is_opened_by_its_name_and_read_by_it(lease: Path) -> None:
    other = lease.with_name("notes.md")
    other.write_text("# Notes\n\nThe key is with Ana.\n", encoding="utf-8")
    done = run(lease, input=f"open {other}\ndocuments\nlines Notes 3\n")
    assert done.exit_code == 0, done.output
    assert "Notes  3 lines" in done.stdout
    assert "The key is with Ana." in done.stdout


def test_an_error_names_the_way_out_and_the_next_line_runs(lease: Path) -> None:
    done = run(lease, input="sql: SELECT * FROM docs\nsearch:\nlines 3\n")
    assert done.exit_code == 2
    assert "did you mean 'documents'" in done.stderr
    assert "search needs something after it" in done.stderr
    assert "The Tenant pays 900 euros a month." in done.stdout


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("open", "`open FILE`"),
        ("sql:", "`sql: SELECT …`"),
        ("lines abc", "`lines 120-160`"),
        ("lines 5,9", "`lines 120-160`"),
        ("serch: rent", "`search:`"),
    ],
)
def test_a_slip_in_a_command_is_told_and_is_no_question(
    lease: Path, line: str, remedy: str
) -> None:
    done = run(lease, input=f"{line}\n")
    assert done.exit_code == 2
    assert remedy in done.stderr
    assert not done.stdout


def test_where_nothing_is_found_no_lines_are_announced(lease: Path) -> None:
    done = run(lease, "-q", "Xylophones?")
    assert "nothing found" in done.stdout
    assert "these are the lines" not in done.stderr


def test_of_a_folder_each_document_is_shown(lease: Path) -> None:
    folder = lease.with_name("notes")
    folder.mkdir()
    for name in ("One", "Two"):
        (folder / f"{name}.md").write_text(f"# {name}\n\nText.\n", encoding="utf-8")
    done = run(lease, input=f"open {folder}\n")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["One", "Two"]


def test_of_several_documents_the_one_with_the_lines_is_asked_for(lease: Path) -> None:
    other = lease.with_name("notes.md")
    other.write_text("# Notes\n\nThe key is with Ana.\n", encoding="utf-8")
    done = run(lease, other, input="lines 3\n")
    assert "`lines Lease 3`" in done.stderr


def test_what_stands_side_by_side_is_shown_as_one_and_scraps_by_their_places(lease: Path) -> None:
    filler = "\n\n".join(f"Clause {n} is about boats, and about nothing else." for n in range(60))
    roof = "The roof is repaired by the Landlord, who pays for the roof."
    lease.write_text(f"# Lease\n\n{roof}\n\n{filler}\n\nroof\n", encoding="utf-8")
    done = run(lease, "-q", "Who repairs the roof?", "--words", "600")
    places = [line for line in done.stdout.splitlines() if line.count("lease.md:") == 1]
    assert len(places) == 1, done.stdout


def test_a_row_too_wide_for_a_table_is_a_block(lease: Path) -> None:
    done = run(lease, input="sql: SELECT * FROM documents LIMIT 2\n")
    assert "is_section_start  True" in done.stdout


def test_shares_are_shown_in_percent(lease: Path) -> None:
    done = run(lease, input="lines 1-5\nstats\n")
    assert done.stdout.splitlines()[-1].split() == ["Lease", "37%"]


def test_a_file_that_is_not_there_is_an_error(lease: Path) -> None:
    done = run(lease.with_name("leaze.md"), "-q", "Who?")
    assert done.exit_code == 3
    assert "leaze.md" in done.stderr


def test_results_are_json_on_demand(lease: Path) -> None:
    done = run(lease, "--json", "-q", "Who repairs the roof?")
    (passage,) = json.loads(done.stdout)
    assert passage["text"].endswith("All repairs to the roof are made by the Landlord.")


def test_a_model_answers_and_each_quote_is_checked(
    lease: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_with(monkeypatch, quote="All repairs to the roof are made by the Landlord")
    done = run(lease, "-q", "Who repairs the roof?")
    assert done.exit_code == 0, done.output
    assert "Repairs to the roof are made by the Landlord. [Lines 11-11]" in done.stdout
    assert "verbatim" in done.stdout
    assert "lease.md:11" in done.stdout
    assert "11 lines read, 1 call" in done.stdout


def test_events_are_lines_of_json(lease: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer_with(monkeypatch, quote="All repairs to the roof are made by the Landlord")
    done = run(lease, "--events", "--json", "-q", "Who repairs the roof?")
    lines = done.stdout[: done.stdout.index("\n{\n")].splitlines()
    kinds = [json.loads(line)["type"] for line in lines]
    assert kinds[0] == "document_loaded"
    assert kinds[-1] in ("question_end", "session_end")


def answer_with(monkeypatch: pytest.MonkeyPatch, *, quote: str) -> None:
    """Let a scripted model answer in place of a real one."""
    from remloom.memory.memory import Memory
    from remloom.testing.models import ScriptedModel

    sentence: dict[str, Any] = {
        "text": "Repairs to the roof are made by the Landlord.",
        "quote": quote,
    }
    sentence |= {"document": "", "first_line": 11, "last_line": 11}
    reply = {"found": True, "sentences": [sentence], "missing": ""}
    opened = Memory.open

    def open_with_model(*args: Any, **given: Any) -> Memory:
        return opened(*args, **{**given, "llm": ScriptedModel([reply])})

    monkeypatch.setattr(Memory, "open", open_with_model)
