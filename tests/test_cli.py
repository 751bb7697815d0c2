"""The command line: what a user types, sees, and gets as an exit code."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from remloom.memory import Home, Memory
from remloom.model import Edge, Entity, Hit, Message, Moment, Person, Resource
from remloom.serve.cli.app import SECTIONS, program
from remloom.serve.cli.views.hits import snippet
from waiting import PATIENCE

RECORDS = [
    Entity(name="Sarah Chen", type="person", aliases=("S. Chen",), summary="Leads Project Alpha."),
    Entity(name="Bob Smith", type="person", properties={"role": "backend"}),
    Entity(name="Project Alpha", type="project"),
    Resource(
        name="Pricing Decision",
        uri="/notes/pricing.md",
        category="document",
        content="Harborlight charges per berth instead of per seat.",
        metadata={"lines": [9, 12]},
    ),
    Moment(
        name="Kickoff",
        type="meeting",
        starts_at=datetime(2025, 1, 14, tzinfo=UTC),
        present_persons=(Person(name="Sarah Chen"),),
    ),
    Edge(src="Sarah Chen", rel_type="manages", dst="Bob Smith", weight=0.9),
    Edge(src="Sarah Chen", rel_type="leads", dst="Project Alpha"),
    Edge(src="Bob Smith", rel_type="works-on", dst="Project Alpha"),
    Edge(src="Pricing Decision", rel_type="mentions", dst="Sarah Chen", weight=0.3),
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose default tenant knows a few people; the environment names it, and no embedder."""
    for variable in [name for name in os.environ if name.startswith("REMLOOM_")]:
        monkeypatch.delenv(variable)
    folder = tmp_path / "home"
    monkeypatch.setenv("REMLOOM_HOME", str(folder))
    monkeypatch.setenv("REMLOOM_EMBEDDER", "none")
    with Memory.open(folder, embedder="none") as memory:
        memory.write(RECORDS)
    return folder


def run(*words: str | Path, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(program, [str(word) for word in words], input=stdin)


def process(
    *words: str | Path, stdin: str | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "remloom", *map(str, words)],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, **environment},
        timeout=PATIENCE,
        check=False,
    )


# -- asking ----------------------------------------------------------------------------------------


def test_lookup_shows_the_record_and_what_it_says(home: Path) -> None:
    result = run("lookup", "sarah_chen")
    assert result.exit_code == 0
    with Memory.open(home, embedder="none") as memory:
        (sarah,) = memory.lookup("Sarah Chen").records
    head = f"Sarah Chen  entities/person  {sarah.id}"
    assert result.stdout.splitlines() == [head, "  Leads Project Alpha."]


def test_lookup_of_nothing_succeeds_and_suggests_the_nearest_names(home: Path) -> None:
    result = run("lookup", "sara chn")
    assert result.exit_code == 0
    assert "nothing found; the nearest names are" in result.stdout
    assert "Sarah Chen" in result.stdout


def test_fuzzy_shows_scores_and_the_alias_that_matched(home: Path) -> None:
    shown = run("fuzzy", "s chen", "--limit", "1").stdout
    assert "Sarah Chen (as s.-chen)" in shown
    assert shown.lstrip().startswith("0.")


def test_search_by_words_cites_file_and_lines(home: Path) -> None:
    shown = run("search", "berth", "--text").stdout
    assert "Pricing Decision" in shown
    assert "/notes/pricing.md:9-12" in shown


def test_search_by_meaning_without_an_embedder_names_the_setting_and_exits_with_6(
    home: Path,
) -> None:
    result = run("search", "price")
    assert result.exit_code == 6
    assert "REMLOOM_EMBEDDER" in result.stderr
    assert result.stdout == ""


def test_traverse_draws_a_tree_with_edge_types_on_its_branches(home: Path) -> None:
    shown = run("traverse", "sarah chen", "--depth", "2", "--memo", "Goal: org chart").stdout
    tree = shown.partition("\n\n")[0].splitlines()
    assert tree[0] == "Sarah Chen  entities/person"
    assert "├── leads → Project Alpha  entities/project" in tree
    assert "└── manages → Bob Smith  entities/person" in tree
    assert "depth 0  LOOKUP sarah chen  1 node, 2 edges" in shown
    assert "memo     Goal: org chart" in shown


