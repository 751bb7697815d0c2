"""Putting measured tables where a page has room for them, such as docs/recall-quality.md: between
`<!-- NAME -->` and `<!-- /NAME -->`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "recall-quality.md"


def put_into_page(sections: Mapping[str, str], page: Path = PAGE) -> None:
    text = page.read_text(encoding="utf-8")
    for name, section in sections.items():
        text, count = re.subn(
            rf"(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)",
            lambda _, s=section: f"\n{s}\n\n",
            text,
            flags=re.DOTALL,
        )
        assert count == 1, f"{page.name} has no room for {name}"
    page.write_text(text, encoding="utf-8")
