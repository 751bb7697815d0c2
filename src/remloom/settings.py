"""One value with every setting, and the only code that reads the environment.

Later wins: defaults, the TOML file, the environment (`REMLOOM_HOME`, …), arguments.
The TOML file is `remloom.toml` in the home folder, or the file that `REMLOOM_CONFIG` names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from .errors import SettingsError, UnknownNameError

DEFAULT_EMBEDDER = "minilm"  # of a memory that has no vectors yet

_PREFIX = "REMLOOM_"
_SOURCE = "REMLOOM_SOURCE_"  # and the name of a database that is there: its password
# the settings that are one of a few words
_CHOICES = {
    "names": ("rules", "spacy"),
    "model_calls": ("allowed", "never"),
    "recall_order": ("learned", "plain"),
    "synchronous": ("full", "normal"),
}
_PASSWORD = re.compile(r"(?<=:)[^:@/]*(?=@)|(?<=password=)[^&]*")  # within a URL


class TaskSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a language model does one task, if not as its prompt file says. A table of the TOML file:

    [llm_tasks.dream]
    model = "anthropic:claude-sonnet-4-5"
    temperature = 1.0
    max_tokens = 600
    """

    model: str = ""  # empty: llm_model
    temperature: float | None = None
    max_tokens: int | None = None  # of the reply


