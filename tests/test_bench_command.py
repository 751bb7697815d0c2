"""`remloom bench`: what a user sees who measures memories, those that fail among them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import remloom
from remloom.serve.cli.app import program

TEN_LINES = """
class Mine:
    def ingest(self, documents):
        self.documents = documents

    def retrieve(self, query):
        words = set(query.lower().split())
        return sorted(self.documents, key=lambda one: -len(words & set(one.content.lower().split())))
"""

OTHERS = """
from mine import Mine

class Pairs(Mine):  # as the open harness has it
    def prepare(self, store_dir, unit_ids, reset):
        (store_dir / "kept").write_text("x" * 1000)

    def retrieve(self, query, k=10, user_id=None, query_timestamp=None):
        print("noise on stdout")
        found = [{"id": one.id, "text": "word " * 600} for one in super().retrieve(query)[:k]]
        return found, {"raw": True}

class Raises(Mine):
    def retrieve(self, query, k):
        if "bowls" in query:
            raise ValueError("no bowls")
        return super().retrieve(query)[:k]

class Lies(Mine):
    def retrieve(self, query):
        return ["nowhere:1", {"text": "a summary of nothing"}]

class Shapeless(Mine):
    def retrieve(self, query):
        return [3.5]

class Texts(Mine):
    def retrieve(self, query):
        return [{"text": one.content} for one in self.documents[:2]]

class Plain(Mine):
    def retrieve(self, query):
        return [one.content for one in self.documents[:2]]

class Forgets(Mine):
    def retrieve(self, query):
        super().retrieve(query)

class All(Mine):
    def retrieve(self, query):
        return [one.id for one in self.documents]

class Whole(Mine):
    def retrieve(self, query):
        return [{"id": one.id, "text": ""} for one in self.documents]

class Broken:
    def ingest(self, documents):
        raise RuntimeError("the disk is on fire")
"""

COMMAND = """
import json, sys, time, os
for line in sys.stdin:
    asked = json.loads(line)
    if asked["op"] == "ingest":
        documents, answer = asked["documents"], {}
    else:
        answer = {"results": [one["id"] for one in documents[:asked["k"]]]}
        if sys.argv[1] == "dies": print("out of luck", file=sys.stderr); os._exit(3)
        if sys.argv[1] == "hangs": time.sleep(60)
        if sys.argv[1] == "babbles": print("hello")
        if sys.argv[1] == "complains": answer = {"error": "not today"}
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("mine", TEN_LINES), ("others", OTHERS), ("command", COMMAND)):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REMLOOM_EMBEDDER", "none")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


def bench(*arguments: str) -> Result:
    return CliRunner().invoke(program, ["bench", *arguments])


def measured(*memories: str, data: str = "", options: tuple[str, ...] = ()) -> dict[str, Any]:
    """What is measured of each memory, by its name."""
    named = [word for memory in memories for word in ("--memory", memory)]
    done = bench(*filter(None, [data]), *named, *options, "--json")
    assert done.stdout, done.stderr
    return {one["memory"]: one for one in json.loads(done.stdout)["memories"]}


def command(way: str) -> str:
    return f"cmd: {sys.executable} command.py {way}"


def test_without_anything_remloom_is_measured_on_a_sample() -> None:
    done = bench()
    assert done.exit_code == 0, done.stderr
    assert "studio: 44 questions (20 with an answer) about 46 documents" in done.stdout
    assert "frac@10" in done.stdout
    assert "single-hop (16)" in done.stdout


def test_memories_are_compared_with_the_first_and_by_kind_evidence_time_and_disk() -> None:
    found = measured("remloom", "bm25", "mine:Mine", "others:Pairs")
    ours, words, mine, pairs = found.values()
    assert ours["overall"]["questions"] == 20
    assert ours["overall"]["frac@10"] > 0.6
    assert 0 < words["overall"]["frac@5"] <= words["overall"]["frac@20"]
    difference = words["differences"]["frac@10"]
    assert difference["mean"] == pytest.approx(
        words["overall"]["frac@10"] - ours["overall"]["frac@10"]
    )
    assert difference["low"] <= difference["mean"] <= difference["high"]
    assert set(mine["kinds"]) == {"single-hop", "multi-hop", "temporal"}
    assert {name: group["questions"] for name, group in mine["evidence"].items()} == {
        "1": 18, "2": 1, "3+": 1,
    }  # fmt: skip
    assert 0 < ours["seconds"]["p50"] <= ours["seconds"]["p95"]
    assert ours["bytes"] > 100_000 > pairs["bytes"] >= 1000
    assert mine["bytes"] is None
    # it returns all it has, always; remloom may return nothing
    assert mine["nothing"] is None
    assert ours["nothing"][0] > ours["nothing"][1]


def test_what_is_read_of_long_texts_is_bounded_by_the_budget() -> None:
    found = measured("mine:Mine", "others:Pairs", options=("--budget", "1300"))
    short, long = found.values()
    assert long["overall"]["frac@20"] == short["overall"]["frac@20"]
    assert long["overall"]["budget"] < short["overall"]["budget"]


