"""Training: which languages it finds good enough, how it reports them, and trying texts without it."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import training.heard
import training.train
from rich.console import Console
from training.heard import Heard, heard_languages, judge, write_heard
from training.report import show_decisions, show_trained
from training.subjects import HEADS
from training.texts import Text
from training.train import Figures, Trained, train

from remloom.heads.head import HEARD, LASTING_BY_WORDS, head

STRONG = Heard(lasting=300, heard=240, others=300, believed=30)


def shown() -> tuple[Console, io.StringIO]:
    """A console that writes to a file, and the file."""
    file = io.StringIO()
    return Console(file=file, width=80), file


@pytest.mark.parametrize(
    ("found", "is_enough"),
    [
        (STRONG, True),
        (Heard(lasting=80, heard=56, others=90, believed=14), True),
        (Heard(lasting=79, heard=79, others=90, believed=0), False),  # too few to tell
        (Heard(lasting=300, heard=209, others=300, believed=0), False),  # much is missed
        (Heard(lasting=300, heard=240, others=300, believed=61), False),  # much is made up
        (Heard(lasting=0, heard=0, others=0, believed=0), False),
    ],
)
def test_a_language_is_heard_once_enough_turns_are_decided_rightly(
    found: Heard, is_enough: bool
) -> None:
    assert found.is_enough == is_enough


def test_turns_are_judged_by_language_at_the_threshold_of_hearing() -> None:
    least = LASTING_BY_WORDS
    found = judge(
        ["en", "en", "en", "it", "it"],
        ["lasting", "lasting", "other", "passing", "lasting"],
        np.array([least, least - 0.01, 0.9, 0.1, 1.0]),
    )
    assert found == {
        "en": Heard(lasting=2, heard=1, others=1, believed=1),
        "it": Heard(lasting=1, heard=1, others=1, believed=0),
    }


def test_training_needs_the_heads_and_nothing_that_goes_by_them() -> None:
    for path in Path(training.heard.__file__).parent.glob("*.py"):
        assert "remloom.profile" not in path.read_text(encoding="utf-8"), path.name


def test_only_languages_that_are_good_enough_are_written(tmp_path: Path) -> None:
    path = tmp_path / "heard.txt"
    write_heard({"en": STRONG, "it": Heard(lasting=42, heard=22, others=40, believed=7)}, path)
    assert heard_languages(path) == {"en"}
    write_heard({}, path)
    assert heard_languages(path) == frozenset()


@pytest.mark.parametrize("is_default", [True, False])
def test_weights_in_a_folder_of_their_own_change_no_list_of_what_is_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_default: bool
) -> None:
    rows = [
        (Text(f"{words} {number}", ("", label), "en"), label)
        for number in range(10)
        for words, label in (("I keep bees", "lasting"), ("what is the time", "request"))
    ]
    written: list[dict[str, Heard]] = []
    monkeypatch.setattr(training.train, "rows_of", lambda name: rows)
    monkeypatch.setattr(training.train, "write_heard", written.append)
    if is_default:
        monkeypatch.setattr(training.train, "WEIGHTS", tmp_path)
    trained = train("statement", folder=tmp_path)
    assert trained.heard == {"en": Heard(lasting=2, heard=2, others=2, believed=0)}
    assert written == [trained.heard] * is_default


def test_turns_in_a_language_that_is_not_heard_do_not_change_what_it_is_told_by() -> None:
    label = HEADS["language"].label
    assert label(Text("…", ("lasting", "like"), "en")) == f"{HEARD}en"
    assert label(Text("…", ("tongue", "English"), "en")) == f"{HEARD}en"
    assert label(Text("…", ("tongue", "Dutch"), "nl")) == "Dutch"
    assert label(Text("…", ("lasting", "like"), "nl")) is None


def test_the_report_names_what_a_language_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.report.languages", lambda subject: ["en", "it", "nl", "pl"])
    by_language = {"en": (600, 0.9), "it": (82, 0.51), "nl": (50, None)}
    figures = Figures(732, 0.87654, by_language, {"lasting": (0.9, 0.8), "other": (0.7, 0.6)})
    heard = {"en": STRONG, "it": Heard(lasting=42, heard=22, others=40, believed=7)}
    console, file = shown()
    show_trained(console, Trained("statement", "0123abcd", 3_660, figures, heard, 99_000))
    lines = file.getvalue().splitlines()
    assert lines[0] == "statement 0123abcd: 3,660 texts, 0.877 of 732 held out are right; 99 kB"
    assert any("240 of 300 (0.80)" in line and "30 of 300 (0.10)" in line for line in lines)
    assert lines[-3] == "no texts in: pl"
    assert lines[-2] == "texts of one label only, which tell nothing, in: nl"
    assert lines[-1] == (
        "it is weak, and still reported as not heard: 0.52 of 42 lasting turns are heard"
        " (0.70 of 80 or more are needed), 0.76 of what is believed is right (0.80)."
        " Write more turns."
    )


@pytest.mark.model
def test_texts_are_tried_with_the_weights_that_are_there() -> None:
    console, file = shown()
    text = "[user] I've kept bees behind the chapel since my divorce, and I like how calm they are"
    show_decisions(console, HEADS, [text, "", "  Tell me about bees  "])
    tried = file.getvalue()
    assert tried.splitlines()[0] == text  # as it stands, in one line
    assert "Tell me about bees" in tried.splitlines()
    likeliest = head("statement").decide(text)
    assert f"{likeliest.label} {likeliest.probability:.2f}" in tried
    assert "support" not in tried  # it sees pairs
    assert "…" not in tried
