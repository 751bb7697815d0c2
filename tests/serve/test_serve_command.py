"""`remloom serve`: what it says when it cannot start."""

import socket

import pytest
from click.testing import CliRunner

from remloom.serve.cli.app import program
from remloom.settings import Settings
from remloom.tenancy.api_keys import ApiKeys


def serve(home, bind):
    return CliRunner().invoke(program, ["--home", str(home), "serve", "--bind", bind])


def test_a_port_in_use_is_told_with_the_remedy_and_no_key_is_made(tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        bind = f"127.0.0.1:{other.getsockname()[1]}"
        result = serve(tmp_path, bind)
    assert result.exit_code == 2
    assert f"cannot listen at {bind}: address already in use" in result.stderr
    assert "give another port" in result.stderr
    with ApiKeys(Settings(home=str(tmp_path))) as keys:
        assert keys.list() == []


@pytest.mark.parametrize("bind", ["nonsense", "127.0.0.1:99999", "127.0.0.1:"])
def test_what_is_no_address_is_told_with_an_example(tmp_path, bind):
    result = serve(tmp_path, bind)
    assert result.exit_code == 2
    assert f"{bind!r} is no address to listen at" in result.stderr
    assert "127.0.0.1:8765" in result.stderr