def test_a_tree_points_backwards_where_an_edge_was_followed_backwards(home: Path) -> None:
    shown = run("traverse", "Sarah Chen", "--edges", "mentions", "--direction", "in").stdout
    assert "└── ← mentions Pricing Decision  resources/document" in shown


def test_a_tree_names_the_edge_that_led_to_an_alias(home: Path) -> None:
    with Memory.open(home, embedder="none") as memory:
        memory.write(
            [
                Edge(src="Bob Smith", rel_type="reports-to", dst="S. Chen"),
                Moment(
                    name="Project Alpha",
                    type="milestone",
                    starts_at=datetime(2025, 2, 22, tzinfo=UTC),
                ),
            ]
        )
    shown = run("traverse", "bob smith", "--depth", "2").stdout.splitlines()
    assert "├── reports-to → Sarah Chen  entities/person" in shown
    assert "└── works-on → Project Alpha  entities/project  moments/milestone" in shown


def test_what_a_limit_left_out_on_the_way_is_drawn_by_its_key(home: Path) -> None:
    with Memory.open(home, embedder="none") as memory:
        memory.write(
            [Edge(src=f"step {n}", rel_type="next", dst=f"step {n + 1}") for n in range(3)]
        )
    words = ("traverse", "step 0", "--depth", "3", "--limit", "1", "--order-by", "node.name DESC")
    assert run(*words).stdout.splitlines()[:4] == [
        "step 0  entities",
        "└── next → step-1",
        # the answer does not hold the edges of what was left out
        "    └── step-2",
        "        └── step 3  entities",
    ]


def test_a_traverse_cut_by_its_limit_says_so(home: Path) -> None:
    assert "1 node left out by LIMIT 1" in run("traverse", "sarah chen", "--limit", "1").stdout


def test_plan_counts_edges_by_type_and_direction_and_follows_none(home: Path) -> None:
    shown = run("traverse", "sarah chen", "--plan", "--direction", "both").stdout
    assert [line.split() for line in shown.splitlines() if line.startswith("mentions")] == [
        ["mentions", "in", "1"]
    ]
    assert "sarah-chen manages → bob-smith" in shown
    assert "depth 1" not in shown


def test_query_reads_a_statement_of_several_lines_from_stdin(home: Path) -> None:
    result = run("query", "-", stdin="SELECT name\nFROM entities\nORDER BY name;\n")
    assert result.stdout.split() == [
        "name",
        "─" * 13,
        "Bob",
        "Smith",
        "Project",
        "Alpha",
        "Sarah",
        "Chen",
    ]


def test_a_wrong_statement_is_shown_with_a_caret_and_exits_with_2(home: Path) -> None:
    result = run("query", "LOOKUP sarah DEPTH -1")
    assert result.exit_code == 2
    lines = result.stderr.splitlines()
    assert lines[0].startswith("error: ")
    assert lines[2].index("^") == lines[1].index("-1")


def test_show_tells_a_record_and_its_edges(home: Path) -> None:
    shown = run("show", "S. Chen").stdout
    assert "Sarah Chen  entities/person" in shown
    assert "sarah-chen manages → bob-smith" in shown
    assert "pricing-decision mentions → sarah-chen" in shown


def test_control_characters_that_were_read_do_not_reach_the_terminal(home: Path) -> None:
    with Memory.open(home, embedder="none") as memory:
        memory.write(
            [Resource(name="Evil \x1b[31m", content="beep\a \x1b]0;title\a\u202e", uri="x")]
        )
    # line breaks only
    assert run("query", "SELECT name, content FROM resources").stdout.isprintable() is False
    for shown in (
        run("search", "beep", "--text").stdout,
        run("query", "SELECT name, content FROM resources").stdout,
    ):
        assert "Evil" in shown
        assert not set("\x1b\a\u202e") & set(shown)


