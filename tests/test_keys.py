"""Master keys: which are good enough, where they may come from, and what a guess at one costs."""

from __future__ import annotations

import base64
import json
import os
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

from remloom import Entity, Home, Memory
from remloom.errors import (
    ConflictError,
    CorruptStoreError,
    SchemaVersionError,
    SettingsError,
    WrongKeyError,
)
from remloom.serve.cli.app import program
from remloom.settings import Settings
from remloom.store.tenants import encryption
from remloom.store.tenants.encryption import ScryptCost

PHRASE = "four quinces and a pear"


def memory(home: Path, **options: object) -> Memory:
    return Memory.open(home, **{"embedder": "none", **options})  # type: ignore[arg-type]


def tenant_file(home: Path, tenant: str = "default") -> Path:
    return home / "tenants" / tenant / "tenant.json"


@pytest.fixture
def cheap(monkeypatch: pytest.MonkeyPatch) -> ScryptCost:
    """Passphrases cost little, so that a test is quick."""
    cost = ScryptCost(2**4, 8, 1)
    monkeypatch.setattr(encryption, "COST", cost)
    return cost


def test_a_guess_at_a_passphrase_costs_what_owasp_recommends_and_the_tenant_says_so(
    tmp_path: Path,
) -> None:
    memory(tmp_path, key=PHRASE).close()
    assert json.loads(tenant_file(tmp_path).read_text())["scrypt"] == {"n": 2**17, "r": 8, "p": 1}


def test_a_tenant_that_was_made_with_less_is_wrapped_anew_at_its_next_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cheap: ScryptCost
) -> None:
    with memory(tmp_path, key=PHRASE) as opened:
        opened.write([Entity(name="Ann")])
    before = json.loads(tenant_file(tmp_path).read_text())
    more = ScryptCost(2**6, 8, 1)
    monkeypatch.setattr(encryption, "COST", more)
    with pytest.raises(WrongKeyError):
        memory(tmp_path, key="four quinces and a plum")
    assert json.loads(tenant_file(tmp_path).read_text()) == before
    for _ in range(2):
        with memory(tmp_path, key=PHRASE) as opened:
            assert opened.lookup("Ann").records
        after = json.loads(tenant_file(tmp_path).read_text())
        assert after["scrypt"]["n"] == more.n
        assert after["salt"] != before["salt"]
    monkeypatch.setattr(encryption, "COST", cheap)  # an older program beside it lowers nothing
    memory(tmp_path, key=PHRASE).close()
    assert json.loads(tenant_file(tmp_path).read_text()) == after


def test_a_tenant_of_the_first_format_which_did_not_say_what_a_guess_costs_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encryption, "COST", ScryptCost(2**15, 8, 1))
    memory(tmp_path, key=PHRASE).close()
    first = json.loads(tenant_file(tmp_path).read_text())
    first.pop("scrypt", None)
    tenant_file(tmp_path).write_text(json.dumps(first | {"format": 1, "begun": True}))
    with memory(tmp_path, key=PHRASE) as opened:
        assert opened.write([Entity(name="Ann", type="person")])


def test_a_passphrase_is_stretched_once_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cheap: ScryptCost
) -> None:
    from cryptography.hazmat.primitives.kdf import scrypt

    stretched, derive = [], scrypt.Scrypt.derive
    monkeypatch.setattr(
        scrypt, "Scrypt", lambda **cost: stretched.append(cost) or _Scrypt(cost, derive)
    )
    for _ in range(3):
        memory(tmp_path, key=PHRASE).close()
    assert len(stretched) == 1
    assert stretched[0]["n"] == cheap.n


class _Scrypt:
    def __init__(self, cost: dict[str, object], derive: object) -> None:
        self.cost = cost

    def derive(self, material: bytes) -> bytes:
        import hashlib

        cost = self.cost
        return hashlib.scrypt(
            material, salt=cost["salt"], n=cost["n"], r=cost["r"], p=cost["p"], dklen=32
        )  # type: ignore[arg-type]


@pytest.mark.parametrize("change", [{"n": 2**17 - 1}, {"n": 2**40}, {"r": 0}, {"p": 10**9}])
def test_a_damaged_cost_is_an_error_and_takes_no_memory(
    tmp_path: Path, change: dict[str, int], cheap: ScryptCost
) -> None:
    memory(tmp_path, key=PHRASE).close()
    file = json.loads(tenant_file(tmp_path).read_text())
    tenant_file(tmp_path).write_text(json.dumps(file | {"scrypt": file["scrypt"] | change}))
    with pytest.raises(CorruptStoreError, match=r"tenant\.json is damaged"):
        memory(tmp_path, key=PHRASE)


@pytest.mark.parametrize("change", [{"wrapped_key": "zz"}, {"salt": "0"}, {"wrapped_key": 7}])
def test_a_damaged_key_is_an_error(
    tmp_path: Path, change: dict[str, object], cheap: ScryptCost
) -> None:
    memory(tmp_path, key=PHRASE).close()
    file = json.loads(tenant_file(tmp_path).read_text())
    tenant_file(tmp_path).write_text(json.dumps(file | change))
    with pytest.raises(CorruptStoreError, match=r"tenant\.json is damaged"):
        memory(tmp_path, key=PHRASE)


