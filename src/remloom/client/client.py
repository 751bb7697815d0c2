"""`Client` and `AsyncClient`: the methods of `Memory`, done by a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from .connection import TIMEOUT, AsyncConnection, Connection, ServerAddress
from .methods import Over
from .nouns import AsyncClientMethods, AsyncReaderMethods, ClientMethods, ReaderMethods

if TYPE_CHECKING:
    import httpx

    from ..reader.loop.events import EventCallback


class Client(ClientMethods):
    """A tenant's memory at a server: what `Memory` does, under the same names.

    Values, errors and documentation are `Memory`'s. What means something only in the process that
    holds the memory (callables, models, paths of its disk) is refused. What writes carries a key of
    its own, so that a request whose reply was lost is sent again and writes nothing twice.

    Args:
        url: of the server: "http://127.0.0.1:8765".
        key: "rlm_…"; default the variable REMLOOM_API_KEY. The tenant is the key's.
        tenant: with a key for all tenants, which one.
        timeout: seconds for a reply, but for calls that may take minutes.
        http: an `httpx.Client` to send with, for proxies and tests; its timeouts hold.

    Raises:
        AuthenticationError: there is no key.
        ServerError: by any method: nobody answers, though it was tried several times.

    Example:
        with Client("http://127.0.0.1:8765", key="rlm_…") as memory:
            memory.read_text("Sarah drinks green tea.", uri="notes/sarah")
            memory.recall("What does Sarah drink?")
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        tenant: str | None = None,
        timeout: float = TIMEOUT,
        http: httpx.Client | None = None,
    ) -> None:
        target = ServerAddress(url, key, tenant, timeout if http is None else None)
        super().__init__(Connection(target, http))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._connection.target.shown}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. The memory stays open at the server."""
        self._connection.close()

    def reader(self, *documents: str, told: EventCallback | None = None) -> ClientReader:
        """Open long documents that the server has, by uri, title or label.

        What is not there yet is read in first: `read`. What they are called is looked at by the
        first call, which raises NotFoundError if there is none.

        Args:
            told: called with each `ReadEvent` of an `ask` as it happens.
        """
        return ClientReader(self._connection, list(documents), told)


class AsyncClient(AsyncClientMethods):
    """`Client` for asyncio: `async with AsyncClient(url) as memory`."""

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        tenant: str | None = None,
        timeout: float = TIMEOUT,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        target = ServerAddress(url, key, tenant, timeout if http is None else None)
        super().__init__(AsyncConnection(target, http))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._connection.target.shown}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. The memory stays open at the server."""
        await self._connection.close()

    def reader(self, *documents: str, told: EventCallback | None = None) -> AsyncClientReader:
        """Open long documents that the server has; see `Client.reader`."""
        return AsyncClientReader(self._connection, list(documents), told)


class _Documents(Over):
    """Documents by their names, which every call of a reader sends."""

    def __init__(
        self, connection: Any, names: list[str], told: EventCallback | None = None
    ) -> None:
        super().__init__(connection)
        self._defaults = {"documents": names, "told": told}


class ClientReader(_Documents, ReaderMethods):
    """Documents that a server has, to look through, search and ask.

    Each call opens them at the server and lets go of them again: there is nothing to close.

    Args:
        names: their uris, titles or labels.
        told: called with each event of `ask` as it happens.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """End reading; the server holds nothing open."""


class AsyncClientReader(_Documents, AsyncReaderMethods):
    """`ClientReader` for asyncio."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        """End reading; the server holds nothing open."""
