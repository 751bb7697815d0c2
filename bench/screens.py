"""Photograph the pages of a running server: python -m bench.screens --help.

Every page, in light and dark, on a narrow screen and on a wide one, for whoever wants to see at a
glance what a change of the style sheet does. It needs Chromium and playwright.
"""

from __future__ import annotations

import argparse
import itertools
import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote

WIDTHS = (360, 1280)  # pixels
SCHEMES = ("light", "dark")
HEIGHT = 800
# by name of the picture: the address of the page; {question}, {label} and {document} are arguments
PAGES = {
    "ask": "ask",
    "ask-passages": "ask?q={question}",
    "ask-prompt": "ask?q={question}&view=prompt",
    "ask-nothing": "ask?q=qwertz zxcvb",
    "timeline": "timeline",
    "graph": "graph/{label}",
    "record": "record/{label}",
    "console": "console",
    "console-answer": 'console?statement=TRAVERSE WITH LOOKUP "{label}" DIRECTION both DEPTH 1',
    "console-error": "console?statement=LOOKP",
    "profile": "profile",
    "profile-agents": "profile?view=agents",
    "profile-changes": "profile?view=changes",
    "profile-waiting": "profile?view=staged",
    "documents": "documents",
    "document": "documents/{document}",
    "dreams": "dreams",
    "dreams-begin": "dreams?view=begin",
    "dreams-measures": "dreams?view=metrics",
    "jobs": "jobs",
    "keys": "keys",
    "audit": "keys?view=audit",
}


def photograph(page: Any, folder: Path, values: dict[str, str], ending: str) -> None:
    """Go through all pages with a browser that is signed in."""
    for name, pattern in PAGES.items():
        address = pattern.format_map(values)
        page.evaluate("hash => { location.hash = hash }", f"#/{address}")
        page.locator("#main h1").wait_for()
        page.wait_for_function("() => !document.querySelector('.busy')")
        if name == "graph" and page.locator(".expansions button").count():
            page.locator(".expansions button").first.click()
            page.wait_for_timeout(500)
        page.screenshot(path=folder / f"{name}-{ending}.png", full_page=True)


def main() -> None:
    """Read the command line, and photograph."""
    parser = argparse.ArgumentParser(description=re.sub(r"\s+", " ", str(__doc__)))
    parser.add_argument("folder", type=Path, help="where the pictures go")
    parser.add_argument("--url", default="http://127.0.0.1:8765", help="of the server")
    parser.add_argument("--key", required=True, help="that may do everything")
    parser.add_argument("--question", default="who decided on the prices?")
    parser.add_argument("--label", default="Sarah Chen", help="of a record with edges")
    parser.add_argument("--document", default="", help="the uri of a document")
    given = parser.parse_args()
    values = {
        "question": given.question,
        "label": quote(given.label, safe=""),
        "document": quote(given.document, safe=""),
    }
    given.folder.mkdir(parents=True, exist_ok=True)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--no-first-run"]
        )
        for scheme, width in itertools.product(SCHEMES, WIDTHS):
            context = browser.new_context(
                color_scheme=scheme, viewport={"width": width, "height": HEIGHT}
            )
            page = context.new_page()
            page.goto(f"{given.url}/ui/")
            page.get_by_label("Key").fill(given.key)
            page.screenshot(path=given.folder / f"sign-in-{scheme}-{width}.png")
            page.get_by_role("button", name="Sign in").click()
            page.locator(".brand").wait_for()
            photograph(page, given.folder, values, f"{scheme}-{width}")
            context.close()


if __name__ == "__main__":
    main()
