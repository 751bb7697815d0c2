"""The table: the operations that are methods of `Memory` and its nouns, and all others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from ..dream.service import Dreams
from ..federation.federation import OWN_OPTIONS, Federation
from ..jobs.service import Jobs
from ..memory.admin import Admin
from ..memory.home import Home
from ..memory.memory import Memory
from ..profile.beliefs.belief_store import MARK, BeliefMark
from ..profile.service import Profiles
from ..profile.slots.registry import OWN_SLOT
from ..reader.reader import Reader
from ..runs.service import Runs
from ..schema.service import Schemas
from ..store.definitions import TAXONOMY
from ..store.forgetting.watch import FORGOTTEN_ROWS
from ..store.rules.admission import EXPIRY, JOB, SCHEMA
from ..tenancy.api_keys import ApiKeys, Scope
from ..tenancy.grants import Grants
from .bounds import bounded
from .documents import DOCUMENTS, TRANSFER, scopes_of_job
from .operation import Operation, Progress, always, finds_few, names_few
from .records import DATABASES, RECORDS
from .signatures import derive, make_struct

_profile = partial(derive, of=Profiles, noun="profile")
_jobs = partial(derive, of=Jobs, noun="jobs")
_runs = partial(derive, of=Runs, noun="runs")
_dreams = partial(derive, of=Dreams, noun="dreams")
_schemas = partial(derive, of=Schemas, noun="schemas")
_admin = partial(derive, of=Admin, noun="admin")
_home = partial(derive, of=Home, needs="home")
_keys = partial(derive, of=ApiKeys, needs="keys")
_grants = partial(derive, of=Grants, needs="grants")
_across = partial(derive, of=Federation, needs="federation")

# options of recall that are of one's own memory, or go along edges, which others do not show
_NOT_ACROSS = (
    *OWN_OPTIONS,
    "fusion",
    "half_life",
    "hops",
    "neighbours",
    "preferences",
    "rerank_seconds",
    "vector",
)

_WRITING = (
    derive("write", "POST /v1/write", "write"),
    derive("create_resource", "POST /v1/resources", "write"),
    derive("create_entity", "POST /v1/entities", "write"),
    derive("create_moment", "POST /v1/moments", "write"),
    derive("create_edge", "POST /v1/edges", "write"),
    derive("unreplace", "POST /v1/records/{id}/unreplace", "write"),
    derive("update_entity", "PATCH /v1/entities/{id}", "write", idempotent=True),
    derive("read_text", "POST /v1/texts", "write", idempotent=True),
    derive("read_chat", "POST /v1/chats", "write"),
    derive("embed_pending", "POST /v1/embed", "write", is_long=True, idempotent=True),
    derive("create_index", "POST /v1/indexes", "admin", idempotent=True),
)
_FORGETTING = (
    derive("forget", "POST /v1/forget", "forget", destructive=True),
    derive("delete_resource", "DELETE /v1/resources/{id}", "forget", destructive=True),
    _admin("delete_edge", "DELETE /v1/edges", "forget", destructive=True),
    _admin("set_expiry", "POST /v1/expiry", "forget", idempotent=True, destructive=True),
    _admin("sweep", "POST /v1/sweep", "forget", is_long=True, idempotent=True, destructive=True),
)
_GETTING = (
    derive("get_resource", "GET /v1/resources/{id}", "read", is_short=always),
    derive("get_entity", "GET /v1/entities/{id}", "read", is_short=always),
    derive("get_moment", "GET /v1/moments/{id}", "read", is_short=always),
    derive("get_edges", "GET /v1/edges", "read"),
    derive("history", "GET /v1/records/{id}/history", "read"),
    _admin("describe", "GET /v1/describe", "read"),
    _admin("complete", "GET /v1/complete", "read"),
)
_ASKING = (
    derive("recall", "POST /v1/recall", "read"),
    derive("context", "POST /v1/context", "read"),
    derive("ask", "POST /v1/ask", "read", is_long=True),
    derive("query", "POST /v1/query", "read"),
    derive("rem_query", "POST /v1/rem_query", "read"),
    derive("lookup", "POST /v1/lookup", "read", is_short=names_few),
    derive("fuzzy", "POST /v1/fuzzy", "read"),
    derive("search", "POST /v1/search", "read", is_short=finds_few),
    derive("search_text", "POST /v1/search/text", "read", is_short=finds_few),
    derive("search_resources", "POST /v1/search/resources", "read"),
    derive("search_entities", "POST /v1/search/entities", "read"),
    derive("traverse", "POST /v1/traverse", "read"),
    derive("sql", "POST /v1/sql", "read"),
)
_DREAMING = (
    derive("learn", "POST /v1/learn", "dream", is_long=True, skip=("source", "glob")),
    derive("dream", "POST /v1/dream", "dream", is_long=True),
    _dreams("moments", "POST /v1/dreams/moments", "dream", is_long=True),
    _dreams("affinity", "POST /v1/dreams/affinity", "dream", is_long=True),
    _dreams("consolidate", "POST /v1/dreams/consolidate", "dream", is_long=True),
    _dreams("refresh", "POST /v1/dreams/refresh", "dream", is_long=True),
    derive("confirm", "POST /v1/confirm", "write", idempotent=True),
    _dreams("metrics", "GET /v1/dreams/metrics", "read", skip=("held_out",)),
    _runs("list_runs", "GET /v1/runs", "read", method="list"),
    _runs("run_records", "GET /v1/runs/{run}/records", "read", method="records"),
    _runs("failed_items", "GET /v1/failed", "read", method="failed"),
    _runs("rollback", "POST /v1/runs/{run}/rollback", "dream", destructive=True),
)
_JOBS = (
    _jobs("list_jobs", "GET /v1/jobs", "read", method="list"),
    _jobs("get_job", "GET /v1/jobs/{id}", "read", method="get"),
    _jobs("remove_job", "DELETE /v1/jobs/{id}", "write", method="remove", destructive=True),
)
_PROFILE = (
    _profile("profile_show", "GET /v1/profile", "read"),
    _profile("profile_beliefs", "GET /v1/profile/beliefs", "read"),
    _profile("profile_get", "GET /v1/profile/beliefs/{slot}", "read"),
    _profile("profile_history", "GET /v1/profile/history/{slot}", "read"),
    _profile("profile_context", "POST /v1/profile/context", "read"),
    _profile("get_remme_context", "POST /v1/profile/remme_context", "read"),
    _profile("profile_subjects", "GET /v1/profile/subjects", "read"),
    _profile("profile_slots", "GET /v1/profile/slots", "read"),
    _profile("profile_slot", "GET /v1/profile/slots/{name}", "read"),
    _profile("profile_why", "POST /v1/profile/why", "read"),
    _profile("profile_changes", "GET /v1/profile/changes", "read"),
    _profile("profile_candidates", "GET /v1/profile/candidates", "read"),
    _profile("profile_staged", "GET /v1/profile/staged", "read"),
    _profile("profile_learned", "GET /v1/profile/learned", "read"),
    _profile("profile_set", "POST /v1/profile/set", "write", idempotent=True),
    _profile("profile_confirm", "POST /v1/profile/confirm", "write"),
    _profile("profile_reject", "POST /v1/profile/reject", "write"),
    _profile("profile_correct", "POST /v1/profile/correct", "write"),
    _profile("profile_retire", "POST /v1/profile/retire", "write"),
    _profile("profile_pin", "POST /v1/profile/pin", "write", idempotent=True),
    _profile("profile_hide", "POST /v1/profile/hide", "write", idempotent=True),
    _profile("profile_forget", "POST /v1/profile/forget", "forget", destructive=True),
    _profile("profile_define_slot", "POST /v1/profile/slots", "admin"),
    _profile("profile_remove_slot", "DELETE /v1/profile/slots/{id}", "admin", destructive=True),
    _profile("profile_promote", "POST /v1/profile/promote", "admin"),
    _profile("profile_export", "GET /v1/profile/export", "read", skip=("path",)),
    _profile(
        "profile_observe",
        "POST /v1/profile/observe",
        "dream",
        is_long=True,
        skip=("source", "category"),
    ),
    _profile("profile_bootstrap", "POST /v1/profile/bootstrap", "dream", is_long=True),
    _profile("profile_normalise", "POST /v1/profile/normalise", "dream", is_long=True),
)
_SCHEMAS = (
    _schemas("list_schemas", "GET /v1/schemas", "read", method="list"),
    _schemas("get_schema", "GET /v1/schemas/{name}", "read", method="get"),
    _schemas(
        "register_schema",
        "POST /v1/schemas",
        "admin",
        method="register",
        idempotent=True,
        skip=("definition", "base_fields", "source"),
    ),
    _schemas("drop_schema", "DELETE /v1/schemas/{name}", "admin", method="drop", destructive=True),
    _schemas(
        "migrate_schema",
        "POST /v1/schemas/{name}/migrate",
        "admin",
        method="migrate",
        is_long=True,
        idempotent=True,
    ),
    _schemas("get_taxonomy", "GET /v1/taxonomy", "read", method="taxonomy"),
    _schemas("set_taxonomy", "PUT /v1/taxonomy", "admin", idempotent=True),
    _schemas("create_row", "POST /v1/rows", "write"),
    _schemas("get_row", "GET /v1/rows", "read"),
    _schemas("identify_rows", "POST /v1/schemas/{schema}/identify", "admin", method="identify"),
    _schemas("unite_rows", "POST /v1/rows/unite", "write", method="unite", idempotent=True),
    _schemas("separate_rows", "POST /v1/rows/separate", "write", method="separate"),
)
_CHORES = (
    _admin("stats", "GET /v1/stats", "read"),
    _admin("usage", "GET /v1/usage", "read"),
    _admin("audit", "GET /v1/audit", "admin"),
    _admin("check", "POST /v1/check", "admin", is_long=True, idempotent=True),
    _admin("optimize", "POST /v1/optimize", "admin", is_long=True, idempotent=True),
    _admin("reembed", "POST /v1/reembed", "admin", is_long=True, idempotent=True),
)
_HOME = (
    _home("list_tenants", "GET /v1/tenants", "admin", method="tenants"),
    _home("create_tenant", "POST /v1/tenants", "admin", method="create"),
    _home(
        "delete_tenant", "DELETE /v1/tenants/{tenant}", "admin", method="delete", destructive=True
    ),
)
_KEYS = (
    _keys("create_key", "POST /v1/keys", "admin", method="create"),
    _keys("list_keys", "GET /v1/keys", "admin", method="list"),
    _keys("revoke_key", "DELETE /v1/keys/{id}", "admin", method="revoke", destructive=True),
)

_GRANTS = (
    _grants("create_grant", "POST /v1/grants", "admin", method="add"),
    _grants("list_grants", "GET /v1/grants", "admin", method="list"),
    _grants("revoke_grant", "DELETE /v1/grants", "admin", method="revoke", destructive=True),
)
_ACROSS = (
    _across("list_received_grants", "GET /v1/across/grants", "read", method="grants"),
    _across("lookup_across", "POST /v1/across/lookup", "read", method="lookup"),
    _across("search_across", "POST /v1/across/search", "read", method="search"),
    _across("search_text_across", "POST /v1/across/search/text", "read", method="search_text"),
    _across("recall_across", "POST /v1/across/recall", "read", method="recall", skip=_NOT_ACROSS),
    _across(
        "context_across", "POST /v1/across/context", "read", method="context", skip=_NOT_ACROSS
    ),
)

METHODS: tuple[Operation, ...] = (
    *_WRITING,
    *_FORGETTING,
    *_GETTING,
    *_ASKING,
    *_DREAMING,
    *_JOBS,
    *_PROFILE,
    *_SCHEMAS,
    *_CHORES,
    *_HOME,
    *_KEYS,
    *_GRANTS,
    *_ACROSS,
)

# the operation that does the same, by what is carried; of a profile there is more, by `profile_set`
CARRIED = {
    EXPIRY: "set_expiry",
    FORGOTTEN_ROWS: "forget",
    OWN_SLOT: "profile_define_slot",
    SCHEMA: "register_schema",
    TAXONOMY: "set_taxonomy",
}
_OF_PROFILE = "profile_set"
_SCOPES: dict[str, Scope] = {one.name: one.scope for one in METHODS}


def admit_by_scope(require: Callable[[Scope], None], kind: str, value: bytes) -> None:
    """Require the scopes of doing directly what is carried. See `store.rules.admission`.

    Args:
        require: called with each; what it raises ends the call, and nothing is written.
    """
    if kind == JOB:
        for scope in scopes_of_job(value.decode()):
            require(scope)
        return
    name = CARRIED.get(kind, _OF_PROFILE)
    if kind == MARK and msgspec.json.decode(value, type=BeliefMark).deleted_at is not None:
        name = "profile_forget"
    require(_SCOPES[name])


MOST_DOCUMENTS = 100


def _reads(name: str, scope: Scope = "read", *, is_long: bool = False) -> Operation:
    """Make the operation of a method of `Reader`, which takes the documents besides."""
    made = derive(f"reader_{name}", f"POST /v1/reader/{name}", scope, of=Reader, method=name,
                  is_long=is_long)  # fmt: skip
    label = bounded("label", str)
    fields = msgspec.structs.fields(made.takes)
    documents = Annotated[list[label], Meta(min_length=1, max_length=MOST_DOCUMENTS)]  # type: ignore[valid-type]
    first = ("documents", documents, msgspec.NODEFAULT)
    rest = ((one.name, one.type, one.default) for one in fields)
    takes = make_struct(made.takes.__name__, [first, *rest])

    def does(memory: Memory, values: Any, progress: Progress | None) -> Any:
        # a server opens what the memory has, and never a path
        with memory.reader(*values.documents, files=False) as reader:
            return made.does(reader, _without_documents(values, made.takes), progress)

    description = f"{made.description} Documents are named by their uri, title or label."
    return replace(made, takes=takes, does=does, method=f"reader.{name}", description=description)


def _without_documents(values: Struct, takes: type[Struct]) -> Struct:
    return takes(**{name: getattr(values, name) for name in takes.__struct_fields__})


def _of_sessions(name: str, route: str, scope: Scope, method: str, **hints: Any) -> Operation:
    """Make the operation of a method of `Reader` that needs no document."""
    made = derive(name, route, scope, of=Reader, method=method, **hints)

    def does(memory: Memory, values: Any, progress: Progress | None) -> Any:
        with memory.reader(files=False) as reader:
            return made.does(reader, values, progress)

    return replace(made, does=does, method=f"reader.{method}")


READER: tuple[Operation, ...] = (
    _reads("outline"),
    _reads("lines"),
    _reads("search"),
    _reads("find"),
    _reads("sql"),
    _reads("schema"),
    _reads("ask", is_long=True),
    _reads("keep", "write"),
    _of_sessions("reader_sessions", "GET /v1/reader/sessions", "read", "sessions"),
    _of_sessions("reader_session", "GET /v1/reader/sessions/{name}", "read", "session"),
    _of_sessions(
        "reader_delete_session",
        "DELETE /v1/reader/sessions/{name}",
        "write",
        "delete_session",
        destructive=True,
    ),
)


OPERATIONS: tuple[Operation, ...] = (
    *METHODS,
    *RECORDS,
    *DATABASES,
    *DOCUMENTS,
    *READER,
    *TRANSFER,
)
