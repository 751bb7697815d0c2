"""Metrics: each is what its definition says, and nothing where there is nothing to measure."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from remloom import Memory, Resource
from remloom.dream.metrics import measure
from remloom.dream.report import Metrics
from remloom.errors import EmbedderError, SourceError
from remloom.llm import Usage
from remloom.serve.cli.app import program
from remloom.testing.embedder import WordEmbedder


def at(*degrees: float) -> list[float]:
    """A unit vector in the plane of the first two axes, or on the sphere with a second angle."""
    first, second = (*np.radians(degrees), 0.0)[:2]
    return [
        float(np.cos(first) * np.cos(second)),
        float(np.sin(first) * np.cos(second)),
        float(np.sin(second)),
        0.0,
    ]


def derived(
    name: str, parents: tuple[str, ...], embedding: list[float], **changes: Any
) -> Resource:
    given = {"kind": "synthesis", "generation": 1, **changes}
    return Resource(
        name=name, content=name, parents=parents, embedding=embedding, trust="derived", **given
    )


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder="none") as memory:
        a, b = memory.write(
            [
                Resource(name="A", content="a", uri="a.md", embedding=at(0)),
                Resource(name="B", content="b", uri="b.md", embedding=at(90)),
            ]
        )
        memory.write(
            [
                derived(
                    "Spain 1", (a,), at(30), metadata={"entity": "Spain"}, kind="entity_insight"
                ),
                derived(
                    "Spain 2", (a,), at(60), metadata={"entity": "Spain"}, kind="entity_insight"
                ),
                derived(
                    "France", (b,), at(90), metadata={"entity": "France"}, kind="entity_insight"
                ),
                derived("Dream", (a, b), at(45, 60), kind="rem_dream", generation=2),
            ]
        )
        yield memory


def test_coherence_is_how_alike_the_insights_of_one_entity_are(memory: Memory) -> None:
    coherence = memory.dreams.metrics().coherence
    assert coherence.entities == (("Spain", 2, pytest.approx(np.cos(np.radians(30)), abs=1e-3)),)
    assert coherence.score == pytest.approx(0.866, abs=1e-3)
    assert coherence.across == pytest.approx(
        (np.cos(np.radians(60)) + np.cos(np.radians(30))) / 2, abs=1e-3
    )


def test_novelty_is_the_distance_to_the_nearest_record_of_a_lower_generation(
    memory: Memory,
) -> None:
    novelty = memory.dreams.metrics().novelty
    nearest = np.cos(np.radians(15)) * np.cos(np.radians(60))
    assert novelty.score == pytest.approx(1 - nearest, abs=1e-3)
    assert novelty.sources == pytest.approx(1.0, abs=1e-3)
    assert novelty.reach == pytest.approx(1.0, abs=1e-3)


def test_depth_is_the_last_generation_before_quality_falls(memory: Memory) -> None:
    found = memory.dreams.metrics()
    first, second = found.generations
    assert (first.records, first.kinds) == (3, {"entity_insight": 3})
    assert first.support == pytest.approx(
        (np.cos(np.radians(30)) + np.cos(np.radians(60)) + 1) / 3, abs=1e-3
    )
    assert second.support == pytest.approx(np.cos(np.radians(60)), abs=1e-3)
    assert second.quality == pytest.approx((second.support * second.novelty) ** 0.5, abs=1e-3)
    assert found.depth == 2


@pytest.mark.parametrize(("angle", "share", "depth"), [(70, 0.61, 2), (76, 0.97, 3)])
def test_a_generation_with_six_tenths_of_the_first_ones_quality_ends_the_depth(
    memory: Memory, angle: float, share: float, depth: int
) -> None:
    (dream,) = memory.admin.store.records.lookup(["dream"])["dream"]
    memory.write([derived("Late", (dream.id,), at(45, angle), generation=3)])
    found = memory.dreams.metrics()
    first, _, third = found.generations
    assert third.quality / first.quality == pytest.approx(share, abs=0.01)
    assert found.depth == depth


def test_a_generation_that_repeats_what_it_came_from_ends_the_depth(memory: Memory) -> None:
    (dream,) = memory.admin.store.records.lookup(["dream"])["dream"]
    memory.write([derived("Echo", (dream.id,), at(45, 60), generation=3)])
    assert memory.dreams.metrics().depth == 2


def test_cost_is_shared_by_the_insights_that_stand(memory: Memory) -> None:
    now = datetime.now(UTC)
    usage = [
        Usage(
            task="dream",
            model="m",
            at=now,
            seconds=1,
            run="r",
            input_tokens=300,
            output_tokens=100,
            cost=0.02,
        ),
        Usage(
            task="ask",
            model="m",
            at=now,
            seconds=1,
            run="",
            input_tokens=9_999,
            output_tokens=1,
            cost=1.0,
        ),
    ]
    cost = measure(memory.admin.store, usage).cost
    assert (cost.calls, cost.tokens, cost.per_insight_tokens) == (1, 400, 100.0)
    assert cost.per_insight_dollars == pytest.approx(0.005)


def test_a_price_that_is_not_known_is_not_guessed(memory: Memory) -> None:
    usage = [
        Usage(task="dream", model="m", at=datetime.now(UTC), seconds=1, run="r", input_tokens=3)
    ]
    cost = measure(memory.admin.store, usage).cost
    assert (cost.dollars, cost.per_insight_dollars) == (None, None)


def test_coverage_is_the_share_of_held_out_texts_that_are_foreseen(tmp_path: Path) -> None:
    held = tmp_path / "held"
    held.mkdir()
    (held / "foreseen.md").write_text("tidb cluster keeps three replicas every region")
    (held / "known.md").write_text("roses bloom palace garden summer long")
    (held / "strange.md").write_text(
        "invoices quarterly revenue forecast spreadsheet payroll audit"
    )
    with Memory.open(tmp_path / "home", embedder=WordEmbedder()) as memory:
        (read,) = memory.write(
            [Resource(name="Read", content="roses bloom palace garden summer long")]
        )
        memory.write(
            [Resource(name=f"Other {n}", content=f"word{n} thing{n} item{n}") for n in range(8)]
        )
        memory.write(
            [
                Resource(
                    name="Foresight", content="tidb cluster keeps three replicas every region", generation=1,
                    kind="synthesis", parents=(read,),
                )
            ]
        )  # fmt: skip
        coverage = memory.dreams.metrics(held).coverage
        assert coverage is not None
        assert (coverage.texts, coverage.score, coverage.sources, coverage.gained) == (
            3,
            0.3333,
            0.3333,
            0.3333,
        )


def test_an_empty_memory_has_nothing_to_measure(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        found = memory.dreams.metrics()
    assert (found.insights, found.coherence.score, found.novelty.score, found.depth) == (
        0,
        None,
        None,
        0,
    )


def test_held_out_texts_need_an_embedder_and_must_be_there(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "held.md").write_text("something")
    with pytest.raises(EmbedderError):
        memory.dreams.metrics(tmp_path / "held.md")
    with pytest.raises(SourceError):
        memory.dreams.metrics(tmp_path / "missing.md")


# -- the page --------------------------------------------------------------------------------------


def checked(page: str) -> ET.Element:
    """The page as a tree: it must be well-formed, but for the doctype and void tags."""
    text = page.removeprefix("<!doctype html>\n")
    for void in (
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
    ):
        text = text.replace(void, "")
    return ET.fromstring(text)


def test_the_page_needs_nothing_from_elsewhere(memory: Memory) -> None:
    page = memory.dreams.metrics().page()
    tree = checked(page)
    assert "<script" not in page
    links = [
        value
        for node in tree.iter()
        for name, value in node.attrib.items()
        if name.endswith(("href", "src"))
    ]
    assert all(link.startswith("#") for link in links)
    assert "@import" not in page
    assert "url(http" not in page


def test_every_plot_is_described_and_has_its_numbers_as_a_table(memory: Memory) -> None:
    tree = checked(memory.dreams.metrics().page())
    plots = [node for node in tree.iter() if node.tag.endswith("}svg")]
    assert len(plots) == 3
    assert all(plot.get("role") == "img" and plot.get("aria-label") for plot in plots)
    assert len(list(tree.iter("table"))) == 3


def test_the_page_follows_a_dark_mode(memory: Memory) -> None:
    page = memory.dreams.metrics().page()
    assert "prefers-color-scheme: dark" in page
    assert "#0101" not in page
    assert "var(--first)" in page


def test_names_in_the_page_are_text_whatever_they_hold(memory: Memory) -> None:
    (read,) = [r.id for r in memory.admin.store.records.all("resources") if r.name == "A"]
    evil = "<script>alert(1)</script> $x$"
    memory.write([derived(f"E{n}", (read,), at(n), metadata={"entity": evil}) for n in (5, 9)])
    page = memory.dreams.metrics().page()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    checked(page)


def test_the_page_of_an_empty_memory_says_so(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        page = memory.dreams.metrics().page()
    checked(page)
    assert "nothing to measure it by yet" in page


def test_the_same_metrics_draw_the_same_plots(memory: Memory) -> None:
    def plots(found: Metrics) -> str:
        return found.page().partition("<svg")[2]

    assert plots(memory.dreams.metrics()) == plots(memory.dreams.metrics())


# -- the command -----------------------------------------------------------------------------------


def test_the_command_prints_numbers_and_writes_the_page(memory: Memory, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    memory.close()
    given = ["metrics", "--home", str(tmp_path), "--html", str(target)]
    result = CliRunner().invoke(program, given, env={"REMLOOM_EMBEDDER": "none"})
    assert result.exit_code == 0, result.output
    assert "coherence" in result.output
    assert "entity_insight" in result.output
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