# -- JSON ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "LOOKUP 'Sarah Chen', nobody",
        'FUZZY "sara chn" TYPE person',
        "TRAVERSE manages,leads WITH LOOKUP 'sarah chen' DEPTH 2 MEMO 'why'",
        "TRAVERSE PLAN WITH 'sarah chen' DIRECTION both",
        "SELECT name, starts_at FROM moments",
        "EXPLAIN LOOKUP x",
    ],
)
def test_the_same_statement_gives_the_same_answer_in_python_the_cli_and_the_shell(
    home: Path, statement: str
) -> None:
    with Memory.open(home, embedder="none") as memory:
        expected = memory.query(statement).as_dict()
    by_query = run("query", statement, "--json").stdout
    by_shell = run("shell", "--json", stdin=statement + "\n").stdout
    assert json.loads(by_query) == json.loads(json.dumps(expected, default=str))
    assert by_shell == by_query


def test_commands_give_the_answers_of_their_statements(home: Path) -> None:
    pairs = [
        (("lookup", "Sarah Chen", "bob smith"), "LOOKUP 'Sarah Chen', 'bob smith'"),
        (
            ("fuzzy", "sara", "--type", "person", "--threshold", "0.3"),
            "FUZZY sara TYPE person THRESHOLD 0.3",
        ),
        (
            (
                "traverse",
                "sarah chen",
                "--edges",
                "manages,works-on",
                "--depth",
                "2",
                "--breadth",
                "all",
            ),
            "TRAVERSE manages,works-on WITH 'sarah chen' DEPTH 2 BREADTH ALL",
        ),
        (
            (
                "traverse",
                "sarah chen",
                "--order-by",
                "node.name",
                "--limit",
                "3",
                "--as-of",
                "2999-01-01",
            ),
            "TRAVERSE WITH 'sarah chen' ORDER BY node.name LIMIT 3 AS OF '2999-01-01'",
        ),
        (
            ("traverse", "sarah chen", "--depth", "2", "--strategy", "depth-first"),
            "TRAVERSE WITH 'sarah chen' DEPTH 2 DEPTH FIRST",
        ),
        (("traverse", "sarah chen", "--plan"), "TRAVERSE PLAN WITH 'sarah chen'"),
        (
            ("lookup", "sarah chen", "--as-of", "2999-01-01"),
            "LOOKUP 'sarah chen' AS OF '2999-01-01'",
        ),
        (
            ("lookup", "sarah chen", "--as-of", "1999-01-01"),
            "LOOKUP 'sarah chen' AS OF '1999-01-01'",
        ),
    ]
    for command, statement in pairs:
        assert json.loads(run(*command, "--json").stdout) == json.loads(
            run("query", statement, "--json").stdout
        )


def test_common_options_may_stand_before_or_after_the_command(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REMLOOM_HOME")
    before = run("--home", home, "--tenant", "default", "--json", "lookup", "sarah chen")
    after = run("lookup", "sarah chen", "--json", "--tenant", "default", "--home", home)
    assert before.exit_code == after.exit_code == 0
    assert json.loads(before.stdout) == json.loads(after.stdout)


def test_json_keys_are_sorted_and_the_document_is_one(home: Path) -> None:
    text = run("lookup", "sarah chen", "--json").stdout
    assert json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False) + "\n" == text


def test_an_error_with_json_is_one_document_on_stderr(home: Path) -> None:
    result = run("query", "LOOKUP", "--json")
    error = json.loads(result.stderr)
    assert result.stdout == ""
    assert error["error"] == "QuerySyntaxError"
    assert error["statement"] == "LOOKUP"
    assert error["remedy"]


# -- errors and exit codes -------------------------------------------------------------------------


def test_a_mistyped_tenant_exits_with_3_and_is_not_made(home: Path) -> None:
    result = run("lookup", "sarah chen", "--tenant", "defualt")
    assert result.exit_code == 3
    assert "did you mean 'default'?" in result.stderr
    assert [tenant.name for tenant in Home(home).tenants()] == ["default"]


