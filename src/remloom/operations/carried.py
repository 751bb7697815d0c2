"""What a call carries, or sets going, and the scopes of doing the same directly."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ..profile.beliefs.belief_store import MARK, Mark
from ..profile.slots.own_slots import OWN_SLOT
from ..store.forgetting.forgotten_rows import FORGOTTEN_ROWS
from ..store.rules.admission import EXPIRY, JOB, SCHEMA
from ..store.taxonomy import TAXONOMY
from ..tenancy.api_keys import Scope
from .documents import scopes_of_job
from .methods import METHODS

# the operation that does the same, by what is carried; of a profile there is more, by `profile_set`
DIRECTLY = {
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
    name = DIRECTLY.get(kind, _OF_PROFILE)
    if kind == MARK and msgspec.json.decode(value, type=Mark).deleted_at is not None:
        name = "profile_forget"
    require(_SCOPES[name])
