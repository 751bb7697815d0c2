"""A language model's paraphrases of a question, searched for as well."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from remloom import Memory, Resource
from remloom.errors import ModelNotConfiguredError, ReplyError
from remloom.testing import ScriptedModel

QUESTION = "Which feline does Ann keep?"
NOTES = {
    "cat": "Ann has a tabby cat called Ivy.",
    "feline": "A feline sleeps sixteen hours a day.",
    "boat": "The boat was painted blue.",
}


def opened(folder: Path, *replies: Any) -> Memory:
    """A memory of the notes, whose model replies with these questions."""
    model = ScriptedModel([json.dumps({"questions": list(reply)}) for reply in replies])
    memory = Memory.open(folder, embedder="none", llm=model)
    memory.write([Resource(name=name, content=text) for name, text in NOTES.items()])
    return memory


def test_what_a_paraphrase_finds_is_raised_and_says_so(tmp_path: Path) -> None:
    with opened(tmp_path, ["What cat has Ann?", "Ann's tabby cat is called"]) as memory:
        hits = memory.recall(QUESTION, expand=True, abstain=False).hits
        shares = {
            hit.name: reason.share
            for hit in hits
            for reason in hit.reasons
            if reason.part == "paraphrases"
        }
        assert shares == {"cat": 0.5}
        assert "boat" not in {hit.name for hit in hits}


@pytest.mark.parametrize("options", [{}, {"expand": True, "exclude": ["paraphrases"]}])
def test_no_model_is_asked_unless_paraphrases_are_wanted(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    with opened(tmp_path) as memory:
        hits = memory.recall(QUESTION, abstain=False, **options).hits
        assert "paraphrases" not in {one.part for hit in hits for one in hit.reasons}


def test_the_question_itself_blanks_and_more_than_three_are_not_searched_for(
    tmp_path: Path,
) -> None:
    others = ["one cat", "two cats", "three cats", "a blue boat"]
    with opened(tmp_path, [QUESTION, " ", *others]) as memory:
        hits = memory.recall(QUESTION, expand=True, abstain=False).hits
        assert "boat" not in {hit.name for hit in hits}


def test_no_paraphrases_change_nothing(tmp_path: Path) -> None:
    with opened(tmp_path, []) as memory:
        plain = memory.recall(QUESTION, abstain=False).hits
        assert memory.recall(QUESTION, expand=True, abstain=False).hits == plain


def test_a_reply_that_is_none_is_an_error(tmp_path: Path) -> None:
    model = ScriptedModel(lambda _: "no idea")
    with Memory.open(tmp_path, embedder="none", llm=model) as memory:
        memory.write([Resource(name="cat", content=NOTES["cat"])])
        with pytest.raises(ReplyError):
            memory.recall(QUESTION, expand=True)


def test_without_a_model_the_error_says_how_to_name_one(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        with pytest.raises(ModelNotConfiguredError) as raised:
            memory.recall(QUESTION, expand=True)
        assert "REMLOOM_LLM_MODEL" in raised.value.remedy