@pytest.mark.parametrize(
    "words",
    [
        ("traverse", "sarah chen", "--breadth", "some"),
        ("traverse", "sarah chen", "--as-of", "yesterday"),
        ("lookup", "sarah chen", "--as-of", "yesterday"),
        ("show", "sarah chen", "--as-of", "2025-01-15T10:00"),
        ("traverse", "sarah chen", "--strategy", "sideways"),
        ("recall", "who leads?", "--neighbours", "-1"),
        ("traverse", "sarah chen", "--as-of", "2025-01-15T10:00"),
        ("traverse", "sarah chen", "--edges", "managse"),
        ("fuzzy", "sarah", "--threshold", "1.5"),
        ("search", "x", "--text", "--min", "0.5"),
        ("search", "x", "--text", "--late"),
        ("search", "x", "--text", "--where", "colour = 'red'"),
        ("query", "DELETE FROM entities"),
        ("lookup", ""),
        ("lookup",),
        ("lookup", "x", "--nonsense"),
        ("tenant", "create", "../escape"),
        ("forget", "sarah chen"),
    ],
)
def test_wrong_input_exits_with_2_and_says_what_is_right(
    home: Path, words: tuple[str, ...]
) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(("error: ", "Usage: "))
    assert "Traceback" not in result.stderr


def test_a_mistyped_command_is_told_the_nearest(home: Path) -> None:
    result = run("lokup", "sarah chen")
    assert result.exit_code == 2
    assert "Did you mean 'lookup'?" in result.stderr


def test_an_unknown_record_exits_with_3(home: Path) -> None:
    result = run("show", "nobody at all")
    assert result.exit_code == 3
    assert "nobody at all" in result.stderr


