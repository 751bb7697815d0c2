"""What the README and the documentation show is true: code runs, statements parse, lists are
complete.

A page is run from top to bottom in an empty folder that has a copy of `examples/demo`: `python`
blocks share one namespace, and the `$ ` lines of `console` blocks run in a shell with
`REMLOOM_HOME` in that folder. The README's `rem` statements must find something there. Two comments
steer it: `<!-- test: skip -->` before a block leaves that block out, and `<!-- test: model -->`
anywhere says that the page needs the embedding model; other pages run without an embedder.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tomllib
from contextlib import redirect_stdout
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any

import pytest

from waiting import PATIENCE

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

MODEL = "<!-- test: model -->"
_BLOCK = re.compile(
    r"(?P<skip><!-- test: skip -->\s*)?^```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int  # of its first line of text, from 1


def blocks(page: Path, *languages: str) -> list[Block]:
    source = page.read_text(encoding="utf-8")
    return [
        Block(found["language"], found["text"], source.count("\n", 0, found.start("text")) + 1)
        for found in _BLOCK.finditer(source)
        if found["language"] in languages and not found["skip"]
    ]


def runnable_pages() -> list[object]:
    return [
        pytest.param(
            page,
            id=page.name,
            marks=[pytest.mark.model] if MODEL in page.read_text(encoding="utf-8") else [],
        )
        for page in PAGES
        if blocks(page, "python", "console")
    ]


def run_python(block: Block, page: Path, namespace: dict[str, object]) -> None:
    """Run a block; what is printed must be what the comments behind its `print`s say, if there are
    any."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        # Padded, so that a traceback names the line of the page.
        exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), namespace)
    expected = re.findall(r"^ *print\(.*\) +# (.+)$", block.text, re.MULTILINE)
    assert not expected or printed.getvalue().splitlines() == expected


def run_statements(block: Block) -> None:
    from remloom import Memory

    with Memory.open() as memory:
        for statement in block.text.splitlines():
            answer = memory.query(statement)
            assert answer.records or answer.rows or len(answer.edge_summary) > 1, (
                f"nothing found: {statement}"
            )


