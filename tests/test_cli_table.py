"""The table of commands: every operation is in it or has a reason, and every row is a command."""

from __future__ import annotations

import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from msgspec import Struct
from rich.console import Console

from remloom.engine.arguments import RUN_KINDS
from remloom.jobs.tasks import KINDS
from remloom.memory.home import Home
from remloom.operations import OPERATIONS, Operation
from remloom.serve.cli.app import program
from remloom.serve.cli.frame.results import draw
from remloom.serve.cli.table import TABLE
from remloom.serve.cli.views.tables import draw_list

# operations that have no command of their own, by the reason why not
NO_COMMAND = {
    "It takes records, messages or a whole taxonomy, which nobody types.": (
        "create_edge", "create_entity", "create_moment", "create_resource", "create_row",
        "read_chat", "read_text", "reader_keep", "set_taxonomy", "update_entity",
        "write",
    ),
    "`show`, `query`, `dream runs` or `jobs list` shows it.": (
        "failed_items", "get_edges", "get_entity", "get_job", "get_moment", "get_moments_by_time",
        "get_moments_by_type", "get_record", "get_resource", "get_row", "get_taxonomy",
        "list_records", "list_sources", "query_records", "run_records",
    ),
    "Another command does it, by an option or an argument.": (
        "context", "context_across", "create_grant", "delete_resource", "embed_pending",
        "get_schema", "list_grants", "list_received_grants", "lookup_across", "profile_beliefs",
        "profile_get", "profile_slot", "read_documents", "read_path", "recall_across", "rem_query",
        "revoke_grant", "search_across", "search_entities", "search_resources", "search_text",
        "search_text_across", "source_drift", "sql", "sync_source",
    ),
    "The prompt of `reader` does it.": (
        "reader_ask", "reader_delete_session", "reader_find", "reader_lines", "reader_outline",
        "reader_schema", "reader_search", "reader_session", "reader_sessions", "reader_sql",
    ),
    "It is for programs: the shell completes, and indexes look after themselves.": (
        "complete", "create_index", "delete_edge", "get_remme_context", "optimize", "set_expiry",
    ),
}  # fmt: skip

USAGES = [usage for rows in TABLE.values() for usage in rows]


def _path(operation: Operation) -> str:
    """An operation as a row of the table names it."""
    own = {"export": "admin.export", "import": "admin.import_", "backup": "admin.backup"}
    own |= {"add_job": "jobs.add", "profile_import": "profile.import_"}
    if operation.name in own:
        return own[operation.name]
    is_method = operation.method and operation.needs == "memory"
    return operation.method if is_method else f"{operation.needs}.{operation.method}"


def _command(usage: str) -> click.Command:
    command: click.Command | None = program
    for word in filter(str.islower, usage.split()):
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    assert command is not None
    return command


def _options(command: click.Command) -> list[click.Option]:
    return [one for one in command.params if isinstance(one, click.Option)]


def test_every_operation_has_a_command_or_a_reason_why_not() -> None:
    called = {row.method for rows in TABLE.values() for row in rows.values()}
    reasons = [name for names in NO_COMMAND.values() for name in names]
    without = {one.name for one in OPERATIONS if _path(one) not in called}
    assert without == set(reasons)
    assert len(reasons) == len(set(reasons))


@pytest.mark.parametrize("usage", USAGES)
def test_every_row_is_a_command_with_its_arguments_and_help_for_each_option(usage: str) -> None:
    words = usage.split()
    path = [word for word in words if word.islower()]
    shown = CliRunner().invoke(program, [*path, "--help"])
    assert shown.exit_code == 0, shown.output
    arguments = " ".join(words[len(path) :])
    assert f"{path[-1]} [OPTIONS] {arguments}".strip() in shown.output
    command = _command(usage)
    assert command.help
    assert [one.name for one in _options(command) if not one.help] == []


@pytest.mark.parametrize("usage", USAGES)
def test_help_speaks_to_those_who_type(usage: str) -> None:
    command = _command(usage)
    helps = [command.help or "", *(one.help or "" for one in _options(command))]
    assert [one for one in helps if re.search(r"=True|=False|None:", one)] == []
    # a value at its start would get a capital, with which it is refused
    assert [one for one in helps if re.match(r"[A-Z]\w*(, \w+(,| or )|: | \()|Default ", one)] == []
    choices = [one for one in _options(command) if isinstance(one.type, click.Choice)]
    assert [one.name for one in choices if one.metavar] == []


@pytest.mark.parametrize(
    ("usage", "kinds"),
    [("jobs add KIND [NAME=VALUE]...", KINDS), ("dream runs", RUN_KINDS)],
)
def test_help_names_every_kind(usage: str, kinds: tuple[str, ...]) -> None:
    command = _command(usage)
    shown = " ".join([command.help or "", *(one.help or "" for one in _options(command))])
    assert [kind for kind in kinds if kind not in re.findall(r"\w+", shown)] == []


@pytest.mark.parametrize(
    ("usage", "fact"),
    [
        ("schema drop NAME", "--rows"),
        ("dream rollback RUN", "later runs build on it"),
        ("profile set SLOT VALUE", "extras.NAME"),
        ("profile import FILE", "stays forgotten"),
        ("profile candidates", "profile promote"),
    ],
)
def test_help_says_what_a_command_refuses_and_needs(usage: str, fact: str) -> None:
    assert fact in (_command(usage).help or "")


class _Sizes(Struct):
    small: int
    large_ones: int


@pytest.mark.parametrize(
    ("result", "shown"), [(42, "42"), ("done", "done"), (_Sizes(2, 3), "small")]
)
def test_a_result_of_a_type_without_a_view_is_shown(result: object, shown: str) -> None:
    written = StringIO()
    Console(file=written).print(draw(result))
    assert shown in written.getvalue()


def test_columns_that_are_declared_so_are_set_flush_right() -> None:
    written = StringIO()
    columns = {"name": lambda size: "x", "on disk": lambda size: f"{size} MB"}
    Console(file=written).print(draw_list([7, 1000], columns=columns, right=("on disk",)))
    lines = [line.rstrip() for line in written.getvalue().splitlines()]
    assert "x         7 MB" in lines
    assert "x      1000 MB" in lines


@pytest.mark.parametrize(("typed", "meant"), [("shwo", "show"), ("histroy", "history")])
def test_a_misspelt_command_below_a_name_is_recognised(typed: str, meant: str) -> None:
    refused = CliRunner().invoke(program, ["profile", typed])
    assert refused.exit_code == 2
    assert f"Did you mean '{meant}'?" in refused.stderr


def test_commands_run_where_a_supervisor_closed_the_output(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    command = ["bash", "-c", '"$0" -m remloom --home "$1" tenant create zoe >&-', sys.executable]
    done = subprocess.run([*command, home], capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert [tenant.name for tenant in Home(home).tenants()] == ["zoe"]


def test_a_wrong_value_names_the_choices_and_the_bounds() -> None:
    runner = CliRunner()
    refused = runner.invoke(program, ["traverse", "x", "--direction", "up"])
    assert refused.exit_code == 2
    assert "'out', 'in', 'both'" in refused.stderr
    assert runner.invoke(program, ["audit", "--limit", "0"]).exit_code == 2
    defined = ["profile", "define", "work.desk", "--label", "Desk"]
    assert runner.invoke(program, [*defined, "--half-life", "0"]).exit_code == 2
    assert runner.invoke(program, [*defined, "--kind", "list[text]"]).exit_code == 2