def test_a_wrong_key_exits_with_7(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMLOOM_KEY", "1c" * 32)
    assert run("tenant", "create", "sealed").exit_code == 0
    monkeypatch.setenv("REMLOOM_KEY", "2d" * 32)
    result = run("stats", "--tenant", "sealed")
    assert result.exit_code == 7
    assert "22222222" not in result.stderr


def test_a_bug_is_one_line_and_its_traceback_is_there_for_the_asking(home: Path) -> None:
    broken = "import remloom.memory.admin as a; a.Admin.stats = lambda self: 1 / 0; from remloom.serve.cli import main; main()"
    calls = [
        subprocess.run(
            [sys.executable, "-c", broken, "stats"],
            capture_output=True,
            text=True,
            env=env,
            check=False,
        )
        for env in (dict(os.environ), {**os.environ, "REMLOOM_DEBUG": "1"})
    ]
    assert calls[0].returncode == 70
    assert "unexpected ZeroDivisionError" in calls[0].stderr
    assert "REMLOOM_DEBUG=1" in calls[0].stderr
    assert "Traceback" not in calls[0].stderr
    assert "Traceback" in calls[1].stderr


# -- care ------------------------------------------------------------------------------------------


def test_stats_counts_what_is_there(home: Path) -> None:
    shown = run("stats").stdout
    assert shown.startswith("default  not encrypted, ")
    assert "entities   3  person 2, project 1" in shown
    assert json.loads(run("stats", "--json").stdout)["edges"] == 4


def test_stats_counts_the_names_that_are_still_to_be_linked(home: Path) -> None:
    with Memory.open(home, embedder="none") as memory:
        memory.admin.optimize()
        memory.write([Entity(name="Vexo Marina", type="place")])
    assert "to link    1  names to look for in earlier texts" in " ".join(
        run("stats").stdout.split(" ")
    )
    with Memory.open(home, embedder="none") as memory:
        memory.admin.optimize()
    assert "to link" not in run("stats").stdout


def test_doctor_of_a_sound_store_exits_with_0(home: Path) -> None:
    result = run("doctor")
    assert result.exit_code == 0
    assert "everything agrees" in result.stdout
    assert json.loads(run("doctor", "--json").stdout)["problems"] == []


def test_doctor_of_a_damaged_store_says_what_is_wrong_and_exits_with_7(home: Path) -> None:
    database = home / "tenants" / "default" / "memory.db"
    for file in database.parent.glob("memory.db-*"):
        file.unlink()
    database.write_bytes(b"this is not a database" * 1000)
    result = run("doctor")
    assert result.exit_code == 7
    assert "problem: " in result.stdout
    assert "versions" in result.stdout


def test_a_tenant_given_empty_is_not_the_default_one(home: Path) -> None:
    for words in (
        ["--tenant", "", "lookup", "Sarah Chen"],
        ["lookup", "Sarah Chen", "--tenant", ""],
    ):
        result = run(*words)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "'' is not a tenant name" in result.stderr


def test_rows_of_more_columns_than_fit_are_shown_a_line_for_each_column(home: Path) -> None:
    shown = run("query", "SELECT * FROM resources").stdout
    assert "content                  Harborlight charges per berth" in shown
    assert "ends_at                  null" in shown


def test_forget_tells_first_then_removes_and_verifies(home: Path) -> None:
    dry = run("forget", "Pricing Decision", "--dry-run")
    assert dry.stdout.startswith("would forget 1 record")
    assert run("lookup", "pricing decision").stdout.startswith("Pricing Decision")
    done = run("forget", "Pricing Decision", "--yes")
    assert done.exit_code == 0
    assert "verified: nothing of it is left" in done.stdout
    assert "nothing found" in run("lookup", "pricing decision").stdout


def test_forget_tells_what_still_says_a_name_and_the_command_that_forgets_that(home: Path) -> None:
    run("read", "-", stdin="We liked the plan of Sarah Chen.")
    for options in (["--dry-run"], ["--yes"]):
        told = run("forget", "Sarah Chen", *options).stdout
        assert "record that stays says its name" in told
        command = told.rpartition("remloom ")[2].split()
    assert "Sarah Chen" in run("search", "Sarah Chen", "--text").stdout
    assert run(*command, "--yes").exit_code == 0
    assert "Sarah Chen" not in run("search", "Sarah Chen", "--text").stdout


def test_forget_without_a_terminal_needs_yes(home: Path) -> None:
    result = run("forget", "Sarah Chen")
    assert result.exit_code == 2
    assert "add --yes" in result.stderr
    assert run("lookup", "sarah chen").stdout.startswith("Sarah Chen")


def test_an_export_comes_back_through_a_pipe(home: Path) -> None:
    exported = run("export", "-")
    assert run("tenant", "create", "copy").exit_code == 0
    imported = run("import", "-", "--tenant", "copy", stdin=exported.stdout_bytes)
    assert imported.stdout.startswith("imported 5 records, 4 edges")
    statement = "SELECT name FROM entities ORDER BY name"
    assert run("query", statement).stdout == run("query", statement, "--tenant", "copy").stdout


def test_export_does_not_overwrite_a_file(home: Path, tmp_path: Path) -> None:
    assert run("export", tmp_path / "all.jsonl").stdout.startswith("exported 5 records, 4 edges")
    assert run("export", tmp_path / "all.jsonl").exit_code == 4


def test_a_backup_can_stand_in_for_the_tenant(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    assert run("backup", other / "tenants" / "default").exit_code == 0
    assert run("lookup", "sarah chen", "--home", other).stdout.startswith("Sarah Chen")


def test_tenants_are_made_listed_and_destroyed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = run("tenant", "key").stdout.strip()
    assert len(bytes.fromhex(key)) == 32
    monkeypatch.setenv("REMLOOM_KEY", key)
    assert "created tenant acme, encrypted" in run("tenant", "create", "acme").stdout
    assert run("tenant", "create", "acme").exit_code == 4
    listed = {
        row["name"]: row["encrypted"] for row in json.loads(run("tenant", "list", "--json").stdout)
    }
    assert listed == {"acme": True, "default": False}
    assert run("tenant", "delete", "acme").exit_code == 2
    assert run("tenant", "delete", "acme", "--yes").exit_code == 0
    assert "acme" not in run("tenant", "list").stdout


# -- the process -----------------------------------------------------------------------------------


def test_the_program_answers_on_stdout_and_complains_on_stderr(home: Path) -> None:
    found = process("lookup", "Sarah Chen")
    assert (found.returncode, found.stderr) == (0, "")
    assert "\x1b" not in found.stdout
    wrong = process("query", "SELEC", "--json")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert json.loads(wrong.stderr)["error"] == "QuerySyntaxError"


def test_a_reader_that_leaves_early_is_no_error(home: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    child = subprocess.run(
        [sys.executable, "-m", "remloom", "lookup", "Sarah Chen"],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert child.stderr == b""
    assert child.returncode == 141


def test_an_interrupt_is_quiet_and_exits_with_130(home: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "remloom", "shell"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Whoever runs the tests in the background had interrupts ignored, which is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(b"LOOKUP sarah chen\n")
    child.stdin.flush()
    # it runs, and waits for the next statement
    assert child.stdout.readline().startswith(b"Sarah Chen")
    # one that comes while the answer is still printed ends that, not the shell
    for _ in range(100):
        child.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=0.2)
            break
    _, stderr = child.communicate(timeout=PATIENCE)
    assert (child.returncode, stderr) == (130, b"")


@pytest.mark.parametrize(
    "words",
    [
        ("lookup",),
        ("fuzzy", "x", "--limit", "abc"),
        ("stats", "--bogus"),
        ("usage", "--days", "-1"),
        ("lokup", "x"),
    ],
)
def test_a_wrong_option_is_told_as_json_when_json_is_asked_for(
    home: Path, words: tuple[str, ...]
) -> None:
    result = run(*words, "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert json.loads(result.stderr)["message"]


def test_bytes_that_are_no_text_are_refused(home: Path) -> None:
    result = process("lookup", os.fsdecode(b"\xff\xfe"))
    assert result.returncode == 2
    assert "UTF-8" in result.stderr


def test_commands_without_a_model_import_nothing_heavy(home: Path) -> None:
    heavy = ("numpy", "usearch", "onnxruntime", "lark", "sqlglot", "prompt_toolkit", "rich")
    code = (
        "import sys\nfrom remloom.serve.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        f"print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    child = subprocess.run(
        [sys.executable, "-c", code, "lookup", "Sarah Chen", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert child.stderr.strip() == "[]"


def test_help_lists_every_command_and_every_command_has_help() -> None:
    shown = run("--help").stdout
    for section, names in SECTIONS.items():
        assert f"{section}:" in shown
        for name in names:
            assert f"  {name}" in shown
            told = run(name, "--help")
            assert told.exit_code == 0
            if not isinstance(program.get_command(click.Context(program), name), click.Group):
                assert all(option in told.stdout for option in ("--home", "--tenant", "--json"))


def test_the_version_is_told() -> None:
    from remloom import __version__

    assert run("--version").stdout == f"remloom {__version__}\n"


# -- recall ----------------------------------------------------------------------------------------


def test_recall_lists_what_answers_and_explains_why_when_asked(home: Path) -> None:
    plain = run("recall", "What does Harborlight charge for?")
    assert plain.exit_code == 0
    assert "Pricing Decision" in plain.output
    explained = run("recall", "What does Harborlight charge for?", "--explain").output
    assert "because words (place 1, BM25" in explained
    assert "/notes/pricing.md:9-12" in explained


def test_recall_as_json_has_the_reasons_and_the_source_of_each_hit(home: Path) -> None:
    found = json.loads(run("recall", "What does Harborlight charge for?", "--json").output)
    assert found["hits"][0]["source"] == "/notes/pricing.md:9-12"
    assert found["hits"][0]["reasons"][0]["part"] == "text"
    assert found["abstained"] is False


def test_recall_says_why_it_does_not_answer_and_shows_the_best_when_told_to(home: Path) -> None:
    question = "Which captain of the harbour patrol would charge for towing?"
    assert "not answered: no record has" in run("recall", question).output
    assert "Pricing Decision" in run("recall", question, "--anyway").output


@pytest.mark.parametrize("neighbours", [0, 1, 2])
def test_recall_gives_as_many_neighbours_with_each_hit_as_wanted(
    home: Path, neighbours: int
) -> None:
    began = datetime(2025, 3, 1, tzinfo=UTC)
    texts = (
        "Good morning.",
        "Any news?",
        "The lighthouse is painted green.",
        "Lovely.",
        "See you.",
    )
    with Memory.open(home, embedder="none") as memory:
        turns = [
            Message(speaker="Ann", text=text, at=began + timedelta(minutes=n))
            for n, text in enumerate(texts)
        ]
        memory.read_chat(turns, uri="chat")
    words = (
        "recall",
        "What colour is the lighthouse painted?",
        "--limit",
        "1",
        "--neighbours",
        str(neighbours),
    )
    hit = json.loads(run(*words, "--json").output)["hits"][0]
    assert len(hit.get("before", [])) == len(hit.get("after", [])) == neighbours


def test_show_as_of_tells_what_an_entity_was(home: Path) -> None:
    with Memory.open(home, embedder="none") as memory:
        bob = memory.lookup("Bob Smith").records[0].id
        then = datetime.now(UTC)
        memory.update_entity(bob, {"role": "frontend"}, name="Robert Smith")
    shown = json.loads(run("show", bob, "--as-of", then.isoformat(), "--json").output)
    assert (shown["records"][0]["name"], shown["records"][0]["properties"]) == (
        "Bob Smith",
        {"role": "backend"},
    )
    assert json.loads(run("show", bob, "--json").output)["records"][0]["name"] == "Robert Smith"


def test_recall_prints_the_text_for_a_prompt_within_its_budget(home: Path) -> None:
    text = run("recall", "What does Harborlight charge for?", "--context", "--budget", 200).output
    assert "> Harborlight charges per berth" in text
    assert "trust: read" in text


def test_iterated_recall_draws_the_hops_as_a_tree(home: Path) -> None:
    with Memory.open(home, embedder="none") as memory:
        memory.write([
            Resource(name="Talk", content="We discussed pricing.", related_entities=("Product-A",)),
            Resource(name="Survey", content="Marinas grow.", related_entities=("Segment-Y",)),
            Edge(src="Talk", rel_type="mentions", dst="Product-A"),
            Edge(src="Product-A", rel_type="related_to", dst="Segment-Y"),
            Edge(src="Survey", rel_type="mentions", dst="Segment-Y"),
        ])  # fmt: skip
    drawn = run("recall", "What did we discuss about pricing?", "--mode", "iterated").output
    places = [
        drawn.index(text)
        for text in ("Talk", "names → product-a", "related_to → segment-y", "Survey")
    ]
    assert places == sorted(places)


def test_recall_refuses_what_it_cannot_use_with_exit_code_2(home: Path) -> None:
    for words in (
        ["recall", ""],
        ["recall", "What?", "--budget", "0"],
        ["recall", "What?", "--now", "soon"],
    ):
        assert run(*words).exit_code == 2, words


def test_a_heading_that_matched_shows_what_stands_under_it() -> None:
    text = "# Pricing\n\nWe charge per berth."
    for matched in ("0:9", "0:11", ""):
        assert (
            snippet(Hit(record=Resource(name="note", content=text), matched=matched))
            == "We charge per berth."
        )


def test_other_tenants_are_asked_with_across(home: Path) -> None:
    for tenant in ("legal", "sales"):
        assert run("tenant", "create", tenant).exit_code == 0
    with Memory.open(home, tenant="legal", embedder="none") as memory:
        memory.write([Resource(uri="terms.md", category="public", content="Payment is due.")])
        memory.write([Resource(uri="cuts.md", category="secret", content="Payment is cut.")])
    nothing = run("search", "payment", "--text", "--across", "all", "--tenant", "sales")
    assert "nobody has granted" in nothing.output
    made = run("grant", "sales", "--tenant", "legal", "--where", "category = 'public'")
    assert made.exit_code == 0
    assert "category = 'public'" in run("grants", "--tenant", "legal").output
    assert "legal" in run("grants", "--received", "--tenant", "sales").output
    for words in (("search", "payment", "--text"), ("recall", "payment"), ("lookup", "terms.md#1")):
        found = run(*words, "--across", "legal", "--tenant", "sales")
        assert found.exit_code == 0
        assert "cuts.md" not in found.output
    assert (
        "legal: terms.md" in run("recall", "payment", "--across", "all", "--tenant", "sales").output
    )
    context = run("recall", "payment", "--context", "--across", "all", "--tenant", "sales")
    assert "> Payment is due." in context.output
    assert run("revoke", "sales", "--tenant", "legal").output == "revoked 1 grant to sales\n"
    ended = json.loads(
        run("lookup", "x", "--across", "legal", "--tenant", "sales", "--json").output
    )
    assert ended["unanswered"] == {"legal": "it has granted 'sales' nothing"}
