"""A memory keeps the embedder that made its vectors, until it is moved to another."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from remloom import Memory, Resource, settings
from remloom.embed.bundled.sentence_embedder import BgeSmall, MiniLM
from remloom.errors import EmbedderMismatchError
from remloom.serve.cli.app import program

pytestmark = pytest.mark.model

TEXTS = (
    "The cat sleeps on the sofa all day.",
    "Prices rise by five percent in April.",
    "The database moved to TiDB.",
    "Bread rises overnight in the cellar.",
)
QUESTION = "how much more will it cost?"


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A memory that was written when minilm was the default, which is bge now."""
    monkeypatch.delenv("REMLOOM_EMBEDDER", raising=False)
    monkeypatch.setattr(settings, "DEFAULT_EMBEDDER", "minilm")
    with Memory.open(tmp_path, token_encoder="none") as memory:
        # more than are embedded between two commits
        notes = [f"Note {number} about the weather of day {number}." for number in range(60)]
        memory.write([Resource(name=text, content=text) for text in (*TEXTS, *notes)])
        memory.embed_pending()
    monkeypatch.setattr(settings, "DEFAULT_EMBEDDER", "bge")
    return tmp_path


def first(memory: Memory) -> str:
    return memory.search(QUESTION, limit=1).records[0].name


def test_a_new_memory_has_the_default_embedder(written: Path):
    with Memory.open(written, tenant="new", token_encoder="none") as memory:
        assert memory.admin.embedder is not None
        assert memory.admin.embedder.name == BgeSmall.name


def test_a_memory_is_asked_and_written_to_with_the_embedder_that_made_its_vectors(written: Path):
    with Memory.open(written, token_encoder="none") as memory:
        assert first(memory) == TEXTS[1]
        memory.write([Resource(name="later", content="A ticket costs much more.")], wait=True)
        assert first(memory) == "later"
        assert memory.admin.embedder is not None
        assert memory.admin.embedder.name == MiniLM.name


def test_another_embedder_that_is_asked_for_is_an_error(written: Path):
    with (
        Memory.open(written, embedder="bge", token_encoder="none") as memory,
        pytest.raises(EmbedderMismatchError, match=r"all-MiniLM-L6-v2.*bge-small"),
    ):
        memory.search(QUESTION)


def test_a_memory_that_is_moved_answers_right_throughout(written: Path):
    seen: list[tuple[int, int, str, str]] = []
    with (
        Memory.open(written, token_encoder="none") as memory,
        Memory.open(written, token_encoder="none") as other,
    ):

        def progress(done: int, total: int) -> None:
            seen.append((done, total, first(memory), first(other)))
            if len(seen) == 1:
                other.write([Resource(name="between", content="Noted while it moves.")], wait=True)

        assert memory.admin.reembed("bge", progress) >= len(TEXTS) + 60
        assert len(seen) > 1
        assert {answers for _, _, *answers in map(list, seen) for answers in answers} == {TEXTS[1]}
        # one that was open follows
        for one in (memory, other):
            assert first(one) == TEXTS[1]
            assert one.search("noted while moving", limit=1).records[0].name == "between"
            assert one.admin.embedder is not None
            assert one.admin.embedder.name == BgeSmall.name
    with Memory.open(written, token_encoder="none") as memory:
        assert first(memory) == TEXTS[1]


def test_one_that_moved_its_memory_follows_when_another_moves_it_on(written: Path):
    with (
        Memory.open(written, token_encoder="none") as memory,
        Memory.open(written, token_encoder="none") as other,
    ):
        memory.admin.reembed("bge")
        other.admin.reembed("minilm")
        for one in (memory, other):
            assert first(one) == TEXTS[1]
            assert one.admin.embedder is not None
            assert one.admin.embedder.name == MiniLM.name


def test_a_move_that_was_cut_off_goes_on(written: Path):
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with Memory.open(written, token_encoder="none") as memory:
        with pytest.raises(KeyboardInterrupt):
            memory.admin.reembed("bge", stop)
        assert first(memory) == TEXTS[1]
    with Memory.open(written, token_encoder="none") as memory:
        assert memory.admin.embedder is not None
        assert memory.admin.embedder.name == MiniLM.name
        assert first(memory) == TEXTS[1]
        # the first batch is there already
        assert memory.admin.reembed("bge") < len(TEXTS) + 60
        assert first(memory) == TEXTS[1]
    with Memory.open(written, token_encoder="none") as memory:
        assert memory.admin.embedder is not None
        assert memory.admin.embedder.name == BgeSmall.name


def test_memories_of_one_process_share_a_model(written: Path):
    with (
        Memory.open(written, token_encoder="none") as one,
        Memory.open(written, tenant="new", embedder="minilm", token_encoder="none") as other,
    ):
        assert one.admin.embedder.model is other.admin.embedder.model


def test_a_reembed_that_names_no_embedder_moves_nothing(written: Path):
    done = CliRunner().invoke(program, ["--home", str(written), "reembed"])
    assert done.exit_code == 0, done.output
    assert f"with {MiniLM.name}" in done.output
    with Memory.open(written, token_encoder="none") as memory:
        assert first(memory) == TEXTS[1]
        assert memory.admin.embedder is not None
        assert memory.admin.embedder.name == MiniLM.name
