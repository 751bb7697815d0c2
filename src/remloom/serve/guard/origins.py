"""Which hosts a request may name, and which web pages it may come from.

A web page anywhere can send requests to a server on one's own machine, and rebind its own name to
that machine's address. So the name in `Host` has to be one that the server is known by, and a page
has to be the server's own, or one that is listed.
"""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from ...errors import ForbiddenError, MisdirectedError, SettingsError
from ...settings import Settings, split_list

_WEB = ("http", "https")


class Origins:
    """Checks `Host` and `Origin`."""

    def __init__(self, settings: Settings) -> None:
        bound = settings.serve_bind.rpartition(":")[0]
        self._hosts = {host.lower() for host in split_list(settings.serve_allowed_hosts)}
        # of an address that stands for all of them, none is known
        if bound not in ("", "0.0.0.0", "[::]", "::"):  # noqa: S104  # compared, not listened on
            self._hosts.add(bound.lower())
        self._origins = {_origin(one) for one in split_list(settings.serve_allowed_origins)}

    def check_host(self, host: str) -> None:
        """Refuse a request for another host."""
        name = _host_of(host)
        if name in self._hosts or host.lower() in self._hosts or is_loopback(name):
            return
        raise MisdirectedError(
            f"this server is not known as {host!r:.200}",
            remedy=f"if it should be: --allow-host {name or 'NAME'} (setting serve_allowed_hosts)",
        )

    def check_origin(self, origin: str, host: str) -> None:
        """Refuse a request of a web page that is neither the server's own nor listed."""
        if self.is_own(origin, host) or self.is_listed(origin):
            return
        raise ForbiddenError(
            f"pages of {origin!r:.200} may not call this server",
            remedy=f"if they should: --allow-origin {origin:.200} (setting serve_allowed_origins)",
        )

    def is_own(self, origin: str, host: str) -> bool:
        """Whether an origin is the server itself, as the request names it."""
        scheme, _, rest = origin.lower().partition("://")
        return scheme in _WEB and bool(rest) and rest == host.lower()

    def is_listed(self, origin: str) -> bool:
        """Whether pages of another origin may call this server, and read its answers."""
        return origin.lower() in self._origins


def is_loopback(host: str) -> bool:
    """Whether a host of a URL or an address to listen on is this machine.

    >>> is_loopback("[::1]"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _host_of(host: str) -> str:
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdigit() else host.lower()


def _origin(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in _WEB or not parts.netloc or parts.path not in ("", "/") or "*" in text:
        raise SettingsError(
            f"{text!r:.200} is not the origin of a web page",
            setting="serve_allowed_origins",
            remedy="write it like https://chat.example",
        )
    return f"{parts.scheme}://{parts.netloc}".lower()
