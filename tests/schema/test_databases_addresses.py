"""Addresses of databases, and the secrets in them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from remloom.errors import InvalidInputError, MissingExtraError, RemloomError
from remloom.schema.databases.addresses import parse_address
from remloom.schema.databases.opening import open_database


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql+psycopg://me:p%40ss@h:5/db?sslmode=require", "postgresql+psycopg://me@h:5/db?sslmode=require"),
        ("postgresql:///db?host=%2Ftmp&user=me&password=p%40ss", "postgresql:///db?host=%2Ftmp&user=me"),
        ("mongodb://me:p%40ss@h1:1,h2:2/db?replicaSet=r", "mongodb://me@h1:1,h2:2/db?replicaSet=r"),
        ("snowflake://me:p%40ss@a/D/S?warehouse=W&token=t0ken", "snowflake://me@a/D/S?warehouse=W"),
    ],
    ids=["postgresql", "in-the-query", "several-hosts", "snowflake"],
)  # fmt: skip
def test_an_address_is_kept_without_its_secrets(url: str, shown: str) -> None:
    address = parse_address(url)
    assert (address.url, address.password) == (shown, "p@ss")
    assert "p@ss" not in repr(address)
    assert parse_address(address.url).url == shown
    said = address.clean(f"cannot open {url} with p@ss and p%40ss")
    assert not any(secret in said for secret in ("p@ss", "p%40ss", "t0ken"))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me@h/db?sslmode=require&sig=s3cret",
        "mysql://me@h/db?auth=s3cret",
        "mongodb://h/db?replicaSet=r&key=s3cret",
        "snowflake://me@a/D/S?warehouse=W&signature=s3cret",
    ],
    ids=["postgresql", "mysql", "mongodb", "snowflake"],
)
def test_an_option_that_nobody_knows_is_taken_for_a_secret(url: str) -> None:
    address = parse_address(url)
    assert "s3cret" not in f"{address.url} {address!r} {address.clean('refused: s3cret')}"
    assert "s3cret" in address.secrets.values()


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///none.db?key=s3cret",
        "duckdb:///none.duckdb?motherduck_token=s3cret",
        "Server=h;User Id=sa;Password=s3cret;",
        "mssql+pymssql://sa:s3cret@h/db",
        "jdbc:oracle:thin:scott/s3cret@h:1521/x",
    ],
    ids=["sqlite", "duckdb", "connection-string", "mssql", "jdbc"],
)
def test_what_is_not_there_or_cannot_be_read_is_told_without_its_secrets(url: str) -> None:
    with pytest.raises(RemloomError) as caught:
        parse_address(url)
    assert "s3cret" not in f"{caught.value} {caught.value.fields}"


def test_an_option_that_mysql_would_not_heed_is_refused() -> None:
    pytest.importorskip("pymysql")
    with pytest.raises(InvalidInputError, match="ssl_mode is no option") as caught:
        open_database("mysql://me@127.0.0.1:1/crm?ssl_mode=REQUIRED")
    assert "REQUIRED" not in str(caught.value)


def test_what_is_no_url_of_a_database_says_what_would_be_one() -> None:
    with pytest.raises(InvalidInputError, match="%40"):
        parse_address("mysql://me:p@ss:word@host:port/db")
    with pytest.raises(InvalidInputError, match="oracle://"):
        parse_address("oracle://me:hidden@host/db")


@pytest.mark.parametrize(
    ("module", "url", "extra"),
    [
        ("sqlalchemy", "postgresql://host/db", "sql"),
        ("psycopg", "postgresql://host/db", "sql"),
        ("pymysql", "mysql://host/db", "mysql"),
        ("duckdb", "csv:///", "duckdb"),
        ("pymongo", "mongodb://host/db", "mongo"),
        ("snowflake", "snowflake://me@host/db", "snowflake"),
    ],
)
def test_what_is_not_installed_is_named_by_its_extra(
    module: str, url: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError) as caught:
        open_database(f"csv:///{tmp_path}" if url == "csv:///" else url)
    assert f"remloom[{extra}]" in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:a/s3cret@127.0.0.1:9/crm",
        "mongodb://me:a/s3cret@127.0.0.1:9/crm",
        "mysql://me:1?s3cret@127.0.0.1:9/crm",
        "postgresql://me:1#s3cret@127.0.0.1:9/crm",
        "postgresql:/me:s3cret@127.0.0.1:9/crm",
        "me:s3cret@127.0.0.1/crm",
        "sqlite:///me:s3cret@host/crm.db",
        "mongodb://me:s3cret@127.0.0.1:port/crm",
    ],
)
def test_a_password_is_not_told_of_a_url_that_is_none(url: str) -> None:
    with pytest.raises(RemloomError) as caught:
        parse_address(url)
    assert "s3cret" not in f"{caught.value} {caught.value.fields}"


def test_a_parameter_that_nobody_knows_is_not_shown() -> None:
    address = parse_address("postgresql://me@host/crm?sslmode=require&shared_sign=s3cret")
    assert address.url == "postgresql://me@host/crm?sslmode=require"
    assert address.secrets == {"shared_sign": "s3cret"}
    assert "s3cret" not in address.clean("refused: shared_sign=s3cret")