def run_console(block: Block, page: Path) -> None:
    for command in re.findall(r"^\$ (.+)$", block.text, re.MULTILINE):
        if command.startswith("make "):
            # CI runs these as they are: see test_ci_runs_the_make_commands_of_the_readme
            continue
        done = subprocess.run(
            ["bash", "-c", command],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, f"{page.name}: $ {command}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("page", runnable_pages())
def test_every_example_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples" / "demo", tmp_path / "examples" / "demo")
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("REMLOOM_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("REMLOOM_HOME", str(tmp_path / "remloom-home"))
    if page.name.startswith("coding-agents"):
        # the settings of programs are written there
        (tmp_path / "user" / ".claude").mkdir(parents=True)
        monkeypatch.setenv("HOME", str(tmp_path / "user"))
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME"):
            monkeypatch.delenv(name, raising=False)
    if MODEL not in page.read_text(encoding="utf-8"):
        monkeypatch.setenv("REMLOOM_EMBEDDER", "none")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    namespace: dict[str, object] = {"__name__": "__docs__"}
    for block in blocks(page, "python", "console", *(["rem"] if page.name == "README.md" else [])):
        match block.language:
            case "python":
                run_python(block, page, namespace)
            case "console":
                run_console(block, page)
            case "rem":
                # elsewhere statements are about nothing in particular
                run_statements(block)


def statements() -> list[object]:
    return [
        pytest.param(line, id=f"{page.name}:{block.line + number}")
        for page in PAGES
        for block in blocks(page, "rem")
        for number, line in enumerate(block.text.splitlines())
        if line.strip()
    ]


@pytest.mark.parametrize("statement", statements())
def test_every_statement_shown_is_in_the_dialect_and_round_trips(statement: str) -> None:
    from remloom.query.parser import parse
    from remloom.query.render import render

    value = parse(statement)
    assert parse(render(value)) == value


def test_every_public_method_of_memory_is_documented_with_its_parameters() -> None:
    from remloom import Home, Memory
    from remloom.dream.service import Dreams
    from remloom.jobs.service import Jobs
    from remloom.memory.admin import Admin
    from remloom.profile.service import Profiles
    from remloom.reader.reader import Reader
    from remloom.runs.service import Runs
    from remloom.schema.service import Schemas

    api = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    shown = re.findall(r"`(?:Memory\.)?(\w+)\(([^`]*)\)`", api)
    for kind in (Memory, Home, Runs, Jobs, Dreams, Profiles, Schemas, Reader, Admin):
        for name in dir(kind):
            if name.startswith("_") or not callable(getattr(kind, name)):
                continue
            # create_entity(Entity): the type says more than the name
            forms = [form for shown_name, form in shown if shown_name == name]
            parameters = _parameters(getattr(kind, name))
            assert any(form == parameters or re.fullmatch(r"[A-Z]\w+", form) for form in forms), (
                f"docs/api.md does not have {kind.__name__}.{name}({parameters})"
            )


def test_every_field_of_a_record_and_every_option_of_recall_is_documented() -> None:
    from remloom import Edge, Entity, Moment, RecallOptions, Resource

    api = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    # the page says so of all records at once; `edge_type` is another name of `rel_type`
    every = {"id", "created_at", "updated_at", "revision", "edge_type"}
    for kind in (Resource, Entity, Moment, Edge):
        (row,) = re.findall(rf"\| `{kind.__name__}` \| `([^`]*)`", api)
        assert set(kind.__struct_fields__) - every - set(row.split()) == set(), kind.__name__
    options = {name for name in RecallOptions.__struct_fields__ if f"`{name}=" not in api}
    assert options == set()


def _parameters(method: Any) -> str:
    """The parameters as the page writes them: without self and types."""
    found = [
        p.replace(annotation=Parameter.empty)
        for p in signature(method).parameters.values()
        if p.name != "self"
    ]
    return str(Signature(found))[1:-1].replace("'", '"')


def test_every_public_name_is_documented() -> None:
    import remloom

    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [
        name for name in remloom.__all__ if not name.startswith("_") and name not in pages
    ] == []


def test_every_command_is_documented() -> None:
    from remloom.serve.cli.app import SECTIONS

    documented = set(
        re.findall(
            r"^- `remloom (\w+)",
            (ROOT / "docs" / "cli.md").read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    )
    assert {command for section in SECTIONS.values() for command in section} == documented


def test_every_setting_is_documented_with_its_default() -> None:
    from remloom.settings import Settings

    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    defaults = Settings()
    for name in Settings.__struct_fields__:
        row = next(
            (
                line
                for line in page.splitlines()
                if line.startswith("|") and f"`{name}`" in line.split("|")[1]
            ),
            None,
        )
        assert row is not None, f"docs/settings.md does not name {name}"
        value = getattr(defaults, name)
        if value != "":
            shown = format(value, "g") if isinstance(value, float) else str(value)
            assert shown in row.split("|")[2], f"docs/settings.md: the default of {name} is {shown}"


def test_every_dependency_has_its_reason() -> None:
    items = re.findall(
        r"^- (?:([\w.-]+)/)?([\w.-]+): .+$",
        (ROOT / "docs" / "dependencies.md").read_text().partition("\n## What they would send")[0],
        re.MULTILINE,
    )
    documented = set(items)
    declared = {("", _name(line)) for line in PROJECT["dependencies"]}
    for extra, lines in PROJECT["optional-dependencies"].items():
        declared |= {(extra, _name(line)) for line in lines if _name(line) != "remloom"}
    assert documented == declared


def _name(requirement: str) -> str:
    return re.split(r"[\[<>=;~! ]", requirement, maxsplit=1)[0]


def test_ci_runs_the_make_commands_of_the_readme() -> None:
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    shown = [
        command
        for block in blocks(ROOT / "README.md", "console")
        for command in re.findall(r"^\$ (make \w+)$", block.text, re.M)
    ]
    assert shown == ["make demo", "make test"]
    assert [command for command in shown if f"step {command}" not in ci] == []


def test_every_file_named_for_contributors_exists() -> None:
    missing = [
        f"{page}: {path}"
        for page in ("CONTRIBUTING.md", "docs/architecture.md")
        for path in re.findall(
            r"\b(?:src|tests|bench|docs)/[\w./*-]*\w", (ROOT / page).read_text(encoding="utf-8")
        )
        if not any(ROOT.glob(path))
    ]
    assert missing == []


def test_every_link_between_pages_leads_somewhere() -> None:
    broken = [
        f"{page.name}: {target}"
        for page in [*PAGES, *ROOT.glob("*.md")]
        for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert broken == []
