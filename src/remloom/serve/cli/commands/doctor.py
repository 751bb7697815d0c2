"""`remloom doctor`: is everything there, and does everything agree?"""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

from click.exceptions import Exit

from ...._version import __version__
from ....errors import RemloomError, StoreError
from ....text.quoting import visible
from ..frame.call import Invocation

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ....memory import MemoryStats


LIBRARIES = ("apsw-sqlite3mc", "msgspec", "numpy", "usearch", "onnxruntime", "tokenizers")


def doctor(call: Invocation, *, repair: bool = False) -> None:
    """Check the installation, the embedder and the store.

    Every page is read, and every index is compared with its table. Exits with 7 when something
    disagrees, and with the code of the error when the store cannot be opened or the embedder not be
    loaded.

    A memory that has lost acknowledged writes does not open: its log was damaged, cut or removed.
    This says how many they are and since when. With --repair the log is kept aside as it is, and
    the memory goes on without them.

    Args:
        repair: go on with what is whole, when acknowledged writes were lost.
    """
    settings = call.settings()
    repaired: list[str] = []
    # before the memory is opened, which it cannot be while writes are missing
    if repair:
        repaired = call.open_home().repair(settings.tenant)
    facts: dict[str, Any] = {
        "versions": _versions(),
        "home": settings.shown_home,
        "tenant": settings.tenant,
    }
    stats: MemoryStats | None = None
    problems: list[str] = []
    codes: list[int] = []
    try:
        with call.open() as memory:
            stats = memory.admin.stats()
            facts["store"] = stats.as_dict()
            disagreements = memory.admin.check()
            problems += disagreements
            codes += [StoreError.exit_code] * bool(disagreements)
            # the last step, since loading it may fail: the store is checked by then
            embedder = memory.admin.embedder
            facts["embedder"] = "none" if embedder is None else embedder.name
            facts["token_encoder"] = stats.token_encoder or "none"
    except RemloomError as error:
        problems.append(str(error))
        codes.append(error.exit_code)
    facts["repaired"] = repaired
    facts["problems"] = problems
    call.show(facts, lambda: _view(facts, stats))
    # of several problems, the first is the likeliest cause of the others
    if codes:
        raise Exit(codes[0])


def _versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    versions = {"remloom": __version__, "python": platform.python_version()}
    for library in LIBRARIES:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:
            versions[library] = "missing"
    return versions


def _view(facts: dict[str, Any], stats: MemoryStats | None) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from ..views.answers import draw_stats
    from ..views.tables import draw_nested

    # these have a part of their own below
    own_part = ("problems", "repaired", "store")
    plain = {name: value for name, value in facts.items() if name not in own_part}
    parts: list[RenderableType] = [draw_nested(plain)]
    if stats is not None:
        parts += [Text(), draw_stats(stats)]
    parts.append(Text())
    for line in facts["repaired"]:
        parts.append(Text.assemble(("repaired: ", "bold"), visible(line)))
    for problem in facts["problems"]:
        parts.append(Text.assemble(("problem: ", "bold red"), visible(problem)))
    if not facts["problems"]:
        parts.append(Text("everything agrees", "bold green"))
    return Group(*parts)
