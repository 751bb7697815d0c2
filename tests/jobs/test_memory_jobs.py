"""Jobs as a user of Memory and of the command line has them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from remloom import Memory
from remloom.errors import ConflictError, InvalidInputError, UnknownNameError
from remloom.jobs.tasks import summarize
from remloom.serve.cli.app import program
from waiting import PATIENCE, until


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in [name for name in os.environ if name.startswith("REMLOOM_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("REMLOOM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REMLOOM_EMBEDDER", "none")
    return tmp_path / "home"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "alpha.md").write_text("# Alpha\n\nSarah Chen leads Project Alpha from Riga.\n")
    return folder


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(program, [str(word) for word in words])


def test_a_job_reads_a_folder_and_keeps_the_numbers_of_the_report(home: Path, notes: Path) -> None:
    with Memory.open(home) as memory:
        memory.jobs.add("read", {"source": str(notes)}, key="notes")
        assert memory.jobs.work(until_idle=True) == 1
        (job,) = memory.jobs.list()
        assert (job.state, job.result["resources"]) == ("done", 1)
        assert "items" not in job.result
        assert memory.lookup("Sarah Chen").records


def test_a_result_keeps_no_text_that_could_quote_what_was_read() -> None:
    run = {"id": "r1", "status": "done", "reason": "no more of Sarah", "counts": {"dreams": 3}}
    run["settings"] = {"seed": "Sarah", "neighbours": 5}
    result = {
        "run": run,
        "embedding_error": "cannot embed Sarah",
        "failed": ["Sarah"],
        "pending": 0,
    }
    kept = {"id": "r1", "status": "done", "counts": {"dreams": 3}, "settings": {"neighbours": 5}}
    assert summarize("learn", result) == {"run": kept, "pending": 0}
    assert summarize("learn", "Sarah") is None


def test_what_is_forgotten_is_in_no_finished_job(home: Path, notes: Path) -> None:
    with Memory.open(home) as memory:
        memory.jobs.add("read", {"source": str(notes)})
        memory.jobs.add("moments", {"model": False})
        memory.jobs.work(until_idle=True)
        (uri,) = {record.uri for record in memory.admin.records("resources")}
        assert memory.forget(uri).verified
        for job in memory.jobs.list("done"):
            assert not any(word in str(job) for word in ("Sarah", "Alpha", "Riga"))


def test_what_cannot_be_done_is_refused_when_it_is_added(home: Path) -> None:
    with Memory.open(home) as memory:
        with pytest.raises(UnknownNameError, match="forget"):
            memory.jobs.add("forget", {"targets": ["everything"]})
        with pytest.raises(InvalidInputError, match="missing a required argument") as refused:
            memory.jobs.add("read", {})
        assert "source" in refused.value.remedy
        with pytest.raises(InvalidInputError, match="unexpected"):
            memory.jobs.add("read", {"source": "a", "colour": "red"})
        assert memory.jobs.list() == []


def test_a_job_about_a_folder_that_is_gone_is_parked_with_the_reason(
    home: Path, notes: Path
) -> None:
    with Memory.open(home) as memory:
        memory.jobs.add("read", {"source": str(notes / "gone")}, key="gone")
        memory.jobs.work(until_idle=True)
        (job,) = memory.jobs.list("parked")
        assert "gone" in job.error


def test_jobs_are_of_one_tenant_encrypted_with_it_and_not_in_its_export(
    home: Path, tmp_path: Path
) -> None:
    with Memory.open(home, tenant="a", key="ab" * 32) as memory:
        memory.jobs.add(
            "read", {"source": "zanzibar-holdings"}, every="0 2 * * *", key="secret-plan"
        )
        memory.admin.export(tmp_path / "export.jsonl")
        assert "zanzibar" not in (tmp_path / "export.jsonl").read_text()
    with Memory.open(home, tenant="b", key="ab" * 32) as memory:
        assert memory.jobs.list() == []
    assert not any(b"zanzibar" in path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_the_command_line_schedules_lists_and_removes(home: Path, notes: Path) -> None:
    added = run(
        "schedule",
        "add",
        "0 2 * * *",
        "read",
        f"source={notes}",
        "wait=false",
        "--zone",
        "Europe/Riga",
    )
    assert added.exit_code == 0, added.output
    assert "read: At 02:00 every day (Europe/Riga), next" in added.output
    listed = run("schedule", "list")
    assert "At 02:00 every day" in listed.output
    assert run(
        "schedule",
        "add",
        "0 2 * * *",
        "read",
        f"source={notes}",
        "wait=false",
        "--zone",
        "Europe/Riga",
    )
    (job,) = json.loads(run("schedule", "list", "--json").output)
    assert (job["payload"], job["every"]) == ({"source": str(notes), "wait": False}, "0 2 * * *")
    other = run("schedule", "add", "0 3 * * *", "read", f"source={notes}")
    assert other.exit_code == ConflictError.exit_code
    assert "remove that one first" in other.output
    assert run("schedule", "run", "--once").output == "nothing was due\n"
    assert run("schedule", "remove", "read").output == "removed read\n"
    assert run("schedule", "remove", "read").exit_code == 3
    assert "nothing is scheduled" in run("schedule", "list").output


@pytest.mark.parametrize(
    "payload",
    [5, "dreams", [["order", "strict"]], {"budget": 5}, {"budget": "1000"}, {"budget": {"a": 1}}],
)
def test_a_payload_or_a_budget_that_is_not_an_object_is_refused_when_it_is_added(
    home: Path, payload: Any
) -> None:
    with Memory.open(home) as memory:
        with pytest.raises(InvalidInputError, match=r"is an object, not a|a budget has no 'a'"):
            memory.jobs.add("learn", payload)
        assert memory.jobs.list() == []


def test_a_time_of_a_payload_is_text(home: Path) -> None:
    with Memory.open(home) as memory:
        memory.jobs.add("moments", {"since": "2026-03-02T09:00:00Z", "model": False})
        assert memory.jobs.work(until_idle=True) == 1
        (job,) = memory.jobs.list()
        assert (job.state, job.error) == ("done", "")
        for wrong in ("yesterday", "2026-03-02T09:00:00"):
            with pytest.raises(InvalidInputError, match="since is no time with a zone"):
                memory.jobs.add("moments", {"since": wrong})


def test_the_command_line_does_a_job_and_says_what_came_of_it(home: Path, notes: Path) -> None:
    assert run("jobs", "add", "read", f"source={notes}", "--key", "notes").exit_code == 0
    assert (
        run(
            "jobs", "add", "read", f"source={notes}", "--key", "later", "--at", "2999-01-01"
        ).exit_code
        == 0
    )
    done = run("schedule", "run", "--once")
    assert f"notes: read source={notes}\n" in done.output
    assert "1 resource," in done.output
    assert "did 1 job" in done.output
    assert [
        job["id"] for job in json.loads(run("jobs", "list", "--json", "--state", "done").output)
    ] == ["notes"]
    assert "2999-01-01 00:00:00 UTC" in run("jobs", "list").output
    assert run("jobs", "retry", "later").output == "read later is due now\n"
    assert run("jobs", "remove", "later").exit_code == 0


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("schedule", "add", "every night", "read", "source=a"), 2, "not a cron expression"),
        (("schedule", "add", "0 2 * * *", "raed", "source=a"), 2, "did you mean 'read'"),
        (("schedule", "add", "0 2 * * *", "read", "notes/"), 2, "name=value"),
        (("jobs", "add", "read", "source=a", "--at", "tonight"), 2, "is not a time"),
        (("jobs", "retry", "nothing"), 3, "there is no job"),
        (("schedule", "run", "--once", "--lease", "0"), 2, "above 0"),
    ],
)
def test_wrong_input_says_what_would_be_right(
    home: Path, words: tuple[str, ...], code: int, told: str
) -> None:
    Memory.open(home).close()
    done = run(*words)
    assert (done.exit_code, told in done.output) == (code, True), done.output


def test_a_terminated_worker_ends_cleanly_and_its_job_can_be_claimed_at_once(home: Path) -> None:
    with Memory.open(home) as memory:
        memory.jobs.add("embed_pending", {}, key="first")
    code = (
        "import sys, time\nfrom remloom import Memory\n"
        "Memory.embed_pending = lambda self, progress=None: time.sleep(60)\n"
        "from remloom.serve.cli import main\nmain()"
    )
    worker = subprocess.Popen(
        [sys.executable, "-c", code, "schedule", "run"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with Memory.open(home) as memory:
        until(lambda: memory.jobs.list("running"))
        worker.send_signal(signal.SIGTERM)
        _, errors = worker.communicate(timeout=PATIENCE)
        assert (worker.returncode, errors) == (0, "")
        (job,) = memory.jobs.list()
        assert (job.state, job.attempts) == ("waiting", 0)


def test_an_address_is_not_stored_with_a_job(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        payload = {"source": "crm", "url": "postgresql://me:secret@db/crm"}
        with pytest.raises(InvalidInputError, match="keeps no address") as refused:
            memory.jobs.add("sync", payload)
        assert "secret" not in str(refused.value)
        for kind in ("sync", "discover"):
            with pytest.raises(InvalidInputError, match="as an address is") as refused:
                memory.jobs.add(kind, {"source": "postgresql://me:secret@db/crm"})
            assert "secret" not in str(refused.value)
        assert memory.jobs.list() == []
