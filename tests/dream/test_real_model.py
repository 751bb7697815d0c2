"""The cycles with a real, very small model in this process: this shows that all is wired, not what
it has to say."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from llama_server import API_KEY, llama_server
from remloom import Memory
from remloom.errors import SettingsError
from remloom.llm.local import carried
from remloom.model import Resource
from remloom.serve.cli.app import program

pytest.importorskip("langgraph")
pytest.importorskip("xllamacpp")

# of November and of January
ESSAYS = sorted((Path(__file__).parents[2] / "examples" / "essays").iterdir())[1:3]
SETTINGS = """
embedder = "minilm"
{llm}

[llm_tasks]
entities = {{ max_tokens = 80 }}
synthesis = {{ max_tokens = 200 }}
entity_synthesis = {{ max_tokens = 160 }}
question = {{ temperature = 0.0 }}
dream = {{ max_tokens = 240 }}
"""


@pytest.fixture(autouse=True)
def small_model() -> None:
    try:
        carried("smollm2")
    except SettingsError as error:
        pytest.skip(error.message)


@pytest.fixture
def endpoint(real_calls: None) -> Iterator[str]:
    """The settings of a model behind an OpenAI-compatible server."""
    pytest.importorskip("pydantic_ai")
    with llama_server() as url:
        yield f'llm_model = "openai:smollm2"\nllm_base_url = "{url}"\nllm_api_key = "{API_KEY}"'


@pytest.mark.model
def test_dated_texts_are_read_a_period_ends_and_each_dream_is_shown_with_its_question_and_source_lines(
    tmp_path: Path, real_calls: None, request: pytest.FixtureRequest
) -> None:
    if not request.config.getoption("--long", default=False):
        pytest.skip("minutes: with --long; the model of an endpoint has its turn below")
    learned(tmp_path, 'llm_model = "local:smollm2"')


@pytest.mark.model
def test_the_same_goes_with_a_local_openai_compatible_endpoint(
    tmp_path: Path, endpoint: str
) -> None:
    learned(tmp_path, endpoint)


def learned(tmp_path: Path, llm: str) -> None:
    """Learn from essays of two months, look at what is printed and kept, and take it back."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "remloom.toml").write_text(SETTINGS.format(llm=llm))
    source = tmp_path / "essays"
    source.mkdir()
    for essay in ESSAYS:
        shutil.copy(essay, source)
    printed = ""
    dreams: list[Resource] = []
    # so small a model may not find its end: then it tries again
    commands = [("learn", str(source)), *[("dream",)] * 3]
    for command in commands:
        done = CliRunner().invoke(
            program, [*command, "--dreams", "1", "--home", str(home)], catch_exceptions=False
        )
        assert done.exit_code in (0, 1), done.output  # 1: something was parked
        printed += done.output
        with Memory.open(home) as memory:
            made = [record for run in memory.runs.list() for record in memory.runs.records(run.id)]
        dreams = [
            record for record in made if isinstance(record, Resource) and record.kind == "rem_dream"
        ]
        if dreams:
            break
    print(printed)
    assert "2 documents" in printed
    assert dreams
    with Memory.open(home) as memory:
        for dream in dreams:
            assert dream.name[:40] in printed
            sources = {
                Path(entry.source).name
                for entry in memory.history(dream.id).entries
                if not entry.parents
            }
            assert sources
            assert any(source in printed for source in sources)
        for run in memory.runs.list():
            memory.runs.rollback(run.id)
        assert memory.admin.check() == []
