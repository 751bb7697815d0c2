"""`Client` and `AsyncClient`: `Memory`'s methods, done by a server. Extra `client`."""

from ..errors import MissingExtraError

try:
    from .client import AsyncClient, Client
except ModuleNotFoundError as error:
    if error.name and error.name.startswith("remloom"):
        raise
    raise MissingExtraError("a client of a server", "client") from error

__all__ = ["AsyncClient", "Client"]
