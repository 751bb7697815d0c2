"""Hooks of coding agents: what was installed, how they are, and what was given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from ....text.quoting import visible
from ..frame.text_formats import format_time, short_id
from .tables import draw_nested, draw_table

if TYPE_CHECKING:
    from ....hooks.doctor import Fault
    from ....hooks.injections import Injected
    from ....hooks.install import Done


def draw_done(done: Sequence[Done]) -> RenderableType:
    """Draw what was done with each program, and what is left to do."""
    parts: list[RenderableType] = []
    for one in done:
        if one.diff:
            parts.append(Text(visible(one.diff).rstrip("\n"), no_wrap=True, overflow="ignore"))
            continue
        line = Text.assemble((one.client, "bold"), f": {one.outcome}")
        parts.append(line)
        parts += [Text(f"  {visible(path)}") for path in one.files]
        parts += [Text(f"  {visible(one.error)}", "red")] if one.error else []
        parts += [Text(f"  remedy: {visible(one.remedy)}")] if one.remedy else []
        parts += [Text(f"  {one.note}")] if one.note else []
    return Group(*parts) if parts else "nothing is installed"


def draw_status(data: dict[str, Any]) -> RenderableType:
    """Draw where hooks are installed, and whether they are on."""
    installed = ", ".join(data["installed"]) or "nowhere: see remloom install --help"
    shown = {
        "home": data["home"],
        "installed": installed,
        "this folder": f"{data['project']}, tenant {data['tenant']}",
        "hooks": "on" if data["on"] else "off: remloom hooks on",
        "process": f"{data['process']['state']} {data['process']['pid'] or ''}".rstrip(),
    }
    return draw_nested(shown)


def draw_findings(findings: Sequence[Fault]) -> RenderableType:
    """Draw what is wrong, each with what mends it."""
    if not findings:
        return Text("hooks work", "bold green")
    parts: list[RenderableType] = []
    for one in findings:
        where = f" ({one.client})" if one.client else ""
        parts.append(Text.assemble(("problem: ", "bold red"), visible(one.problem), where))
        parts.append(Text(f"  remedy: {visible(one.remedy)}"))
    return Group(*parts)


def draw_log(injections: Sequence[Injected]) -> RenderableType:
    """Draw what agents were given, a line each."""
    columns = ("at", "client", "at the", "session", "tenant", "given", "why", "tokens", "ms")
    rows = [
        (
            format_time(one.at),
            one.client,
            one.kind,
            short_id(one.session),
            one.tenant,
            " ".join(short_id(id) for id in one.ids),
            one.why,
            one.tokens,
            one.milliseconds,
        )
        for one in injections
    ]
    return draw_table(columns, rows, right=("tokens", "ms"), none="nothing was given yet")