class Settings(Struct, frozen=True, kw_only=True):
    """Settings of one opened memory, given as arguments, as `REMLOOM_<NAME>`, or in TOML."""

    home: str = ""  # folder of the tenants, or postgresql://…; empty: the user's data folder
    tenant: str = "default"
    # master key: 256 bits in hex or base64, a passphrase, or `file:`, `keyring:`; empty: no
    # encryption
    key: str = ""
    # minilm | bge | openai:<model> | fastembed:<model> | none; empty: the one that made a memory's
    # vectors, and minilm for a new memory
    embedder: str = ""
    embedder_base_url: str = ""  # empty: llm_base_url
    embedder_api_key: str = ""  # empty: llm_api_key
    # seconds that a question waits for the embedder and the token encoder, together; 0: as long as
    # they take
    embedder_timeout: Annotated[float, Meta(ge=0, le=86_400)] = 20.0
    # of late interaction: colbert | none; empty: colbert beside an embedder that has a name
    token_encoder: str = ""
    # of turns of chats, in recall: learned, or plain, by the weights of the search's parts alone
    recall_order: str = "learned"
    reranker: str = "none"  # of recall: none | local | onnx:<folder> | fastembed:<model> | llm
    names: str = "rules"  # how names are found in what is read: rules, or spacy (extra `ner`)
    model_dir: str = ""  # folder with the bundled embedder's files, when not from its package
    llm_model: str = ""  # <provider>:<model>, local:<GGUF file> or local:smollm2; empty: none
    llm_base_url: str = ""  # of an OpenAI-compatible endpoint; empty: the provider's own
    llm_api_key: str = ""  # empty: where the provider's client looks for it (OPENAI_API_KEY, …)
    llm_timeout: float = 120.0  # seconds for one request
    llm_retries: int = 5  # of a request that met 429, 5xx, no connection or the timeout
    llm_concurrency: int = 8  # requests at once
    llm_ledger_days: int = 90  # after which what the ledger says of calls is added up by day
    llm_tasks: dict[str, TaskSettings] = {}  # by task; TOML only
    # generations of what is derived: what has reached it is built upon no further
    dream_depth: int = 6
    profile_subject: str = "me"  # what the user's own profile is called
    # names that the user goes by in chats, separated by commas: what they say is said of the user
    profile_names: str = ""
    model_calls: str = "allowed"  # never: no language model can be called, whatever is set
    # what a file or chat said before it was read again is kept, for AS OF, in its place
    keep_versions: bool = False
    # keys, passwords, card numbers and the like are masked in everything that is read
    mask_secrets: bool = True
    # what is not read inside a folder, parted by commas: folders and files that agents write
    read_exclude: str = "Arcturus, Agent reports, Reports by agents"
    # tenants of what agents work on, by folder or address of a remote repository; TOML only
    hooks_projects: dict[str, str] = {}
    threads: int = 2  # of models that run in this process
    # seconds of CPU to convert one PDF, DOCX or HTML; 10 more for each megabyte of it
    read_timeout: float = 30.0
    read_memory_mb: int = 1024  # that the conversion of one may take
    read_elements: int = 500_000  # tags or objects that one may have
    # full: a returned write is on disk; normal: it survives a crash of the process only
    synchronous: str = "full"
    cache_mb: int = 256  # page cache of the database for reading; half as much again while writing
    busy_timeout: float = 30.0  # seconds to wait for another process's write
    pool_size: int = 8  # connections to PostgreSQL at most
    serve_bind: str = "127.0.0.1:8765"  # where `remloom serve` listens
    # of a server; hosts and origins are parted by commas
    serve_allowed_hosts: str = ""  # that requests may name, beside those of loopback
    serve_allowed_origins: str = ""  # of pages elsewhere that may call it, as https://chat.example
    serve_rate: float = 600.0  # requests a second of one key; 0: no limit
    serve_timeout: float = 60.0  # seconds for a call, unless it is one that may take minutes
    serve_heavy: int = 4  # calls that may take minutes, at once
    serve_open_tenants: int = 64  # memories that a server keeps open
    serve_upload_mb: int = 100  # of one uploaded file or import
    serve_audit_days: int = 365  # that the audit log is kept; 0: for ever
    # folders of the server that a key with scope `admin` may have read in, parted by commas
    serve_read_roots: str = ""
    # of an OAuth 2.1 issuer whose access tokens a server takes
    serve_oauth_issuer: str = ""  # as tokens name it
    serve_oauth_jwks_url: str = ""  # where its public keys are
    serve_oauth_resource: str = ""  # the URL of this server, as tokens name it
    serve_oauth_tenant_claim: str = "tenant"  # the claim that says whose memory it is
    serve_oauth_scopes: str = ""  # theirs=ours, parted by commas; empty: they have our names
    serve_workers: int = 1  # threads of a server that do jobs; 0: `remloom schedule run` does
    hnsw_m: int = 16
    hnsw_ef_construction: int = 200
    hnsw_ef: int = 50
    debug: bool = False  # the command line shows the traceback of an unexpected error

    @classmethod
    def load(cls, **values: Any) -> Settings:
        """Load the settings from the TOML file, the environment and arguments.

        An argument of None is not given.

        Raises:
            UnknownNameError: an argument or TOML key that is not a setting, or a variable that is
                nearly one.
            SettingsError: a value of the wrong type.
        """
        arguments = {name: value for name, value in values.items() if value is not None}
        for name in arguments:
            if name not in cls.__struct_fields__:
                raise UnknownNameError("setting", name, cls.__struct_fields__)
        if arguments.get("home") == "":
            raise SettingsError(
                "the home given is empty", setting="home", remedy="leave it out to have the default"
            )
        environment = _environment(os.environ)
        home = arguments.get("home") or environment.get("home")
        merged: dict[str, Any] = {**_toml(home), **environment, **arguments}
        if not merged.get("home"):
            merged["home"] = _default_home()
        merged["home"] = os.path.expanduser(os.fspath(merged["home"]))
        try:
            settings = msgspec.convert(merged, cls, strict=False)
        except msgspec.ValidationError as error:
            raise _wrong_type(error) from error
        for name, choices in _CHOICES.items():
            value = getattr(settings, name)
            if value not in choices:
                raise SettingsError(
                    f"setting {name} is {value!r}",
                    setting=name,
                    remedy=f"use {' or '.join(map(repr, choices))}",
                )
        return settings

    def __repr__(self) -> str:
        shown = [f"home={self.shown_home!r}"]
        for name in self.__struct_fields__[1:]:
            value = getattr(self, name)
            # keys are nobody's business, in a log least of all
            hidden = name.endswith("key") and value
            shown.append(f"{name}={'***' if hidden else repr(value)}")
        return f"Settings({', '.join(shown)})"

    @property
    def shown_home(self) -> str:
        """`home`, without the password that a URL may have."""
        return _PASSWORD.sub("***", self.home) if _is_url(self.home) else self.home