@pytest.mark.parametrize(
    ("memory", "problem"),
    [
        (
            "others:Raises",
            "failed at 1 of 44 questions: ValueError: no bowls (others.py:16, in retrieve); asked '",
        ),
        ("others:Lies", "returned 44 ids of no document of the user, such as 'nowhere:1'"),
        ("others:Shapeless", "failed at 44 of 44 questions: TypeError: retrieve returned"),
        ("others:Texts", "returned 88 texts without an id in 44 of 44 questions: return ids, or"),
        ("others:Plain", "which looks like texts: return ids"),
        ("others:Forgets", "TypeError: retrieve returned None: return a list"),
        ("others:Broken", "could not take the documents: RuntimeError: the disk is on fire"),
        (command("dies"), "died with exit code 3: out of luck; asked '"),
        (command("hangs"), "did not answer within 1 seconds"),
        (command("babbles"), "answered hello, which is no JSON object"),
        (command("complains"), "failed at 44 of 44 questions: not today"),
        ("cmd: ./absent", "could not be started"),
        ("chroma", ""),
    ],
)
def test_a_memory_that_fails_is_told_of_and_leaves_the_next_alone(
    memory: str, problem: str
) -> None:
    done = bench("--memory", memory, "--memory", "bm25", "--deadline", "1", "--json")
    assert done.exit_code == 1
    failed, words = json.loads(done.stdout)["memories"]
    assert problem in failed["problems"][0]
    assert words["problems"] == []
    assert words["overall"]["questions"] == 20


def test_a_command_is_measured_by_lines_of_json() -> None:
    [one] = measured(command("works")).values()
    assert one["problems"] == []
    assert one["overall"]["frac@20"] > 0
    assert one["cpu"] == {}


def test_a_misspelt_name_is_refused_before_anything_is_measured() -> None:
    for wrong, meant in (
        ("remlom", "remloom"),
        ("mine:Mime", "mine:Mine"),
        ("mime:Mine", "mine:Mine"),
        ("./mine.py:Mine", "mine:Mine"),
    ):
        refused = bench("--memory", "bm25", "--memory", wrong)
        assert refused.exit_code == 2
        assert f"did you mean '{meant}'" in refused.stderr


def test_an_id_costs_the_tokens_of_its_document_whatever_text_comes_with_it() -> None:
    found = measured("others:All", "others:Whole", options=("--budget", "300"))
    honest, empty = (one["overall"]["budget"] for one in found.values())
    assert 0 < honest == empty < 1


def test_of_more_results_than_were_asked_for_only_the_first_count() -> None:
    done = bench("--memory", "others:All", "--k", "10", "--json")
    whole = json.loads(done.stdout)
    note = "others:All returned more than 10 results at 44 of 44 questions: the first 10 count"
    assert note in whole["notes"]
    assert all(len(one["found"]) == 10 for one in whole["memories"][0]["results"])


def test_where_every_document_fits_the_budget_the_result_says_so(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    assert "`budget` says little" in bench("--memory", "bm25", "--report", "page.html").stdout
    assert "`budget` says little" in (folder / "page.html").read_text(encoding="utf-8")
    assert "`budget`" not in bench("--memory", "bm25", "--budget", "300", "--k", "20").stdout


def test_what_a_class_prints_is_shown_with_its_name() -> None:
    assert "others:Pairs: noise on stdout" in bench("--memory", "others:Pairs").stderr


def test_where_the_first_memory_fails_the_next_is_what_the_others_are_compared_with() -> None:
    done = bench("--memory", "others:Broken", "--memory", "bm25", "--memory", "mine:Mine")
    assert "against bm25" in done.stdout
    assert "compared with bm25" in done.stdout


def test_json_tells_of_each_question_what_was_found_of_its_evidence() -> None:
    done = bench("--memory", "bm25", "--json")
    whole = json.loads(done.stdout)
    assert whole["version"] == remloom.__version__
    assert whole["compared_with"] == "bm25"
    asked = whole["memories"][0]["results"]
    assert len(asked) == 44
    assert any(set(one["evidence"]) & set(one["found"]) for one in asked)
    assert {"question", "kind", "user_id", "error"} < set(asked[0])


DOCUMENTS = [
    {"id": "a", "content": "The lease was signed in Aveiro.", "user_id": "u", "extra": 1},
    {"id": "b", "content": "The kiln is blue.", "user_id": "u", "timestamp": "2024-05-01"},
    {"id": "c", "content": "The lease was signed in Porto.", "user_id": "v"},
]
QUERIES: list[dict[str, Any]] = [
    {"id": "1", "query": "Where was the lease signed?", "gold_ids": ["a"], "user_id": "u",
     "meta": {"question_type": "where"}},
    {"id": "2", "query": "Where was the lease signed?", "gold_ids": ["c"], "user_id": "v"},
    {"id": "3", "query": "What colour?", "gold_answers": ["blue"], "user_id": "u"},
]  # fmt: skip


def test_the_form_of_the_open_harness_is_read_and_each_user_is_asked_alone(folder: Path) -> None:
    place = folder / "harness"
    place.mkdir()
    (place / "documents.json").write_text(json.dumps(DOCUMENTS), encoding="utf-8")
    lines = "\n".join(map(json.dumps, QUERIES))
    (place / "queries.jsonl").write_text(lines, encoding="utf-8")
    done = bench(str(place), "--memory", "remloom", "--memory", "bm25", "--memory", "mine:Mine")
    assert done.exit_code == 0, done.stdout + done.stderr
    assert "harness: 2 questions (2 with an answer) about 3 documents" in done.stdout
    left_out = "left out: 1 of 3 questions, whose evidence is of no document: 'What colour?'"
    assert left_out in " ".join(done.stdout.split())
    for one in measured("remloom", "bm25", "mine:Mine", data=str(place)).values():
        assert one["overall"]["MRR"] == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"documents": DOCUMENTS, "queries": QUERIES[2:]}, "no question says by ids"),
        ({"documents": DOCUMENTS * 2, "queries": QUERIES}, "two documents have one id"),
        ({"documents": [{"id": 1}], "queries": []}, "documents"),
        ({"questions": []}, "an object of questions; it lacks documents, queries"),
        ([{"conversation": {}}], "an object of conversation; it lacks sample_id, qa"),
        ([], "no question says by ids"),
        ("nothing", "neither form"),
    ],
)
def test_data_that_tell_no_evidence_are_refused(
    folder: Path, content: object, message: str
) -> None:
    (folder / "data.json").write_text(json.dumps(content), encoding="utf-8")
    refused = bench("data.json")
    assert refused.exit_code == 2, refused.stdout
    assert message in refused.stderr


