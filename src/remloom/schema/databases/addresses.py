"""Addresses of databases: the parts of a URL or a path, with its secrets apart."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

import msgspec
from msgspec import Struct

from ...errors import InvalidInputError, SourceError

# the scheme of a URL -> the kind of its database
_KINDS = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "mysql": "mysql",
    "mariadb": "mysql",
    "tidb": "mysql",
    "sqlite": "sqlite",
    "duckdb": "duckdb",
    "csv": "files",
    "parquet": "files",
    "files": "files",
    "mongodb": "mongodb",
    "mongodb+srv": "mongodb",
    "snowflake": "snowflake",
}
_SUFFIXES = (".csv", ".tsv", ".parquet", ".csv.gz", ".tsv.gz")
_USERINFO = re.compile(r"//[^/?#]*@")
# the password of what was meant as a URL or a connection string, and is none
_PASSWORD = re.compile(r"(?<=:)(?!//)[^\s]*@")
_ASSIGNED = re.compile(r"((?:password|pwd|secret|token|key)\s*=\s*)[^;&\s]+", re.IGNORECASE)
_SHORTEST = 4  # characters of a value that is taken out of texts, unless it is the password


class Address(Struct, frozen=True, kw_only=True):
    """Where a database is. Shown without its secrets."""

    kind: str  # of database
    url: str  # with neither password nor other secrets
    location: str = ""  # the path of a file or folder
    password: str = ""
    # the options of the URL's query that are not known to be harmless
    secrets: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"Address({self.url!r})"

    def clean(self, text: str) -> str:
        """Take secrets out of a text, such as the message of a driver.

        >>> parse_address("mysql://me:s3cret@host/crm").clean("denied: mysql://me:s3cret@host")
        'denied: mysql://***@host'
        """
        text = _USERINFO.sub("//***@", text)
        further = [value for value in self.secrets.values() if len(value) >= _SHORTEST]
        for secret in (self.password, *further):
            for form in {secret, quote(secret, safe=""), repr(secret)[1:-1]}:
                if form:
                    text = text.replace(form, "***")
        return text

    def database(self, remedy: str) -> str:
        """The name of the database in the URL; SourceError with this remedy if it has none."""
        name: str = self.parts()["database"]
        if not name:
            raise SourceError(f"{self.url} names no database", uri=self.url, remedy=remedy)
        return name

    def parts(self) -> dict[str, Any]:
        """Split it into user, host, port (None: none, or several), database and options."""
        split = urlsplit(self.url)
        host = split.netloc.rpartition("@")[2]
        return {
            "user": unquote(split.username or ""),
            "host": split.hostname or "",
            "port": None if "," in host else split.port,
            "database": unquote(split.path.lstrip("/")),
            "options": dict(parse_qsl(split.query)),
        }


def is_address(text: str) -> bool:
    """Whether a text is the URL of a database that can be read.

    >>> is_address("postgresql://me@host/crm"), is_address("file:/run/secrets/crm")
    (True, False)
    """
    scheme, separator, _ = text.partition("://")
    return bool(separator) and _kind_of(scheme) is not None


def _kind_of(scheme: str) -> str | None:
    name = scheme.lower()
    return _KINDS.get(name) or _KINDS.get(name.partition("+")[0])


def parse_address(url: str) -> Address:
    """Read the URL of a database, or the path of a file or folder; see `open_database`."""
    scheme, separator, _ = url.partition("://")
    if not separator:
        return _of_path(Path(url).expanduser(), url)
    kind = _kind_of(scheme)
    if kind is None:
        raise InvalidInputError(
            f"{scheme[:40]}:// is no database that can be read",
            remedy="readable are " + ", ".join(f"{name}://" for name in _KINDS),
        )
    if kind in ("sqlite", "duckdb", "files"):
        return _of_file(kind, url, scheme)
    return _of_server(kind, url)


def _of_server(kind: str, url: str) -> Address:
    try:
        split = urlsplit(url)
        password = unquote(split.password or "")
        # where there are several hosts, their ports are the driver's to read
        if kind in ("mysql", "snowflake") or "," not in split.netloc:
            _ = split.port
    except ValueError:
        raise _unreadable(kind) from None
    if _is_cut(split):
        raise _unreadable(kind)
    parameters = parse_qsl(split.query, keep_blank_values=True)
    secrets = {name: value for name, value in parameters if name.lower() not in _options()[kind]}
    shown = [(name, value) for name, value in parameters if name not in secrets]
    host = split.netloc.rpartition("@")[2]
    user = split.username or ""
    netloc = f"{user}@{host}" if user else host
    query = f"?{urlencode(shown)}" if shown else ""
    return Address(
        kind=kind,
        url=f"{split.scheme}://{netloc}{split.path}{query}",
        password=password or secrets.pop("password", ""),
        secrets=secrets,
    )


@cache
def _options() -> Mapping[str, frozenset[str]]:
    """The options of URLs that are not secrets, in lower case, by the kind of database."""
    data = files(__package__).joinpath("options.toml").read_bytes()
    return msgspec.toml.decode(data, type=dict[str, frozenset[str]])


def _unreadable(kind: str) -> InvalidInputError:
    return InvalidInputError(
        f"the URL of this {kind} database cannot be read",
        remedy="write it as scheme://user@host:port/database, with special characters of "
        "user and password as %40 and %2F",
    )


def _is_cut(split: SplitResult) -> bool:
    """Whether a password with a plain "/", "?" or "#" ends the host, and would be shown."""
    rest = f"{split.path}{split.fragment}"
    return "@" in rest or ("@" in split.query and "@" not in split.netloc)


def _of_file(kind: str, url: str, scheme: str) -> Address:
    path = unquote(url.partition("://")[2].partition("?")[0])
    # three slashes and a relative path, as SQLAlchemy has it; four, or three, and an absolute one
    relative = Path(path[1:] if path.startswith("/") else path).expanduser()
    location = relative if relative.exists() else Path(path).expanduser()
    if not location.exists():
        raise _missing(location, url)
    location = location.resolve()
    return Address(kind=kind, url=_file_url(scheme, str(location)), location=str(location))


def _of_path(path: Path, address: str) -> Address:
    if not path.exists():
        raise _missing(path, address)
    location = str(path.resolve())
    kind = _kind_of_file(path)
    return Address(kind=kind, url=_file_url(kind, location), location=location)


def _file_url(scheme: str, location: str) -> str:
    # four slashes: an absolute path
    return f"{scheme}:///{quote(location)}"


def _kind_of_file(path: Path) -> str:
    if path.is_dir() or path.name.lower().endswith(_SUFFIXES):
        return "files"
    try:
        with path.open("rb") as stream:
            head = stream.read(16)
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}", uri=str(path)) from error
    if head.startswith(b"SQLite format 3\0"):
        return "sqlite"
    if head[8:12] == b"DUCK":
        return "duckdb"
    raise SourceError(
        f"{path} is no database that can be read",
        uri=str(path),
        remedy="give a database of SQLite or DuckDB, a folder or file of CSV or Parquet, or a URL",
    )


def _missing(path: Path, address: str) -> SourceError:
    # what follows a "?" is in no path
    location = address.partition("?")[0] if "://" in address else address
    shown, uri = (
        _ASSIGNED.sub(r"\1***", _PASSWORD.sub("***@", str(text))) for text in (path, location)
    )
    return SourceError(f"there is no {shown}", uri=uri, remedy="check the path; nothing was made")
