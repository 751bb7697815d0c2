"""Runs and their rollback over PostgreSQL: all that `test_runs` says, and learning, under the same
contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import scripted_models
import test_runs
from test_runs import *  # noqa: F403 - the same tests, over another store

from remloom import Memory
from remloom.testing.embedder import WordEmbedder
from remloom.testing.models import ScriptedModel

pytest.importorskip("langgraph")


@pytest.fixture
def memory(postgres: str) -> Iterator[Memory]:
    with Memory.open(postgres, tenant=f"runs-{uuid4().hex[:8]}", embedder=WordEmbedder()) as memory:
        yield test_runs.begun(memory)


def test_learning_and_its_rollback_are_the_same_over_postgresql(
    tmp_path: Path, postgres: str
) -> None:
    source = scripted_models.folder(tmp_path / "essays")
    contents = []
    for home in (postgres, str(tmp_path / "home")):
        model = ScriptedModel(scripted_models.reply)
        with Memory.open(home, tenant="learning", embedder=WordEmbedder(), llm=model) as memory:
            memory.read(source)
            before = scripted_models.exported(memory)
            run = memory.learn(source, dreams=2).run
            assert run.status == "done"
            contents.append(sorted(scripted_models.content(memory)[0]))
            memory.runs.rollback(run.id)
            assert scripted_models.exported(memory) == before
            assert memory.admin.check() == []
    assert contents[0] == contents[1]
