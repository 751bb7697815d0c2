"""Folders of notes: what is in them, what is not read of them, and when they are of."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remloom import Memory
from remloom.sources import Document, Skipped, from_text, open_source


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A vault of Obsidian with a note of the user's own."""
    folder = tmp_path / "vault"
    write(folder / ".obsidian" / "app.json", "{}")
    write(folder / "Rye.md", "I feed the starter daily.")
    return folder


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def documents(path: Path, **options: object) -> dict[str, Document]:
    found = open_source(path, **options)  # type: ignore[arg-type]
    root = path if path.is_dir() else path.parent
    return {
        str(Path(item.uri).relative_to(root)): item for item in found if isinstance(item, Document)
    }


def skipped(path: Path, **options: object) -> dict[str, str]:
    found = open_source(path, **options)  # type: ignore[arg-type]
    return {
        str(Path(item.uri).relative_to(path)): item.reason
        for item in found
        if isinstance(item, Skipped)
    }


def test_notes_of_a_vault_are_notes_and_its_settings_are_not_read(vault: Path):
    write(vault / "deep" / "Salt.md", "Two percent.")
    found = documents(vault)
    assert {name: note.category for name, note in found.items()} == {
        "Rye.md": "note",
        "deep/Salt.md": "note",
    }
    assert documents(vault / "deep")["Salt.md"].category == "note"
    assert documents(vault / "Rye.md")["Rye.md"].category == "note"


def test_markdown_elsewhere_is_no_note(tmp_path: Path):
    write(tmp_path / "docs" / "a.md", "Rye.")
    assert documents(tmp_path / "docs")["a.md"].category == "document"


@pytest.mark.parametrize(
    ("settings", "text", "folder"),
    [
        ("app.json", "{}", "Templates"),
        ("templates.json", '{"folder": "Meta/Forms/"}', "Meta/Forms"),
        ("plugins/templater-obsidian/data.json", '{"templates_folder": "Tp"}', "Tp"),
        ("templates.json", "[broken", "templates"),
        ("templates.json", '{"folder": 5}', "templates"),
    ],
)
def test_templates_of_a_vault_are_not_read(vault: Path, settings: str, text: str, folder: str):
    write(vault / ".obsidian" / settings, text)
    template = write(vault / folder / "Day.md", "I feel {{mood}} today.")
    assert list(documents(vault)) == ["Rye.md"]
    assert "templates of a vault" in skipped(vault)[folder]
    # from above the vault, and from within it
    assert "vault/Rye.md" in documents(vault.parent)
    assert len(documents(vault.parent)) == 1
    assert list(documents(template)) == ["Day.md"]
    assert list(documents(template.parent)) == ["Day.md"]


def test_a_folder_of_templates_outside_of_vaults_is_read(tmp_path: Path):
    write(tmp_path / "templates" / "letter.md", "Dear Ann")
    assert list(documents(tmp_path)) == ["templates/letter.md"]


def test_what_is_excluded_by_name_or_path_is_said_and_read_only_by_itself(vault: Path):
    write(vault / "Reports" / "a.md", "The user likes beets.")
    write(vault / "work" / "log.md", "Log.")
    write(vault / "log.md", "Log of mine.")
    options = {"exclude": ["reports", "work/*.md"]}
    assert sorted(documents(vault, **options)) == ["Rye.md", "log.md"]
    assert skipped(vault, **options) == {
        "Reports": "excluded by 'reports'; name it to have it read",
        "work/log.md": "excluded by 'work/*.md'; name it to have it read",
    }
    assert list(documents(vault / "Reports", **options)) == ["a.md"]


