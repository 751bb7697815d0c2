"""What the tests of the cycles share: small dated documents, and a model whose replies depend on
the request alone."""

from __future__ import annotations

import io
import re
from hashlib import sha256
from pathlib import Path

import msgspec

from remloom import Memory
from remloom.llm import Request
from remloom.testing.models import ScriptedReply

_NAMES = re.compile(r"\b[A-Z][a-z]{3,}\b")
# says where something was read, which differs from test to test
_TAG = re.compile(r"</?data-[^>]*>")
_DATA = re.compile(r"<(data-\w+)[^>]*>\n(.*?)\n</\1>", re.DOTALL)

ESSAYS = {
    "2021-01-05-tea.md": "Harbour taxes on tea angered Boston. Merchants in Boston wrote to London.",
    "2021-01-20-ships.md": "Ships from London carried tea. Captain Hall waited in Boston.",
    "2021-02-03-press.md": "Printers in Boston mocked the taxes. London noticed the printers.",
    "2021-02-17-port.md": "The port was closed. Merchants left Boston for Salem.",
    "2021-03-02-congress.md": "Delegates met in Philadelphia. They wrote to London about the port.",
    "undated.md": "Tea keeps for years when it is dry.",
}


def folder(path: Path, essays: dict[str, str] = ESSAYS) -> Path:
    """The documents as files; the name says the date."""
    path.mkdir(exist_ok=True)
    for name, text in essays.items():
        dated = re.match(r"\d{4}-\d\d-\d\d", name)
        head = f"---\ntitle: {name[:-3]}\ndate: {dated[0]}\n---\n\n" if dated else ""
        (path / name).write_text(f"{head}{text}\n")
    return path


def reply(request: Request) -> ScriptedReply:
    """A reply that depends on nothing but the request."""
    said = sha256(_TAG.sub("", request.prompt).encode()).hexdigest()[:12]
    if request.task == "entities":
        text = " ".join(part for _, part in _DATA.findall(request.prompt))
        return {
            "items": [
                {"entity": name, "learning": f"{name} is told of in {said}."}
                for name in sorted({*_NAMES.findall(text)})
            ]
        }
    if request.task == "question":
        return f"What binds {said}?"
    if request.task == "synthesis" and "Captain Hall" in _DATA.findall(request.prompt)[0][1]:
        return "**Nothing.**"
    return f"An insight of {request.task}: {said}."


def exported(memory: Memory) -> bytes:
    stream = io.BytesIO()
    memory.admin.export(stream)
    return stream.getvalue()


def content(memory: Memory) -> tuple[dict[str, object], list[object]]:
    """Records by name and all edges, without what may differ from run to run: times, the run, ids
    made anew, paths."""
    ids: dict[str, str] = {}
    records = {}
    edges = []
    lines = [msgspec.json.decode(line) for line in exported(memory).splitlines()[1:]]
    for line in lines:
        if line["line"] == "record":
            ids[line["record"]["id"]] = f"{line['schema']}:{line['record']['name']}"
    for line in lines:
        if line["line"] == "record":
            record = line["record"]
            for field in ("id", "created_at", "updated_at"):
                record.pop(field, None)
            record.get("metadata", {}).pop("run", None)
            if "parents" in record:
                record["parents"] = sorted(ids[parent] for parent in record["parents"])
            records[f"{line['schema']}:{record['name']}"] = (record, line.get("vectors"))
        elif line["line"] == "edge":
            line["edge"].pop("created_at")
            edges.append(line["edge"])
    return records, edges
