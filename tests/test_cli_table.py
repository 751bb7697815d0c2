"""The table of commands: every operation is in it or has a reason, and every row is a command."""

from __future__ import annotations

from io import StringIO

import click
import pytest
from click.testing import CliRunner
from msgspec import Struct
from rich.console import Console

from remloom.operations import OPERATIONS, Operation
from remloom.serve.cli.app import program
from remloom.serve.cli.frame.results import draw
from remloom.serve.cli.table import NO_COMMAND, TABLE

USAGES = [usage for rows in TABLE.values() for usage in rows]


def _path(operation: Operation) -> str:
    """An operation as a row of the table names it."""
    own = {"export": "admin.export", "import": "admin.import_", "backup": "admin.backup"}
    own |= {"add_job": "jobs.add", "profile_import": "profile.import_"}
    if operation.name in own:
        return own[operation.name]
    is_method = operation.method and operation.needs == "memory"
    return operation.method if is_method else f"{operation.needs}.{operation.method}"


def test_every_operation_has_a_command_or_a_reason_why_not() -> None:
    called = {row.of for rows in TABLE.values() for row in rows.values()}
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
    command: click.Command | None = program
    for word in path:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    assert command is not None
    assert command.help
    options = [one for one in command.params if isinstance(one, click.Option)]
    assert [one.name for one in options if not one.help] == []


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


def test_a_wrong_value_names_the_choices_and_the_bounds() -> None:
    runner = CliRunner()
    refused = runner.invoke(program, ["traverse", "x", "--direction", "up"])
    assert refused.exit_code == 2
    assert "'out', 'in', 'both'" in refused.stderr
    assert runner.invoke(program, ["audit", "--limit", "0"]).exit_code == 2
