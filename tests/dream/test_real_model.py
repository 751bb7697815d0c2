"""The cycles with a real, very small model in this process: this shows that all is wired, not what it has to say."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from remloom import Memory
from remloom.errors import SettingsError
from remloom.llm.local import carried
from remloom.serve.cli.app import program

pytest.importorskip("langgraph")
pytest.importorskip("xllamacpp")

ESSAYS = Path(__file__).parents[2] / "examples" / "essays"
SETTINGS = """
embedder = "minilm"
llm_model = "local:smollm2"

[llm_tasks.entities]
max_tokens = 160
[llm_tasks.question]
max_tokens = 300
temperature = 0.0
"""


@pytest.mark.model
def test_dated_texts_are_read_a_period_ends_and_each_dream_is_shown_with_its_question_and_source_lines(
    tmp_path: Path, real_calls: None
) -> None:
    try:
        carried("smollm2")
    except SettingsError as error:
        pytest.skip(error.message)
    home = tmp_path / "home"
    home.mkdir()
    (home / "remloom.toml").write_text(SETTINGS)
    source = tmp_path / "essays"
    source.mkdir()
    for essay in sorted(ESSAYS.iterdir())[:3]:  # two of November, one of January
        shutil.copy(essay, source)
    done = CliRunner().invoke(
        program, ["learn", str(source), "--home", str(home), "--dreams", "1"], catch_exceptions=False
    )  # fmt: skip
    print(done.output)
    assert done.exit_code in (0, 1), done.output  # what so small a model replies may be of no use, and is parked then
    assert "3 documents" in done.output
    with Memory.open(home) as memory:
        (run,) = memory.runs("learn")
        assert run.status == "done"
        dreams = [record for record in memory.made(run.id) if getattr(record, "kind", "") == "rem_dream"]
        assert len(dreams) + run.counts.get("nothing", 0) + len(memory.parked("dream")) >= 2  # a cycle each
        for dream in dreams:
            assert dream.name[:40] in done.output
            lines = {f"{Path(entry['source']).name}" for entry in memory.history(dream.id) if not entry["parents"]}
            assert lines
            assert any(line in done.output for line in lines)
        memory.rollback(run.id)
        assert memory.check() == []