def test_what_agents_write_is_not_read_unless_the_setting_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write(tmp_path / "notes" / "Arcturus" / "report.md", "The user likes beets.")
    write(tmp_path / "notes" / "mine.md", "I hate beets.")
    with Memory.open(tmp_path / "a", embedder="none") as memory:
        report = memory.read(tmp_path / "notes")
        assert [item.status for item in report.items] == ["skipped", "read"]
        assert "arcturus" in report.items[0].reason
        more = memory.read(tmp_path / "notes", exclude=["mine.md"])
        assert [item.status for item in more.items] == ["skipped", "skipped"]
    monkeypatch.setenv("REMLOOM_READ_EXCLUDE", "Drafts, min?.md")
    with Memory.open(tmp_path / "b", embedder="none") as memory:
        report = memory.read(tmp_path / "notes")
        assert {Path(item.uri).name: item.status for item in report.items} == {
            "report.md": "read",
            "mine.md": "skipped",
        }


@pytest.mark.parametrize(
    ("name", "head", "at"),
    [
        ("2026-03-02.md", "", datetime(2026, 3, 2, tzinfo=UTC)),
        ("2026_03_02.md", "", datetime(2026, 3, 2, tzinfo=UTC)),
        ("2026-03-02 Monday.md", "", datetime(2026, 3, 2, tzinfo=UTC)),
        ("2026-03-02.md", "created: 2026-03-09", datetime(2026, 3, 2, tzinfo=UTC)),
        ("2026-03-02.md", "date: 2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("Rye.md", "created: 2026-03-09", datetime(2026, 3, 9, tzinfo=UTC)),
        ("2026-02-30.md", "", None),
        ("20260302123.md", "", None),
        ("Rye.md", "", None),
    ],
)
def test_a_daily_note_is_of_its_day(tmp_path: Path, name: str, head: str, at: datetime | None):
    text = f"---\n{head}\n---\nRye today." if head else "Rye today."
    (document,) = documents(write(tmp_path / name, text)).values()
    assert document.at == at
    assert from_text(text, uri=f"notes/{name}").at == at


def test_a_daily_note_is_called_by_its_day(tmp_path: Path):
    (document,) = documents(write(tmp_path / "2026-03-02.md", "Rye.")).values()
    assert document.title == "2026-03-02"


def test_front_matter_of_notes_is_kept(tmp_path: Path):
    text = (
        "---\ntags:\n  - bread\n  - slow\naliases: [Sour, Levain]\ncreated: 2026-03-02\n---\nRye."
    )
    write(tmp_path / "notes" / "Starter.md", text)
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        memory.read(tmp_path / "notes")
        (hit,) = memory.lookup("Starter.md").records
        record = memory.get_entity(hit.id)
        assert record is not None
        assert record.properties["front_matter"] == {
            "tags": ["bread", "slow"],
            "aliases": ["Sour", "Levain"],
            "created": "2026-03-02",
        }
        assert record.properties["date"] == "2026-03-02"


def test_notes_of_one_name_in_two_folders_are_two(tmp_path: Path):
    write(tmp_path / "notes" / "a" / "day.md", "Rye.")
    write(tmp_path / "notes" / "b" / "day.md", "Butter.")
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        report = memory.read(tmp_path / "notes")
        assert [item.status for item in report.items] == ["read", "read"]
        assert memory.search_text("Rye").records[0].uri.startswith(f"{tmp_path}/notes/a/day.md")
        assert memory.search_text("Butter").records[0].uri.startswith(f"{tmp_path}/notes/b/day.md")
        write(tmp_path / "notes" / "b" / "day.md", "Salt.")
        again = memory.read(tmp_path / "notes")
        assert [item.status for item in again.items] == ["unchanged", "read"]


def test_what_failed_is_read_as_soon_as_it_can_be(tmp_path: Path):
    note = write(tmp_path / "notes" / "day.md", "")
    note.write_bytes(b"Rye\0bread")
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        for _ in range(2):
            report = memory.read(tmp_path / "notes")
            assert [item.status for item in report.items] == ["failed"]
        state = note.stat()
        note.write_bytes(b"Rye bread")
        # the time of the file tells nothing
        os.utime(note, ns=(state.st_atime_ns, state.st_mtime_ns))
        report = memory.read(tmp_path / "notes")
        assert [item.status for item in report.items] == ["read"]