def test_a_file_that_is_not_there_is_told_of(folder: Path) -> None:
    (folder / "present.json").write_text("[]", encoding="utf-8")
    refused = bench("presents.json")
    assert refused.exit_code == 2
    assert "did you mean 'present.json'" in refused.stderr


def test_one_conversation_of_locomo_is_taken_without_a_list_around_it(folder: Path) -> None:
    turns = [{"speaker": "Ines", "dia_id": "D1:1", "text": "The kiln is blue."}]
    asked = {"question": "What is blue?", "category": 4, "evidence": ["D1:1"]}
    chat = {"sample_id": "one", "conversation": {"session_1": turns}, "qa": [asked]}
    (folder / "chat.json").write_text(json.dumps(chat), encoding="utf-8")
    assert measured("bm25", data="chat.json")["bm25"]["overall"]["MRR"] == 1


def test_the_report_is_one_page_with_pictures_and_names_as_text(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    memories = ("--memory", "bm25", "--memory", "mine:Mine", "--memory", "cmd: <b>")
    bench(*memories, "--report", "page.html")
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 3
    assert "nothing to measure" not in page
    # by kind, by evidence, nothing returned, notes, problems
    assert page.count("<details open>") == 5
    assert "cmd: &lt;b&gt;" in page
    assert "<b>" not in page
    assert "url(http" not in page
    assert "<script" not in page


HARNESS = """
from dataclasses import dataclass

@dataclass
class Document:
    id: str
    content: str
    user_id: str | None = None
    messages: list | None = None
    timestamp: str | None = None
    context: str | None = None
"""


def test_our_provider_of_the_open_harness_finds_what_it_was_given(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # its runner is in no registry: this has the two names that a provider imports
    package = folder / "memory_bench"
    (package / "memory").mkdir(parents=True)
    for name in ("__init__", "memory/__init__"):
        (package / f"{name}.py").touch()
    (package / "models.py").write_text(HARNESS, encoding="utf-8")
    (package / "memory" / "base.py").write_text("class MemoryProvider: ...\n", encoding="utf-8")
    examples = Path(__file__).parents[1] / "examples" / "agent-memory-benchmark"
    monkeypatch.setenv("PYTHONPATH", f"{folder}:{examples}")
    turns = [{"speaker": "Ines", "dia_id": "D1:1", "text": "The lease was signed in Faro."}]
    sessions = [
        {"id": "s1", "content": json.dumps(turns), "user_id": "v", "timestamp": "2024-05-01"},
        {"id": "s2", "content": "[]", "user_id": "v",
         "messages": [{"role": "user", "content": "My kiln is blue."}]},
    ]  # fmt: skip
    asked = {"id": "4", "query": "What does Ines say of the lease?", "gold_ids": ["s1"]}
    data = {"documents": [*DOCUMENTS, *sessions], "queries": [*QUERIES, {**asked, "user_id": "v"}]}
    (folder / "data.json").write_text(json.dumps(data), encoding="utf-8")
    [ours] = measured("remloom_provider:RemloomMemoryProvider", data="data.json").values()
    assert ours["problems"] == []
    assert ours["overall"]["frac@5"] == 1
