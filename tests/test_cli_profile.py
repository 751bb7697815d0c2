"""`remloom profile`: what is known of the user, on the command line."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.cells import cell_len

from remloom import Memory, Message
from remloom.errors import ConflictError, NotFoundError
from remloom.llm import Request
from remloom.serve.cli.app import program
from remloom.serve.cli.frame.text_formats import middle_cut
from remloom.testing.models import ScriptedModel, ScriptedReply

CHAT = [
    ("user", "I'm vegetarian and I'm allergic to peanuts.", "2026-10-01T09:00:00Z"),
    ("assistant", "Noted! I like peanuts.", "2026-10-01T09:01:00Z"),
    ("user", "I live in Berlin.", "2026-10-03T09:00:00Z"),
    ("user", "I moved to Lisbon last week.", "2026-10-12T09:00:00Z"),
    ("user", "I'm no longer vegetarian, I eat fish again.", "2026-10-20T09:00:00Z"),
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with an empty memory; beside it a chat of October."""
    for variable in [name for name in os.environ if name.startswith("REMLOOM_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("REMLOOM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REMLOOM_EMBEDDER", "none")
    monkeypatch.chdir(tmp_path)
    turns = [{"role": who, "content": text, "timestamp": at} for who, text, at in CHAT]
    # a turn a line
    lines = ",\n".join(map(json.dumps, turns))
    (tmp_path / "october.json").write_text(f"[{lines}]")
    Memory.open(tmp_path / "home", embedder="none").close()
    return tmp_path


@pytest.fixture
def known(home: Path) -> Path:
    """The same, after a scan."""
    assert run("profile", "scan", "october.json").exit_code == 0
    return home


def run(*words: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(program, list(words), input=stdin)


def as_json(*words: str) -> Any:
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_of_two_values_that_may_hold_both_are_shown_until_one_is_confirmed(home: Path) -> None:
    said = {"I have an insulin pump.": "insulin pump", "I have a stent.": "stent"}

    def reply(request: Request) -> ScriptedReply:
        found = [
            {"quote": quote, "key": "own.device", "value": value}
            for quote, value in said.items()
            if quote in request.prompt and request.task == "profile_extract"
        ]
        return {"items": found}

    model = ScriptedModel(reply)
    with Memory.open(home / "home", embedder="none", llm=model) as memory:
        memory.profile.define_slot({
            "id": "own.device", "hub": "soft_identity", "label": "Device", "kind": "text",
            "sensitive": True, "standing": True,
        })  # fmt: skip
        for month, text in enumerate(said, 1):
            message = Message(speaker="user", text=text, at=datetime(2026, month, 2, tzinfo=UTC))
            memory.read_chat([message], uri=f"{month}.json")
            memory.profile.observe()
            memory.profile.normalise(now=True)
    assert "insulin pump or stent" in " ".join(run("profile", "show").stdout.split())
    why = run("profile", "why", "own.device").stdout
    assert "Device: insulin pump or stent" in why
    assert re.search(r"stent +[━ ]+▶ +since 2026-02-02", why)
    assert run("profile", "confirm", "own.device", "stent").exit_code == 0
    shown = run("profile", "show").stdout
    assert " or " not in shown
    assert "stent" in shown


def test_a_scan_reads_a_chat_and_says_what_it_found_and_how_to_undo_it(home: Path) -> None:
    result = run("profile", "scan", "october.json")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "read 1 document"
    assert lines[1].startswith("4 passages looked at, 5 pieces of evidence")
    assert any(line.startswith("undo: remloom dream rollback ") for line in lines)
    assert run("profile", "scan").stdout == "nothing new to look at\n"


def test_a_chat_that_is_scanned_stays_a_chat(known: Path) -> None:
    (explained,) = as_json("profile", "why", "allergies")
    assert [one["source"] for one in explained["evidence"]] == ["chat"]


def test_the_profile_is_a_table_for_each_hub_with_what_is_known_and_how_sure(known: Path) -> None:
    result = run("profile")
    assert result.exit_code == 0, result.output
    assert "Operating context: what is feasible" in result.stdout
    (row,) = [line for line in result.stdout.splitlines() if " Location" in line]
    assert "Lisbon" in row
    assert "█" in row
    assert "%" in row
    assert "2026-10-12" in row
    assert row.endswith("october.json:4")
    assert "1 belief ended: --ended shows them" in result.stdout
    assert "vegetarian" not in result.stdout
    assert "vegetarian" in run("profile", "show", "--ended").stdout


def test_an_empty_profile_says_what_to_do(home: Path) -> None:
    assert run("profile", "show").stdout.startswith("nothing is known yet: remloom profile scan")


@pytest.mark.parametrize("words", [("show",), ("changes",), ("context", "hi"), ("export",)])
def test_a_name_that_nobody_has_is_no_empty_profile(known: Path, words: tuple[str, ...]) -> None:
    result = run("profile", *words, "--subject", "Nobody")
    assert result.exit_code == NotFoundError.exit_code
    assert "nobody named 'Nobody' is known" in result.output
    assert "there is me" in result.output
    assert run("profile", *words, "--subject", "me").exit_code == 0


def test_why_draws_the_values_by_time_and_quotes_what_was_said(known: Path) -> None:
    shown = run("profile", "why", "location_region").stdout
    assert shown.startswith("Location: Lisbon")
    assert "2026-10-03 to 2026-10-12" in shown
    assert "“I live in Berlin.”" in shown
    assert "october.json:3" in shown


def test_as_of_a_day_it_is_what_was_believed_then(known: Path) -> None:
    before = as_json("profile", "show", "--as-of", "2026-10-10")
    values = {belief["label"]: belief["value"] for belief in before["beliefs"]}
    assert values == {"Allergies": "peanuts", "Diet": "vegetarian", "Location": "Berlin"}
    shown = run("profile", "why", "location_region", "--as-of", "2026-10-10").stdout
    assert "Lisbon" not in shown


def test_changes_are_listed_the_newest_first(known: Path) -> None:
    rows = run("profile", "changes", "--since", "2026-10-10").stdout.splitlines()[2:]
    assert [row.split()[:2] for row in rows] == [["2026-10-20", "Diet"], ["2026-10-12", "Location"]]
    assert "Berlin" in run("profile", "history", "location_region").stdout


def test_what_is_set_by_hand_is_shown_and_can_be_taken_back(known: Path) -> None:
    result = run("profile", "set", "location_region", "Porto", "--note", "my address")
    assert result.stdout.startswith("Location: Porto")
    undo = result.stdout.splitlines()[-1].split("`")[1].split()[1:]
    assert "“my address”" in run("profile", "why", "location_region").stdout
    assert run(*undo).exit_code == 0
    assert run("profile", "why", "location_region").stdout.startswith("Location: Lisbon")


def test_a_scope_has_a_value_of_its_own(known: Path) -> None:
    run("profile", "set", "verbosity", "detailed", "--scope", "domain:coding")
    run("profile", "set", "verbosity", "concise")
    coding = as_json("profile", "show", "--scope", "domain:coding")
    assert [
        one["value"] for one in coding["beliefs"] if one["slot"] == "output_contract.verbosity"
    ] == ["detailed"]
    assert "domain:coding" in run("profile", "show").stdout


@pytest.mark.parametrize("answer", ["confirm", "reject", "retire"])
def test_an_answer_shows_what_came_of_it(known: Path, answer: str) -> None:
    result = run("profile", answer, "allergies", "peanuts")
    assert result.exit_code == 0, result.output
    states = {
        "confirm": "current, since",
        "reject": "retired, was wrong, until",
        "retire": "retired, until",
    }
    assert states[answer] in result.stdout


def test_what_changed_and_what_was_wrong_have_their_reasons_and_are_taken_back(known: Path) -> None:
    moved = run(
        "profile", "correct", "location_region", "Porto",
        "--reason", "changed", "--since", "2026-10-20", "--note", "new job",
    ).stdout  # fmt: skip
    run("profile", "correct", "allergies", "almonds", "--was", "peanuts", "--note", "mixed up")
    changes = re.sub(r" +", " ", run("profile", "changes").stdout)
    assert "2026-10-20 Location Lisbon Porto has changed: “new job”" in changes
    assert "Allergies peanuts (ended) was wrong: “mixed up”" in changes
    then = re.sub(r" +", " ", run("profile", "show", "--as-of", "2026-10-25").stdout)
    assert "current, retracted" in then
    given = run("profile", "context", "Where do I live?", "--as-of", "2026-10-25").stdout
    assert 'Location: "Lisbon"' in given
    assert "never so" in given
    assert 'Location: "Porto" (since 2026-10-20' in run(
        "profile", "context", "Where do I live?"
    ).stdout  # fmt: skip
    (undo,) = re.findall(r"`remloom (dream rollback \w+)`", moved)
    run(*undo.split())
    assert as_json("profile", "history", "location_region")[0]["after"] == "Lisbon"


def test_a_correction_takes_the_place_of_what_was_wrong(known: Path) -> None:
    run("profile", "correct", "allergies", "tree nuts", "--was", "peanuts")
    table = run("profile", "show").stdout
    assert "tree nuts" in table
    assert "peanuts" not in table


def test_what_is_pinned_or_hidden_is_marked_until_that_is_undone(known: Path) -> None:
    assert "current, pinned" in run("profile", "pin", "allergies").stdout
    assert "current, pinned, hidden" in run("profile", "hide", "allergies").stdout
    run("profile", "pin", "allergies", "--undo")
    assert "pinned" not in run("profile", "hide", "allergies", "--undo").stdout


def test_forgetting_asks_first_and_verifies_that_nothing_is_left(known: Path) -> None:
    refused = run("profile", "forget", "allergies")
    assert refused.exit_code == 2
    assert "add --yes" in refused.stderr
    assert run("profile", "forget", "allergies", "--dry-run").stdout.startswith("would forget 1 ")
    done = run("profile", "forget", "allergies", "--yes")
    assert "verified: nothing of it is left" in done.stdout
    assert "peanuts" not in run("profile", "show", "--ended").stdout


def test_what_can_be_known_is_listed_and_described(home: Path) -> None:
    assert "food_and_dining.restrictions.allergies" in run("profile", "slots").stdout
    described = run("profile", "slots", "delete_files").stdout
    assert "user only" in described


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("why", "dietary"), 2, "did you mean"),
        (("why", "timezone"), 3, "nothing is believed of"),
        (("why", "location_region", "Atlantis"), 3, "'Atlantis' never was"),
        (("set", "autonomy", "always"), 2, "autonomy.delete_files"),
        (("set", "delete_files", "always!"), 2, "is one of"),
        (("set", "verbosity", "concise", "--scope", "coding"), 2, "is not a scope"),
        (("show", "--as-of", "yesterday"), 2, "is not a time"),
    ],
)
def test_wrong_input_says_what_is_right(
    known: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    result = run("profile", *words)
    assert result.exit_code == code, result.output
    assert said in result.stderr


def test_several_people_are_kept_apart(known: Path) -> None:
    run("profile", "set", "location_region", "Riga", "--subject", "Ana Costa")
    assert run("profile", "subjects").stdout.split("\n") == ["Ana Costa", "me", ""]
    assert "Lisbon" not in run("profile", "show", "--subject", "Ana Costa").stdout


def test_a_profile_is_exported_to_be_read_or_to_be_taken_in(known: Path) -> None:
    assert "- **Location: Lisbon** (" in run("profile", "export").stdout
    assert run("profile", "export", "me.json").stdout == "exported to me.json\n"
    assert run("profile", "export", "me.json").exit_code == 4
    assert run("profile", "export", "me.md").exit_code == 0
    taken = run("--tenant", "elsewhere", "profile", "import", "me.json")
    assert taken.stdout == "took in 5 pieces of evidence on me, 0 were there already\n"
    assert "Lisbon" in run("--tenant", "elsewhere", "profile", "show").stdout
    refused = run("profile", "import", "me.md")
    assert refused.exit_code == 2
    assert "not the JSON of a profile" in refused.stderr
    assert len(as_json("profile", "export")["evidence"]) == 5


def test_what_no_slot_is_for_becomes_an_extra_and_nothing_waits(home: Path) -> None:
    turn = {"role": "user", "content": "My blood type is B+.", "timestamp": "2026-10-01T09:00:00Z"}
    (home / "blood.json").write_text(json.dumps([turn]))
    assert "of them extras" in run("profile", "scan", "blood.json").stdout
    assert run("profile", "staged").stdout == "nothing waits to be normalised\n"
    assert run("profile", "normalise").stdout.startswith("nothing waits to be normalised")
    assert "B+" in run("profile", "show").stdout
    again = run("profile", "bootstrap")
    assert again.exit_code == 0, again.output
    assert "pieces of evidence" not in again.stdout, "nothing is there twice"
    assert run("profile", "scan", "--model").exit_code == 8


def test_an_extra_is_promoted_to_a_slot(known: Path) -> None:
    assert run("profile", "candidates").stdout.startswith("no extra has three")
    run("profile", "set", "extras.blood_type", "B+")
    result = run("profile", "promote", "extras.blood_type", "--label", "Blood group")
    assert result.stdout.startswith("extras.blood_type is own.blood_type now; `remloom dream roll")
    assert run("profile", "why", "blood group").stdout.startswith("Blood group: B+")
    assert run("profile", "promote", "extras.shoe_size").exit_code == 3


def test_a_slot_of_ones_own_is_defined_and_taken_away(known: Path) -> None:
    described = ["--label", "Desk", "--kind", "choice", "--value", "oak", "--value", "ash"]
    result = run("profile", "define", "work.desk", *described, "--alias", "table")
    assert result.stdout.startswith("work.desk can be known now; `remloom dream rollback ")
    assert as_json("profile", "slots", "table")[0]["values"] == ["oak", "ash"]
    assert run("profile", "set", "desk", "Oak").stdout.startswith("Desk: oak")
    assert run("profile", "undefine", "work.desk").exit_code == 4, "something is believed there"
    run("profile", "forget", "desk", "--yes")
    assert run("profile", "undefine", "work.desk").stdout.startswith(
        "work.desk is no slot any more"
    )
    assert run("profile", "undefine", "work.desk").exit_code == 3


def test_what_an_agent_is_given_is_shown_with_its_size(known: Path) -> None:
    assert "peanuts" in run("profile", "context").stdout, "what could hurt is always given"
    shown = run("profile", "context", "where do I live?").stdout
    assert "Lisbon" in shown
    assert "october.json:4" in shown
    assert " tokens, for " in shown
    given = as_json("profile", "context", "--agent", "CoderAgent", "--budget", "60")
    assert given["tokens"] <= 60
    assert run("profile", "context", "--purpose", "mischief").exit_code == 2


def test_passages_in_languages_that_are_not_heard_are_reported(home: Path) -> None:
    for number, text in enumerate((
        "Lavoro in una tipografia da vent'anni e la domenica vado a pesca con mio fratello",
        "da quando è nata la piccola dormo quattro ore per notte",
        "金沢の印刷所で二十年ほど働いていて、猫を二匹飼っています",
    )):  # fmt: skip
        (home / f"{number}.md").write_text(text, encoding="utf-8")
    told = [
        "2 passages are in Italian, which is not heard yet",
        "1 passage is in Japanese, which is not heard yet",
    ]
    assert run("profile", "scan", ".").stdout.splitlines()[2:4] == told
    assert as_json("profile", "bootstrap")["unheard"] == {"Italian": 2, "Japanese": 1}
    assert [line for line in run("profile").stdout.splitlines() if "not heard" in line] == told
    run("profile", "set", "name", "Jo")
    assert "3 passages in languages that are not heard" in run("profile", "context").stdout
    ran = run("dream", "runs", "--kind", "observe").stdout
    assert "unheard_" not in ran
    assert run("forget", "1.md", "--yes").exit_code == 0
    assert as_json("profile", "show")["unheard"] == {"Italian": 1, "Japanese": 1}


def test_what_is_shown_has_an_id_that_commands_take(known: Path) -> None:
    def id_of(word: str) -> str:
        (row,) = [line for line in run("profile").stdout.splitlines() if word in line]
        return row.split()[0]

    allergy, home = id_of("peanuts"), id_of("Lisbon")
    assert "allergic to peanuts" in run("profile", "why", allergy).stdout
    assert run("profile", "confirm", allergy).exit_code == 0
    assert run("profile", "pin", allergy).exit_code == 0
    assert "Porto" in run("profile", "correct", home, "Porto").stdout
    assert id_of("Porto") == home
    assert run("profile", "reject", allergy).exit_code == 0
    assert "peanuts" not in run("profile").stdout
    assert run("profile", "forget", home, "--yes").exit_code == 0
    assert as_json("profile", "show")["beliefs"][0]["label"] != "Location"
    assert run("profile", "reject", "beef").exit_code == 2


def short_id_of(label: str) -> str:
    (id,) = [one["id"] for one in as_json("profile")["beliefs"] if one["label"] == label]
    return str(id)[-4:]


def test_the_name_of_a_slot_goes_before_the_id_of_a_belief(known: Path) -> None:
    name = short_id_of("Allergies")
    run("profile", "define", "own.code", "--label", "Code", "--alias", name)
    run("profile", "set", "own.code", "blue")
    assert run("profile", "why", name).stdout.startswith("Code: blue")
    assert run("profile", "forget", name, "--yes").exit_code == 0
    assert [one["label"] for one in as_json("profile")["beliefs"] if one["value"] == "blue"] == []
    assert "peanuts" in run("profile").stdout


def test_an_id_that_several_have_is_refused_with_them_named(
    known: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remloom.serve.cli.commands.profile.SHORTEST_ID", 1)
    with Memory.open(known / "home", embedder="none") as memory:
        ends: dict[str, str] = {}
        # of 17 ids two end alike
        for number in range(17):
            belief = memory.profile.set(f"extras.thing_{number}", f"thing {number}")
            other = ends.setdefault(belief.id[-1], belief.label)
            if other != belief.label:
                break
    result = run("profile", "forget", belief.id[-1], "--yes")
    assert result.exit_code == ConflictError.exit_code
    assert f"{belief.label}: thing " in result.stderr
    assert f"{other}: thing " in result.stderr


def test_an_id_is_of_one_scope(known: Path) -> None:
    run("profile", "set", "verbosity", "detailed", "--scope", "domain:coding")
    id = short_id_of("Verbosity")
    for scope in ("domain:cooking", ""):
        refused = run("profile", "reject", id, "--scope", scope)
        assert refused.exit_code == 2
        assert "is Verbosity in domain:coding, not" in refused.stderr
        assert run("profile", "why", id, "--scope", scope).exit_code == 2
    assert run("profile", "confirm", id, "--scope", "Domain:coding").exit_code == 0
    assert run("profile", "reject", id).exit_code == 0


@pytest.mark.parametrize(
    "name", ["correct", "reject", "forget", "confirm", "retire", "pin", "hide", "why"]
)
def test_the_help_of_a_command_says_that_it_takes_an_id(name: str) -> None:
    assert "SLOT may be an id" in run("profile", name, "--help").stdout


@pytest.mark.parametrize(
    "words",
    [
        ("--json", "profile"),
        ("profile", "--json"),
        ("profile", "--json", "show"),
        ("profile", "show", "--json"),
    ],
)
def test_the_options_of_every_command_go_before_and_after_its_name(
    known: Path, words: tuple[str, ...]
) -> None:
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["subject"] == "me"
    elsewhere = run("profile", "--tenant", "nowhere", "show")
    assert elsewhere.exit_code == NotFoundError.exit_code
    tenants = run("tenant", "--json", "list")
    assert json.loads(tenants.stdout), "as in every group"


def test_a_long_source_stays_on_its_line_with_its_beginning_and_end(home: Path) -> None:
    folder = home / "letters" / "from-the-harbour" / "of-the-spring-and-the-summer"
    folder.mkdir(parents=True)
    (folder / "to-the-bakers-guild.md").write_text("I'm allergic to peanuts.")
    run("profile", "scan", "letters")
    (row,) = [line for line in run("profile").stdout.splitlines() if "peanuts" in line]
    source = row.split()[-1]
    assert source.startswith("le")
    assert source.endswith("guild.md:1")
    assert "…" in source


@pytest.mark.parametrize(
    "text", ["notes/2026/spring.json#12", "日記/二〇二六年/春の出来事.json#12"]
)
def test_a_source_is_cut_to_the_cells_that_there_are(text: str) -> None:
    for most in range(1, cell_len(text)):
        cut = middle_cut(text, most)
        assert cell_len(cut) == most
        assert "…" in cut
    assert middle_cut(text, cell_len(text)) == text
    assert middle_cut(text, 16).endswith("json#12")
