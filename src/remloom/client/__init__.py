"""`Client` and `AsyncClient`: `Memory`'s methods, done by a server. Extra `client`."""

from ..errors import MissingExtraError

try:
    from .async_client import AsyncClient
    from .client import Client
except ModuleNotFoundError as error:
    if error.name and error.name.startswith("remloom"):
        raise
    raise MissingExtraError("a client of a server", "client") from error

__all__ = ["AsyncClient", "Client"]
