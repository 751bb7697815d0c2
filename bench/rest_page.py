"""Write docs/rest.md from the table of operations: python -m bench.rest_page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import fields

from remloom.operations import OPERATIONS, TOOLS, Operation

PAGE = Path(__file__).parent.parent / "docs" / "rest.md"
_PLACE = re.compile(r"(<!-- operations -->\n).*?(<!-- /operations -->)", re.DOTALL)
# headings of the nouns of `Memory`, in the order they are shown
_NOUNS = {
    "": "The memory",
    "admin": "Chores",
    "profile": "The profile",
    "schemas": "Schemas of your own",
    "sources": "Databases that are there",
    "dreams": "Dreaming",
    "runs": "Runs",
    "jobs": "Jobs",
    "reader": "Long documents",
    "keys": "Keys",
    "home": "Tenants",
    "grants": "Grants",
    "federation": "Other tenants",
    "tools": "Tools of agents",
}


def main() -> None:
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"written: {PAGE.name}")


def written(page: str) -> str:
    """The page with the operations as they are now."""
    parts: dict[str, list[Operation]] = {noun: [] for noun in _NOUNS}
    for one in (*OPERATIONS, *TOOLS):
        parts[_noun_of(one)].append(one)
    shown = [f"## {_NOUNS[noun]}\n\n{_list(parts[noun])}" for noun in _NOUNS]
    return _PLACE.sub(lambda found: f"{found[1]}\n{chr(10).join(shown)}\n{found[2]}", page)


def _noun_of(one: Operation) -> str:
    if one in TOOLS:
        return "tools"
    if one.needs != "memory":
        return one.needs
    noun, dot, _ = one.method.partition(".")
    if dot:
        return noun
    route = one.route.path.split("/")[2] if one.route else ""
    return route if route in _NOUNS else ""


def _list(operations: Iterable[Operation]) -> str:
    rows = []
    for one in operations:
        route = f": `{one.route.method} {one.route.path}`" if one.route else ""
        rows.append(f"- `{one.name}({_arguments(one)})`{route}{_marks(one)}")
    return "\n".join(rows) + "\n"


def _arguments(one: Operation) -> str:
    """Those that must be given by name, and `…` for any others."""
    given = [field.name for field in fields(one.takes) if field.required]
    return ", ".join([*given, "…"] if len(given) < len(fields(one.takes)) else given)


def _marks(one: Operation) -> str:
    """The scope that a key needs, unless it is `read`, and what is streamed."""
    marks = {
        f"**{one.scope}**": one.scope != "read",
        "streamed": one.is_long,
        "sends a stream": one.carries == "out",
        "takes a stream": one.carries == "in",
    }
    shown = ", ".join(mark for mark, is_so in marks.items() if is_so)
    return f" {shown}" if shown else ""


if __name__ == "__main__":
    main()
