"""No input fails more than itself: what is sound beside an odd name, turn or value is kept and found,
and the odd piece is named in the report."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from pathlib import Path

from odd_pieces import odd_name, odd_sentence, odd_text
from tried import Counted, Rounds

from remloom import Memory
from remloom.model import Message

_TOGETHER = 25  # odd pieces in one call


def test_an_odd_name_costs_a_document_nothing_else(
    home: str, rounds: Rounds, counted: Counted
) -> None:
    draw = random.Random("documents")
    times = rounds(100, 4_000)
    with Memory.open(home, embedder="none") as memory:
        for number in range(times):
            text = f"{odd_text(draw)}\n\nThe heron{number} stands in the weir of Anna Bolt."
            report = memory.read_text(text, uri=f"{number}", name=odd_name(draw))
            statuses = [item.status for item in report.items]
            assert statuses[0] == "read", (text[:300], report.items)
            assert all(item.reason for item in report.items[1:])
        for number in range(times):
            assert memory.search_text(f"heron{number}", limit=1).records
        assert memory.lookup("Anna Bolt").records
        assert memory.admin.check() == []
    counted("documents with odd names", times)


def test_an_odd_turn_costs_a_chat_nothing_else(home: str, rounds: Rounds, counted: Counted) -> None:
    draw = random.Random("chats")
    chats = rounds(6, 200)
    with Memory.open(home, embedder="none") as memory:
        for number in range(chats):
            uri = f"chat-{number}"
            messages = [
                Message(
                    speaker=odd_name(draw),
                    text=odd_sentence(draw),
                    id=odd_name(draw)[:40],
                    role=odd_name(draw),
                    at=draw.choice((None, datetime(2024, 5, 1, 12, tzinfo=UTC))),
                )
                for _ in range(_TOGETHER)
            ]
            for position in range(0, _TOGETHER, 5):
                messages[position] = Message(
                    speaker="Anna Bolt", text=f"The stork{number}x{position}."
                )
            first = memory.read_chat(messages[:10], uri=uri, name=odd_name(draw))
            rest = memory.read_chat(messages[10:], uri=uri, append=True)
            for report in (first, rest):
                assert report.items[0].status == "read", report.items
                assert all(item.reason for item in report.items[1:])
            for position in range(0, _TOGETHER, 5):
                assert memory.search_text(f"stork{number}x{position}", limit=1).records
        assert memory.admin.check() == []
    counted("chats with odd turns", chats)


def test_an_odd_entry_costs_an_export_nothing_else(
    tmp_path: Path, rounds: Rounds, counted: Counted
) -> None:
    draw = random.Random("exports")
    files = rounds(20, 500)
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(files):
        entries = [
            {
                "speaker": "Anna Bolt",
                "text": f"The crane{number}x{position}.",
                "at": _odd_time(draw),
            }
            for position in range(20)
        ]
        for position in draw.sample(range(20), 3):
            entries[position] = draw.choice((
                {"speaker": odd_name(draw), "text": odd_sentence(draw), "at": _odd_time(draw)},
                {"speaker": None, "text": None}, {"speaker": ["x"], "text": {"text": 7}}, None, 7, [], "x",
            ))  # fmt: skip
        entries[0] = entries[19] = {
            "speaker": "Bo",
            "text": f"The ibis{number}.",
            "at": "2024-05-01",
        }
        if number % 2:
            lines = [json.dumps(entry) for entry in entries]
            lines[7] = draw.choice(
                ('{"speaker": ', "nonsense", "\\", odd_name(draw).strip() or "{")
            )
            text = "\n".join(line.replace("\n", " ") for line in lines)
            (folder / f"{number}.jsonl").write_text(text, "utf-8", "replace")
        else:
            (folder / f"{number}.json").write_text(json.dumps(entries))
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        report = memory.read(folder)
        read = {Path(item.uri).name for item in report.items if item.status == "read"}
        assert read == {path.name for path in folder.iterdir()}, report.skipped
        assert all(item.reason for item in report.skipped)
        for number in range(files):
            assert memory.search_text(f"ibis{number}", limit=1).records
        assert memory.admin.check() == []
    counted("exports with odd entries", files)


def _odd_time(draw: random.Random) -> object:
    return draw.choice((
        None, "", "24:00:00", "2024-02-30", "infinity", "-infinity", 1e308, -1, 10**40, "0000-00-00",
        float("nan"), {"$date": "x"}, "12024-01-01T00:00:00Z", True, "2024-05-01T25:61:00+99:99",
    ))  # fmt: skip
