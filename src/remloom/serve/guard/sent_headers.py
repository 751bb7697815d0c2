"""The headers of a request, which the guard asks for a dozen times."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import Scope


class SentHeaders(Headers):
    """Finds a header in a table of all of them, where `Headers` searches and decodes anew."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope=scope)
        self._table: dict[str, list[str]] = {}
        # ASGI has the names in lower case
        for name, value in scope["headers"]:
            self._table.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))

    def getlist(self, key: str) -> list[str]:
        return self._table.get(key.lower(), [])

    def __getitem__(self, key: str) -> str:
        return self._table[key.lower()][0]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key.lower() in self._table