def test_a_tenant_file_of_a_newer_remloom_is_refused_with_both_versions(tmp_path: Path) -> None:
    memory(tmp_path).close()
    tenant_file(tmp_path).write_text('{"tenant": "default", "format": 99}')
    with pytest.raises(SchemaVersionError, match="format 99"):
        memory(tmp_path)


# -- which are good enough -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "weak", ["x", "secret", "aaaaaaaaaaaaaaaaaaaa", "abababababababab", "0123456789a", "0" * 64]
)
def test_a_weak_key_makes_no_tenant_and_opens_the_one_that_has_it_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, weak: str, cheap: ScryptCost
) -> None:
    with pytest.raises(SettingsError, match="could guess") as caught:
        memory(tmp_path, key=weak)
    assert "remloom tenant key" in caught.value.remedy
    assert Home(tmp_path).tenants() == []
    with monkeypatch.context() as patched:
        patched.setattr(encryption, "refuse_weak", lambda _: None)
        Home(tmp_path, key=weak).create("default")
    with pytest.warns(UserWarning, match="copy tenant 'default' to one with a better key"):
        memory(tmp_path, key=weak).close()


def test_256_bits_in_hex_or_base64_are_used_as_they_are(tmp_path: Path) -> None:
    bits = bytes(range(32))
    spellings = (
        bits.hex(),
        bits.hex().upper(),
        base64.b64encode(bits).decode(),
        base64.urlsafe_b64encode(bits).decode(),
    )
    for number, key in enumerate(spellings):
        memory(tmp_path, tenant=f"t{number}", key=key).close()
        assert "salt" not in json.loads(tenant_file(tmp_path, f"t{number}").read_text())
        for other in spellings:
            memory(tmp_path, tenant=f"t{number}", key=other).close()


@pytest.mark.parametrize("empty", ["", " ", "\n"])
def test_a_key_that_is_set_and_empty_is_an_error_and_makes_no_plain_tenant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty: str
) -> None:
    monkeypatch.setenv("REMLOOM_KEY", empty)
    with pytest.raises(SettingsError, match="REMLOOM_KEY is set and empty"):
        memory(tmp_path)
    monkeypatch.delenv("REMLOOM_KEY")
    (tmp_path / "remloom.toml").write_text(f"key = {json.dumps(empty)}")
    with pytest.raises(SettingsError, match="has an empty key"):
        memory(tmp_path)
    assert Home(str(tmp_path / "other")).tenants() == []
    assert not (tmp_path / "tenants").exists()


# -- files -----------------------------------------------------------------------------------------

POSIX = pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")


@POSIX
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_key_file_that_others_may_read_is_refused_unless_that_is_said(
    tmp_path: Path, mode: int
) -> None:
    file = tmp_path / "key"
    Home.new_key(file)
    file.chmod(mode)
    with pytest.raises(SettingsError, match="may be read by others") as caught:
        memory(tmp_path / "home", key=f"file:{file}")
    assert f"chmod 600 {file}" in caught.value.remedy
    memory(tmp_path / "home", key=f"shared-file:{file}").close()
    file.chmod(0o600)
    memory(tmp_path / "home", key=f"file:{file}").close()


@POSIX
def test_a_key_is_made_in_a_file_of_its_owner_and_never_over_another(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        told = CliRunner().invoke(program, ["tenant", "key", str(tmp_path / "key")])
    finally:
        os.umask(before)
    assert told.exit_code == 0
    made = (tmp_path / "key").read_text().strip()
    assert len(bytes.fromhex(made)) == 32
    assert made not in told.output
    assert f"REMLOOM_KEY=file:{tmp_path / 'key'}" in told.output
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    with pytest.raises(ConflictError):
        Home.new_key(tmp_path / "key")
    assert (tmp_path / "key").read_text().strip() == made


@POSIX
@pytest.mark.parametrize("key", ["", "5a" * 32])
def test_a_tenants_files_are_its_owners_alone_whatever_the_umask(tmp_path: Path, key: str) -> None:
    before = os.umask(0)
    try:
        with memory(tmp_path / "a" / "home", key=key or None) as opened:
            opened.write([Entity(name="Ann")])
            opened.lookup("Ann")
            modes = {
                path: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "a").rglob("*")
            }
            opened.admin.backup(tmp_path / "copy")
    finally:
        os.umask(before)
    assert {path.name for path in modes} >= {
        "home",
        "default",
        "memory.db",
        "memory.db-wal",
        "tenant.json",
    }
    copied = {
        path: stat.S_IMODE(path.stat().st_mode)
        for path in (tmp_path / "copy", *(tmp_path / "copy").iterdir())
    }
    for path, mode in (modes | copied).items():
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_settings_do_not_show_a_key(tmp_path: Path) -> None:
    assert PHRASE not in repr(Settings(key=PHRASE))
