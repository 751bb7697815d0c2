"""`remloom doctor`: is everything there, and does everything agree?"""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

from click.exceptions import Exit

from ..._version import __version__
from ...errors import RemloomError, StoreError
from .app import Call, command

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__: list[str] = []

LIBRARIES = ("apsw-sqlite3mc", "msgspec", "numpy", "usearch", "onnxruntime", "tokenizers")


@command("doctor")
def doctor(call: Call) -> None:
    """Check the installation, the embedder and the store.

    Every index is compared with its table. Exits with 7 when something disagrees, and with the code of the error when
    the store cannot be opened or the embedder not be loaded.
    """
    settings = call.settings()
    found: dict[str, Any] = {"versions": _versions(), "home": settings.shown_home, "tenant": settings.tenant}
    problems: list[str] = []
    codes: list[int] = []
    try:
        with call.open() as memory:
            found["store"] = memory.stats()
            disagreements = memory.check()
            problems += disagreements
            codes += [StoreError.exit_code] * bool(disagreements)
            found["embedder"] = "none" if (embedder := memory.embedder) is None else embedder.name
    except RemloomError as error:
        problems.append(str(error))
        codes.append(error.exit_code)
    found["problems"] = problems
    call.show(found, lambda: _view(found))
    if codes:
        raise Exit(codes[0])


def _versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {"remloom": __version__, "python": platform.python_version()}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = "missing"
    return found


def _view(found: dict[str, Any]) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from .render import clean, nested, stats

    facts = {name: value for name, value in found.items() if name not in ("problems", "store")}
    problems = [Text.assemble(("problem: ", "bold red"), clean(problem)) for problem in found["problems"]]
    held = [Text(), stats(found["store"])] if "store" in found else []
    return Group(nested(facts), *held, Text(), *(problems or [Text("everything agrees", "bold green")]))
