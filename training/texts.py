"""The texts that the heads are trained on: files by subject and language, a table a label, a line a
text; or pairs of a quote and claims about it, or of what somebody said earlier and later."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "texts"


class Text(NamedTuple):
    """A text, and the path of the table that it stands in; of a claim, what it is a claim about; of
    what was said later, what was said earlier."""

    text: str
    label: tuple[str, str]
    language: str
    of: str = ""


def read(subject: str, folder: Path = FOLDER) -> list[Text]:
    """All texts of a subject, in every language, in an order that does not change.

    Raises:
        ValueError: a text stands under two labels, or a file is not laid out as it should be.
    """
    found: dict[tuple[str, str, str], Text] = {}
    for path in sorted(folder.glob(f"{subject}.*.toml")):
        for text in _read_file(path):
            known = found.setdefault((text.language, text.text.casefold(), text.of), text)
            if known.label != text.label:
                raise ValueError(
                    f"{path.name}: {text.text!r} is {'.'.join(text.label)} here and"
                    f" {'.'.join(known.label)} elsewhere: leave it out where it does not belong"
                )
    return list(found.values())


def languages(subject: str, folder: Path = FOLDER) -> list[str]:
    """The languages that there are texts of a subject in."""
    return sorted({text.language for text in read(subject, folder)})


def _read_file(path: Path) -> Iterator[Text]:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    language = data.pop("language", path.name.split(".")[1])
    for pair in data.pop("pair", ()):
        for claim in pair["holds"]:
            yield Text(claim, ("claim", "holds"), language, pair["quote"])
        for claim in pair["lies"]:
            yield Text(claim["text"], ("claim", "lie"), language, pair["quote"])
    for pair in data.pop("change", ()):
        label = "ends" if pair["ends"] else "stands"
        yield Text(pair["later"], ("change", label), language, pair["earlier"])
    for first, table in data.items():
        for second, rows in table.items():
            if not isinstance(rows, dict) or not isinstance(rows.get("texts"), str):
                raise ValueError(  # noqa: TRY004 - of a file
                    f"{path.name}: [{first}.{second}] has no texts = ''' … '''"
                )
            for line in rows["texts"].splitlines():
                if text := line.strip():
                    yield Text(text, (first, second), language)
