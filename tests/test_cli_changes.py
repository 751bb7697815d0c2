"""What changed, by command: said, taken back, shown beside what may not hold, told as a chain."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from remloom import Memory, Resource
from remloom.serve.cli.app import program

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("REMLOOM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REMLOOM_EMBEDDER", "none")
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    return lambda *arguments: runner.invoke(program, list(arguments))


@pytest.fixture
def ids(run: Run, tmp_path: Path) -> dict[str, str]:
    """Who leads Orion, and a decision that rests on it: their ids, as they are typed."""
    lead = _id(run("remember", "Seoyun leads team Orion.", "--json"))
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        (plan,) = memory.write(
            [
                Resource(
                    name="reviews",
                    content="Code reviews of Orion go to Seoyun.",
                    parents=(memory.admin.describe(lead).records[0].record.id,),
                )
            ]
        )
    return {"lead": lead, "plan": plan[:8]}


def _json(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def _id(result: Result) -> str:
    return str(_json(result)["ids"][0])[:8]


def test_what_changed_is_said_shown_beside_what_rests_on_it_and_taken_back(
    run: Run, ids: dict[str, str]
) -> None:
    said = run("remember", "Jihoon leads team Orion.", "--replaces", ids["lead"], "--since",
               "2026-05-04")  # fmt: skip
    first, *lines = said.stdout.splitlines()
    newer = first.removeprefix("remembered ")
    assert lines == [
        f"  replaces {ids['lead']}  Seoyun leads team Orion. (it has changed, 2026-05-04)",
        "1 record may no longer hold:",
        f"  {ids['plan']}  reviews",
        f"undo: remloom unreplace {ids['lead']}",
    ]
    found = run("recall", "Who gets the code reviews of Orion?").stdout
    assert ids["plan"] in found
    assert (
        f"may not hold: Seoyun leads team Orion. was replaced by {newer}, with effect from 2026-05-04"
        in found
    )
    assert f"now {newer}  Jihoon leads team Orion." in found
    refreshed = run("refresh", ids["plan"], "--dry-run").stdout
    assert f"yours to mend or confirm  {ids['plan']}  reviews" in refreshed
    assert run("confirm", ids["plan"]).exit_code == 0
    assert "said to hold all the same on 2" in run("history", "reviews").stdout
    back = run("unreplace", ids["lead"]).stdout
    assert back == f"holds again: {ids['lead']}  Seoyun leads team Orion.\n"
    assert run("unreplace", ids["lead"]).exit_code != 0
    assert "Seoyun leads" in run("recall", "Who leads Orion?").stdout


def test_history_is_a_chain_that_can_be_read(run: Run, ids: dict[str, str]) -> None:
    lead = ids["lead"]
    wrong = _id(run("remember", "Jihoon leads Orion.", "--replaces", lead, "--since", "2026-05-04",
                    "--json"))  # fmt: skip
    right = _id(
        run("remember", "Minji leads Orion.", "--replaces", wrong, "--reason", "wrong", "--json")
    )
    more = _id(run("remember", "She does so until June.", "--amends", right, "--json"))
    shown = run("history", wrong).stdout
    assert [line.partition(", said")[0] for line in shown.splitlines()[1:]] == [
        f"  {lead}  Seoyun leads team Orion.",
        f"    until 2026-05-04: it has changed; replaced by {wrong}",
        f"→ {wrong}  Jihoon leads Orion.",
        "    since 2026-05-04; never held: it was wrong",
        f"  {right}  Minji leads Orion.",
        f"  {more}  She does so until June.",
        f"    amends {right}",
    ]
    assert f"replaced by {right}" in shown
    assert "superseded" not in shown
    assert len(_json(run("history", more, "--json"))["chain"]) == 4


def test_show_says_what_a_text_replaced_and_what_replaced_it(run: Run, ids: dict[str, str]) -> None:
    lead = ids["lead"]
    new = _id(run("remember", "Jihoon leads Orion.", "--replaces", lead, "--since", "2026-05-04",
                  "--json"))  # fmt: skip
    older, newer = (run("show", id).stdout for id in (lead, new))
    assert f"  replaced by {new}  Jihoon leads Orion. (it has changed, 2026-05-04)" in older
    assert "Seoyun leads team Orion.\n" in older
    assert "superseded" not in older
    assert f"  replaces {lead}  Seoyun leads team Orion. (it has changed, 2026-05-04)" in newer
    assert "may not hold: Seoyun leads team Orion. was replaced by" in run("show", "reviews").stdout


def test_what_cannot_be_replaced_is_refused_and_nothing_is_written(
    run: Run, ids: dict[str, str]
) -> None:
    before = _json(run("stats", "--json"))["records"]
    for options in (
        ("--replaces", "ffffffff"),
        ("--replaces", ids["lead"], "--amends", ids["lead"]),
        ("--reason", "wrong"),
        ("--since", "2026-05-04"),
    ):
        assert run("remember", "Minji leads Orion.", *options).exit_code in (2, 3)
    assert _json(run("stats", "--json"))["records"] == before


def test_a_sync_says_what_is_one_what_no_longer_is_and_what_may_not_hold(
    run: Run, tmp_path: Path
) -> None:
    databases = {name: sqlite3.connect(f"{name}.db") for name in ("crm", "shop")}
    for name, database in databases.items():
        database.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, email TEXT)")
        database.execute(f"INSERT INTO customers VALUES (7, 'Acme {name}', 'a@acme.example')")
        database.commit()
        assert run("discover", f"{name}.db", "-o", f"{name}.toml").exit_code == 0
        assert run("register", f"{name}.toml").exit_code == 0
        assert run("sync", name).exit_code == 0
    names = [one["schema_name"] for one in _json(run("schemas", "--json"))]
    for name in names:
        assert run("identify", name, "--by", "email").exit_code == 0
    shown = run("sync", "crm").stdout + run("sync", "shop").stdout
    assert "1 pair of rows united" in shown
    (pair,) = [line for line in shown.splitlines() if " = " in line]
    found = " ".join(run("recall", "Acme crm").stdout.split())
    assert "crm/customers customer-7" in found
    assert "as crm/customers.email = shop/customers.email: a@acme.example" in found
    handle = pair.split(" = ")[1]
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        row = memory.admin.describe(handle).records[0].record
        memory.write([Resource(name="tax", content="Acme pays no tax.", parents=(row.id,))])
    databases["shop"].execute("UPDATE customers SET email = 'b@acme.example'")
    databases["shop"].commit()
    shown = run("sync", "shop").stdout
    assert "1 pair of rows separated" in shown
    assert pair.replace(" = ", " ≠ ") in shown
    assert "1 record may no longer hold:\n" in shown
    assert shown.splitlines()[-1].endswith("  tax")
