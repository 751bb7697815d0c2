"""What a user does, a part at a time, in a process that may not open a socket: `python
offline_program.py PART FOLDER`. Its exit code is 3 where something tried to."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

FORBIDDEN = 3
_NETWORK = (
    "socket.connect",
    "socket.sendto",
    "socket.sendmsg",
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "socket.gethostbyaddr",
)
NOTES = "# Harbour\n\nSarah Chen keeps the keys of the harbour in Narvik.\n\nThe lock leaks.\n"


def forbid_sockets() -> None:
    """End this process when Python code of any library reaches for the network."""

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event in _NETWORK:
            os.write(2, f"{event} {arguments[1:]}\n".encode())
            os._exit(FORBIDDEN)

    sys.addaudithook(hook)


def remember(folder: Path) -> None:
    from remloom import Memory

    with Memory.open(folder / "memory") as memory:
        memory.read_text(NOTES, uri="notes.md")
        assert memory.search("Who has the keys?").records
        assert memory.recall("Who has the keys of the harbour?", rerank="local").hits
        assert memory.lookup("Sarah Chen").records
        assert memory.forget("notes.md").verified


def documents(folder: Path) -> None:
    from remloom import Memory

    html = folder / "notes.html"
    html.write_text("<html><body><h1>Harbour</h1><p>The lock leaks.</p></body></html>")
    with Memory.open(folder / "memory", embedder="none") as memory:
        assert memory.read(html).items[0].status == "read"
        assert memory.search_text("leaks").records


def reader(folder: Path) -> None:
    from remloom import Memory

    with Memory.open(folder / "memory", embedder="none") as memory:
        memory.read_text(NOTES, uri="notes.md")
        with memory.reader("notes.md") as lines:
            assert lines.find("keys")
            assert lines.sql("SELECT count(*) FROM documents").rows


def learning(folder: Path) -> None:
    from remloom import Memory
    from remloom.testing.models import ScriptedModel

    model = ScriptedModel(
        lambda request: "NOTHING" if request.task != "entities" else {"items": []}
    )
    with Memory.open(folder / "memory", llm=model) as memory:
        memory.read_text(NOTES, uri="notes.md")
        memory.learn()
        memory.dream()
        memory.runs.list()


def databases(folder: Path) -> None:
    from remloom import Memory

    (folder / "crm").mkdir()
    (folder / "crm" / "boats.csv").write_text("id,name\n1,Tern\n2,Gull\n")
    with Memory.open(folder / "memory", embedder="none") as memory:
        assert memory.schemas.discover(f"csv:///{folder}/crm").tables


def server(folder: Path) -> None:
    from serving import served

    with served(folder / "home", embedder="minilm") as client:
        assert client.post("/v1/texts", json={"text": NOTES, "uri": "notes.md"}).is_success
        assert client.post("/v1/recall", json={"question": "Who has the keys?"}).is_success


PARTS: dict[str, Callable[[Path], None]] = {
    part.__name__: part for part in (remember, documents, reader, learning, databases, server)
}

if __name__ == "__main__":
    forbid_sockets()
    PARTS[sys.argv[1]](Path(sys.argv[2]))
