"""Names of the GenAI conventions for memory.

They stand in open-telemetry/semantic-conventions-genai, status Development; no package has them as
constants yet.
"""

from __future__ import annotations

OPERATION_NAME = "gen_ai.operation.name"
STORE_ID = "gen_ai.memory.store.id"
RECORD_ID = "gen_ai.memory.record.id"
RECORD_COUNT = "gen_ai.memory.record.count"
ERROR_TYPE = "error.type"
WORKFLOW = "gen_ai.workflow.name"

_SEARCH = "search_memory"
_UPSERT = "upsert_memory"
_UPDATE = "update_memory"
_DELETE = "delete_memory"
_WORK = "invoke_workflow"

# methods of `Memory`, and of its nouns, by what the conventions call it
SPANS: dict[str, str] = {
    **dict.fromkeys(
        (
            "ask",
            "context",
            "fuzzy",
            "lookup",
            "profile.context",
            "query",
            "recall",
            "rem_query",
            "search",
            "search_entities",
            "search_resources",
            "search_text",
            "sql",
            "traverse",
        ),
        _SEARCH,
    ),
    **dict.fromkeys(
        (
            "create_edge",
            "create_entity",
            "create_moment",
            "create_resource",
            "read",
            "read_chat",
            "read_text",
            "write",
        ),
        _UPSERT,
    ),
    **dict.fromkeys(
        ("profile.confirm", "profile.correct", "profile.reject", "profile.set", "update_entity"),
        _UPDATE,
    ),
    **dict.fromkeys(("admin.delete_edge", "delete_resource", "forget", "profile.forget"), _DELETE),
    **dict.fromkeys(
        (
            "dream",
            "dreams.affinity",
            "dreams.consolidate",
            "dreams.moments",
            "learn",
            "profile.bootstrap",
            "profile.normalise",
            "profile.observe",
        ),
        _WORK,
    ),
    # tools for agents
    **dict.fromkeys(("show", "timeline"), _SEARCH),
    **dict.fromkeys(("relate", "remember"), _UPSERT),
}
