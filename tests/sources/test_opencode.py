"""Sessions of OpenCode."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from remloom import Memory
from remloom.errors import SourceError
from remloom.sources import Document, Skipped, open_source

RECORDED = Path(__file__).with_name("data") / "transcripts"
SESSION = "ses_dd21488c8ffeXaLkp8JKcShqN9"
FIRST = [
    ("user", '"Please set up the port"'),
    (
        "assistant",
        "We serve on port 8080, because ports below 1024 need root. The check passes now.",
    ),
]


def said(document: Document | Skipped) -> list[tuple[str, str]]:
    assert isinstance(document, Document), document
    return [(turn.message.speaker, turn.message.text) for turn in document.turns]


def database(path: Path, name: str) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript((RECORDED / f"opencode_{name}.sql").read_text())
    connection.close()
    return path


def test_what_was_reverted_is_not_said(tmp_path: Path):
    (document,) = open_source(database(tmp_path / "opencode.db", "reverted"))
    assert said(document) == FIRST
    assert isinstance(document, Document)
    assert document.uri.endswith(f"opencode.db#{SESSION}")
    assert document.metadata["folder"] == "/home/ann/queue"
    assert document.turns[0].actions == {
        "files": ["config.py"],
        "failed": [{"command": "python3 check.py", "exit": 1}],
        "mended": [{"command": "python3 check.py", "files": ["config.py"]}],
    }


def test_a_summary_takes_the_place_of_nothing(tmp_path: Path):
    (document,) = open_source(database(tmp_path / "opencode.db", "compacted"))
    assert said(document) == [
        *FIRST,
        ("user", "use PostgreSQL for the queue"),
        (
            "assistant",
            "The queue is in PostgreSQL: jobs are rows, and workers take them with SKIP LOCKED.",
        ),
        ("user", "what did we decide?"),
        ("assistant", "The port is 8080 and the queue is in PostgreSQL."),
    ]


def test_a_revert_takes_back_what_was_read_before(tmp_path: Path):
    path = database(tmp_path / "opencode.db", "reverted")
    connection = sqlite3.connect(path)
    (revert,) = connection.execute("SELECT revert FROM session").fetchone()
    connection.execute("UPDATE session SET revert = NULL")
    connection.commit()
    with Memory.open(tmp_path / "memory", embedder="none") as memory:
        memory.read(path)
        assert memory.search_text("Redis").records
        connection.execute("UPDATE session SET revert = ?", (revert,))
        connection.commit()
        memory.read(path)
        assert not memory.search_text("Redis").records
        assert memory.search_text("port").records
    connection.close()


def test_of_earlier_versions_a_session_is_many_files(tmp_path: Path):
    connection = sqlite3.connect(database(tmp_path / "x.db", "reverted"))

    def write(path: str, value: dict[str, Any]) -> None:
        file = tmp_path / "storage" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(value, indent=2))

    (revert,) = connection.execute("SELECT revert FROM session").fetchone()
    facts = {"id": SESSION, "projectID": "p", "directory": "/home/ann/queue"}
    write(f"session/p/{SESSION}.json", {**facts, "revert": json.loads(revert)})
    write("session/p/ses_sub.json", {**facts, "id": "ses_sub", "parentID": SESSION})
    for id, data in connection.execute("SELECT id, data FROM message"):
        write(f"message/{SESSION}/{id}.json", {"id": id, "sessionID": SESSION, **json.loads(data)})
    for id, of, data in connection.execute("SELECT id, message_id, data FROM part"):
        more = {"id": id, "sessionID": SESSION, "messageID": of}
        write(f"part/{of}/{id}.json", {**more, **json.loads(data)})
    connection.close()
    found = list(open_source(tmp_path / "storage"))
    (document,) = (one for one in found if isinstance(one, Document))
    assert said(document) == FIRST
    reasons = {one.reason for one in found if isinstance(one, Skipped)}
    assert reasons == {"of a session, and read with it", "of a sub-agent"}


@pytest.mark.parametrize("value", ["null", "7", '"x"', "[]", "[7]", '{"a": 7}', "{no"])
def test_rows_with_data_of_other_types_stop_nothing(tmp_path: Path, value: str):
    path = database(tmp_path / "opencode.db", "compacted")
    connection = sqlite3.connect(path)
    connection.execute("UPDATE session SET revert = ?", (value,))
    connection.execute("UPDATE part SET data = ? WHERE data LIKE '%Redis%'", (value,))
    for name in ("$.state", "$.state.input", "$.state.metadata", "$.text", "$.type"):
        connection.execute(
            "INSERT INTO part SELECT id || ?, message_id, session_id, time_created,"
            " json_set(data, ?, ?) FROM part WHERE json_valid(data) LIMIT 20",
            (name, name, value),
        )
    connection.commit()
    connection.close()
    assert not any(isinstance(one, Skipped) and one.failed for one in open_source(path))


def test_one_session_is_read_without_those_of_other_projects(tmp_path: Path):
    path = database(tmp_path / "opencode.db", "reverted")
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO session (id, directory) VALUES ('ses_other', '/home/ann/x')")
    connection.commit()
    connection.close()
    assert len(list(open_source(path))) == 2
    (document,) = open_source(f"{path}#{SESSION}")
    assert said(document) == FIRST
    assert list(open_source(f"{path}#ses_none")) == []
    with pytest.raises(SourceError, match="there is no file"):
        open_source(f"{tmp_path}/none.db#{SESSION}")
