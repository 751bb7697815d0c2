"""API keys: shown once, kept as a hash, ended by time, revocation, or the end of their tenant."""

import json
import re
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner

from remloom import Home
from remloom.errors import (
    AuthenticationError,
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    SettingsError,
    TenantNotFoundError,
    UnknownNameError,
)
from remloom.serve.cli.app import program
from remloom.serve.guard.authentication import first_key
from remloom.settings import Settings
from remloom.tenancy import api_keys
from remloom.tenancy.api_keys import SCOPES, ApiKeys


@pytest.fixture
def settings(tmp_path):
    for tenant in ("acme", "other"):
        Home(tmp_path).create(tenant)
    return Settings(home=str(tmp_path), tenant="acme")


@pytest.fixture
def keys(settings):
    with ApiKeys(settings) as opened:
        yield opened


def test_a_key_is_shown_once_and_kept_as_a_hash(keys, tmp_path):
    made = keys.create("laptop", ["write", "read"], tenant="acme")
    id, secret = re.fullmatch(r"rlm_(\w{12})_([\w-]{43})", made.key).groups()
    assert id == made.id
    assert made.scopes == ("read", "write")
    assert keys.check(made.key) == keys.list()[0]
    assert secret not in repr(made)
    assert secret not in repr(keys.list())
    keys.close()
    for file in (tmp_path / "server").rglob("*"):
        assert file.is_dir() or secret.encode() not in file.read_bytes()
        assert not file.stat().st_mode & 0o077


def test_every_key_differs(keys):
    made = [keys.create("k", ["read"], tenant="acme").key for _ in range(20)]
    assert len(set(made)) == 20


@pytest.mark.parametrize("given", ["", "rlm_", "Bearer", "rlm_000000000000_" + "A" * 43, "\0", "é"])
def test_what_is_no_key_opens_nothing(keys, given):
    keys.create("laptop", ["read"], tenant="acme")
    with pytest.raises(AuthenticationError, match="no API key"):
        keys.check(given)


def test_a_key_with_one_letter_changed_opens_nothing(keys):
    key = keys.create("laptop", ["read"], tenant="acme").key
    for at in (5, 20, -1):
        letters = list(key)
        letters[at] = "0" if letters[at] != "0" else "1"
        with pytest.raises(AuthenticationError):
            keys.check("".join(letters))


def test_a_revoked_key_is_refused_at_once_by_every_process(keys, settings):
    made = keys.create("laptop", ["read"], tenant="acme")
    keys.check(made.key)
    with ApiKeys(settings) as others:
        others.revoke(made.id)
    with pytest.raises(AuthenticationError):
        keys.check(made.key)
    # a use that is noted late does not bring it back
    keys.note_use(made.id)
    assert keys.list() == []
    with pytest.raises(NotFoundError):
        keys.revoke(made.id)


def test_a_key_ends_at_its_time(keys, monkeypatch):
    made = keys.create("laptop", ["read"], tenant="acme", expires="30d")
    assert 29 < (made.expires_at - datetime.now(UTC)).days + 1 <= 30
    assert keys.check(made.key)

    class Later(datetime):
        @classmethod
        def now(cls, zone=None):
            return made.expires_at

    monkeypatch.setattr(api_keys, "datetime", Later)
    with pytest.raises(AuthenticationError, match="ended at"):
        keys.check(made.key)


@pytest.mark.parametrize("expires", ["soon", "2020-01-01", "0d", "99999999999d"])
def test_an_end_that_is_none_is_refused(keys, expires):
    with pytest.raises(InvalidInputError):
        keys.create("laptop", ["read"], tenant="acme", expires=expires)
    assert keys.list() == []


def test_when_a_key_was_used_is_noted(keys):
    made = keys.create("laptop", ["read"], tenant="acme")
    assert keys.list()[0].last_used_at is None
    keys.note_use(made.id)
    assert keys.list()[0].last_used_at >= made.created_at


def test_a_key_of_no_use_is_not_made(keys):
    with pytest.raises(UnknownNameError, match="reed"):
        keys.create("k", ["reed"], tenant="acme")
    with pytest.raises(InvalidInputError):
        keys.create("k", [], tenant="acme")
    with pytest.raises(InvalidInputError):
        keys.create(" ", ["read"], tenant="acme")
    with pytest.raises(InvalidInputError, match="no tenant"):
        keys.create("k", ["read", "write"])
    with pytest.raises(TenantNotFoundError):
        keys.create("k", ["read"], tenant="nobody")
    assert [info.name for info in Home(keys._settings.home).tenants()] == ["acme", "other"]


