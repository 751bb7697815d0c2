"""The benchmark still runs, and its report says what was measured. The numbers themselves are not
judged here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bench import flat, report, run, targets
from bench.hot import Hot
from bench.measure import Results

from steps import steps

SIZE = 200


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> targets.Found:
    folder = tmp_path_factory.mktemp("bench")
    bench = run.Bench(folder, Results("remloom", folder), encrypted=True, calls=50)
    for section in (run.chunks, run.names, run.graph, run.singles):
        section(bench, SIZE)
    return Results("remloom", folder).found


def test_every_section_keeps_its_measurements_beside_a_reference(measured: targets.Found) -> None:
    raced = {id.split("/")[0] for id, row in measured.items() if "reference" in row}
    assert {
        "get",
        "lookup",
        "fuzzy-1",
        "search",
        "search-keep-1%",
        "text",
        "traverse",
        "write-edges",
    } <= raced


def test_exact_searches_of_a_small_store_find_everything(measured: targets.Found) -> None:
    for what in ("search", "search-keep-10%", "fuzzy-1"):
        assert measured[f"{what}/{SIZE}/encrypted"]["recall"] > 0.9, what


def test_the_report_shows_what_was_measured_and_says_what_was_not(measured: targets.Found) -> None:
    at_full_size = {id.replace(f"/{SIZE}/", "/100000/"): row for id, row in measured.items()}
    page = report.targets_table(at_full_size)
    assert "| get by id, typed |" in page
    assert "| `make demo` from a bare clone | under 3 minutes | not measured | | |" in page
    assert "met |" in page


def test_every_hot_path_runs(tmp_path: Path) -> None:
    hot = Hot(str(tmp_path), "turns", SIZE)
    for call, _ in hot.paths().values():
        call()
    hot.memory.close()


def test_every_public_method_says_what_it_costs() -> None:
    assert flat.methods() == set(flat.CALLS)
    assert not [name for name, call in flat.CALLS.items() if bool(call.run) == bool(call.left_out)]


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[flat.World]]:
    home = tmp_path_factory.mktemp("flat")
    made = [flat.World(home, size, vectors=True) for size in (300, 3_000)]
    yield made
    for world in made:
        world.memory.close()


_FLAT = [name for name, call in flat.CALLS.items() if call.run and not call.grows]


@pytest.mark.parametrize("name", _FLAT)
def test_what_touches_one_thing_costs_the_same_among_many(
    worlds: list[flat.World], name: str
) -> None:
    """In steps of SQLite's virtual machine, which no busy machine changes."""
    few, many = (_fewest_steps(flat.CALLS[name], world) for world in worlds)
    bar = 1.5 * max(few, 100)
    assert many <= bar or _fewest_steps(flat.CALLS[name], worlds[1], times=40) <= bar


def _fewest_steps(call: flat.Call, world: flat.World, times: int = 4) -> int:
    """Of several calls, since the indexes may be put in order meanwhile."""
    assert call.run
    counted = []
    for _ in range(times):
        given = (call.before(world),) if call.before else ()
        with steps(world.memory) as taken:
            call.run(world, *given)
        counted.append(taken.all)
    return min(counted)