def _wrong_type(error: msgspec.ValidationError) -> SettingsError:
    name = str(error).rpartition("$.")[2].rstrip("`").partition("[")[0] or "?"
    remedy = f"set {_PREFIX}{name.upper()} or the argument {name} to a value of that type"
    if name == "llm_tasks":
        fields = ", ".join(TaskSettings.__struct_fields__)
        remedy = f"a table [llm_tasks.<task>] of the TOML file takes {fields}"
    problem = str(error).partition(" - ")[0]
    return SettingsError(f"setting {name}: {problem}", setting=name, remedy=remedy)


def split_list(text: str) -> list[str]:
    """Split a setting that is a list.

    >>> split_list("a.example, b.example")
    ['a.example', 'b.example']
    """
    return [part.strip() for part in text.split(",") if part.strip()]


def source_password(name: str) -> str | None:
    """Return what `REMLOOM_SOURCE_<NAME>` says is the password of a source: itself, or `file:`,
    `keyring:`; None if it says nothing."""
    variable = re.sub(r"\W", "_", name).upper()
    return os.environ.get(f"{_SOURCE}{variable}") or None


def calls_forbidden(settings: Settings) -> bool:
    """Whether no language model may be called.

    `REMLOOM_MODEL_CALLS=never` counts for settings made without the environment too, so that one
    switch is enough.
    """
    return "never" in (settings.model_calls, os.environ.get(_PREFIX + "MODEL_CALLS"))


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Take the settings out of the environment, and refuse variables that are nearly one."""
    values = {}
    for variable, value in variables.items():
        name = variable[len(_PREFIX) :].lower()
        if variable == f"{_PREFIX}KEY" and not value.strip():
            raise SettingsError(
                f"{variable} is set and empty, and would leave a memory unencrypted",
                setting="key",
                remedy=f"set it to the master key, or unset {variable} to go without one",
            )
        if not variable.startswith(_PREFIX) or variable.startswith(_SOURCE) or not value:
            continue
        if name in Settings.__struct_fields__:
            values[name] = value
            continue
        from difflib import get_close_matches

        # REMLOOM_KEYS must not leave a memory unencrypted. What is unlike any setting is of another
        # program.
        nearest = get_close_matches(name, Settings.__struct_fields__, n=1, cutoff=0.8)
        if nearest:
            meant = _PREFIX + nearest[0].upper()
            raise UnknownNameError("variable", variable, [meant], remedy=f"did you mean {meant}?")
    return values


def _toml(home: str | os.PathLike[str] | None) -> dict[str, Any]:
    named = os.environ.get(_PREFIX + "CONFIG")
    folder = _default_home() if not home or _is_url(os.fspath(home)) else home
    path = Path(named) if named else Path(folder).expanduser() / "remloom.toml"
    try:
        if not path.is_file():
            if named:
                raise SettingsError(
                    f"{_PREFIX}CONFIG names {named}, which is not a file", setting="config"
                )
            return {}
        import tomllib

        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(
            f"{path} cannot be read: {error.strerror}",
            setting="config",
            remedy="choose a home you may read, with REMLOOM_HOME or --home",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{path} is not TOML: {error}", setting="config", remedy="mend the file"
        ) from error
    if "key" in values and not str(values["key"]).strip():
        raise SettingsError(
            f"{path} has an empty key, which would leave a memory unencrypted",
            setting="key",
            remedy="set it to the master key, or take the line out to go without one",
        )
    for name in values:
        if name not in Settings.__struct_fields__:
            raise UnknownNameError(f"setting in {path}:", name, Settings.__struct_fields__)
    return values


def _is_url(home: str) -> bool:
    return "://" in home


def _default_home() -> str:
    import platformdirs

    return platformdirs.user_data_dir("remloom", appauthor=False)