def test_whoever_has_one_tenant_sees_and_makes_keys_of_that_one_alone(keys, settings):
    theirs = keys.create("theirs", ["read"], tenant="other")
    with ApiKeys(settings, tenant="acme", scopes=("read", "admin")) as mine:
        made = mine.create("mine", ["read"])
        assert made.tenant == "acme"
        assert [key.name for key in mine.list()] == ["mine"]
        with pytest.raises(ForbiddenError):
            mine.create("more", ["read"], tenant="other")
        with pytest.raises(ForbiddenError, match="'write'"):
            mine.create("more", ["write"])
        with pytest.raises(NotFoundError):
            mine.revoke(theirs.id)
    assert keys.check(theirs.key)


def test_a_tenant_that_is_made_anew_has_no_keys_of_the_old_one(keys, settings):
    made = keys.create("laptop", ["read"], tenant="acme")
    kept = keys.create("kept", ["read"], tenant="other")
    Home(settings.home).delete("acme")
    Home(settings.home).create("acme")
    with pytest.raises(AuthenticationError):
        keys.check(made.key)
    assert keys.check(kept.key)


def test_keys_are_as_encrypted_as_their_home(tmp_path):
    key = Home.new_key()
    Home(tmp_path, key=key).create("acme")
    with ApiKeys(Settings(home=str(tmp_path), key=key)) as keys:
        made = keys.create("a-name-to-find", ["read"], tenant="acme")
    (database,) = (tmp_path / "server").rglob("memory.db")
    assert b"a-name-to-find" not in database.read_bytes()
    with ApiKeys(Settings(home=str(tmp_path), key=key)) as keys:
        assert keys.check(made.key).name == "a-name-to-find"


def test_a_home_without_keys_is_not_written_to(keys, tmp_path):
    assert keys.list() == []
    with pytest.raises(AuthenticationError):
        keys.check("rlm_000000000000_" + "A" * 43)
    assert not (tmp_path / "server").exists()


# -- the first key ---------------------------------------------------------------------------------


def test_the_first_start_on_loopback_makes_a_key_and_its_tenant_once(tmp_path):
    settings = Settings(home=str(tmp_path), tenant="me", serve_bind="127.0.0.1:0")
    with ApiKeys(settings) as keys:
        made = first_key(keys, settings)
        assert keys.check(made.key).tenant == "me"
        assert first_key(keys, settings) is None
    assert [info.name for info in Home(tmp_path).tenants()] == ["me"]


@pytest.mark.parametrize("bind", ["0.0.0.0:8765", "[::]:8765", "192.168.1.5:80", ":80", "host:1"])
def test_another_address_needs_a_key_before_it_starts(tmp_path, bind):
    settings = Settings(home=str(tmp_path), serve_bind=bind)
    with ApiKeys(settings) as keys:
        with pytest.raises(SettingsError, match="needs an API key"):
            first_key(keys, settings)
        Home(tmp_path).create("acme")
        keys.create("k", ["read"], tenant="acme")
        assert first_key(keys, settings) is None


# -- the command line ------------------------------------------------------------------------------


def remloom(home, *arguments):
    result = CliRunner().invoke(program, ["--home", str(home), *arguments])
    return result.exit_code, result.output


def test_keys_on_the_command_line(settings, keys):
    home = settings.home
    code, key = remloom(home, "keys", "create", "laptop", "--tenant", "acme", "--scopes", "read")
    assert code == 0
    assert keys.check(key.strip()).scopes == ("read",)
    code, shown = remloom(home, "keys", "list", "--json")
    (listed,) = json.loads(shown)
    assert (listed["name"], listed["tenant"]) == ("laptop", "acme")
    assert key.strip() not in shown
    assert "laptop" in remloom(home, "keys", "list")[1]
    assert remloom(home, "keys", "revoke", listed["id"])[0] == 0
    assert remloom(home, "keys", "list")[1] == "no API keys\n"
    code, made = remloom(home, "keys", "create", "ops", "--all-tenants", "--scopes", "admin")
    assert keys.check(made.strip()).tenant == ""


def test_all_scopes_are_known():
    assert SCOPES == ("read", "write", "forget", "dream", "admin", "metrics")
