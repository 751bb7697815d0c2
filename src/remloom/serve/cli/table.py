"""The table of commands: how each is typed, and what it calls.

The options of a command are the parameters of the method or function that it calls, and its help is
their docstring: see `frame.parameters`. A row says only what cannot be derived.
"""

from __future__ import annotations

from click import FloatRange, IntRange

from .frame.command import Command, Option
from .frame.times import Time

_OF_ID = "SLOT may be an id that `remloom profile` shows, too, such as 3f0a."
_COUNT = Option(type=IntRange(1))
_UTC = Time()


def _edit(method: str, **options: Option) -> Command:
    """A command that edits what is believed, and says how that is taken back."""
    return Command(
        method,
        before="commands.beliefs.named",
        after="commands.profile.edited",
        options=options,
        more=_OF_ID,
    )


def _mark(method: str, argument: str, help: str) -> Command:
    """A command that marks a belief, or with --undo takes the mark off."""
    options = {argument: Option("--undo", help)}
    return Command(method, before="commands.beliefs.named", options=options, more=_OF_ID)


# sections of the program's help, and of each the usage of its commands
TABLE: dict[str, dict[str, Command]] = {
    "Start here": {
        "demo": Command(by="interactive.demo.demo"),
        "shell": Command(by="interactive.shell.shell"),
    },
    "Remember": {
        "read PATH...": Command(
            "read",
            by="commands.reading.read",
            options={"category": Option(metavar="NAME")},
            creates=True,
        ),
        "import FILE": Command("admin.import_", by="commands.records.import_", creates=True),
        "forget ID|LABEL|URI...": Command("forget", by="commands.records.forget"),
    },
    "Ask": {
        "ask QUESTION": Command(
            "ask",
            by="commands.queries.ask",
            options={"budget": Option(metavar="TOKENS")},
            llm=True,
        ),
        "recall QUESTION": Command(
            "recall",
            by="commands.queries.recall",
            options={
                "budget": Option(metavar="TOKENS"),
                "said": Option(metavar="TEXT"),
                "now": Option(type=_UTC, metavar="TIME"),
                "exclude": Option(
                    "--exclude --without",
                    "Leave out a part: text, vector, late, entity, graph, …",
                    "PART",
                ),
                "prefer": Option(metavar="LABEL=NUMBER"),
                "half_life": Option(metavar="DAYS"),
                "rerank": Option(metavar="NAME"),
                "as_context": Option("--context"),
            },
            llm=True,
        ),
        "reader [FILE...]": Command(
            by="interactive.reader.reader",
            options={
                "questions": Option("--question -q", metavar="TEXT"),
                "turns": Option("--turns -i", type=IntRange(1)),
                "budget": Option(type=IntRange(1), metavar="TOKENS"),
                "seconds": Option(type=FloatRange(min=0, min_open=True)),
                "words": _COUNT,
                "session": Option(metavar="NAME"),
            },
            llm=True,
        ),
        "lookup LABEL...": Command("lookup", by="commands.queries.lookup"),
        "fuzzy TEXT": Command(
            "fuzzy",
            options={
                "type": Option(help="Only of this type, such as person.", metavar="TYPE"),
                "threshold": Option(help="Likeness at least, 0 to 1."),
            },
        ),
        "search TEXT": Command(
            "search",
            by="commands.queries.search",
            options={
                "schema": Option("--in", metavar="SCHEMA"),
                "min_score": Option("--min", metavar="COSINE"),
                "by_words": Option("--text"),
            },
        ),
        "traverse LABEL": Command(
            "traverse",
            by="commands.queries.traverse",
            options={
                "edges": Option(metavar="A,B"),
                "breadth": Option(metavar="N|all"),
                "order_by": Option(metavar="FIELD"),
                "memo": Option(metavar="TEXT"),
            },
        ),
        "query STATEMENT": Command("query", by="commands.queries.query"),
        "show ID|LABEL": Command("admin.describe", by="commands.records.show"),
    },
    "Share": {
        "grant TENANT": Command(
            "home.grant",
            by="commands.sharing.grant",
            options={
                "may": Option(metavar="LIST"),
                "schemas": Option(metavar="LIST"),
                "until": Option(metavar="TIME"),
            },
        ),
        "grants": Command("home.grants", by="commands.sharing.grants"),
        "revoke TENANT": Command(
            "home.revoke", by="commands.sharing.revoke", options={"id": Option(metavar="ID")}
        ),
    },
    "Follow databases": {
        "discover URL": Command(
            "schemas.discover",
            by="commands.databases.discover",
            options={
                "output": Option("--output -o", metavar="FILE"),
                "tables": Option(metavar="LIST"),
                "sample": Option(metavar="ROWS"),
            },
            phases=("tables",),
        ),
        "register FILE": Command(
            "schemas.register",
            by="commands.databases.register",
            options={
                "mappings": Option("--mapping", metavar="OLD=NEW"),
                "entities": Option("--entity", metavar="COLUMN=TYPE"),
            },
            creates=True,
        ),
        "sync SOURCE": Command("schemas.sync", without=("history",), phases=("rows",)),
        "drift SOURCE": Command("schemas.drift"),
        "schemas [NAME]": Command("schemas.list", by="commands.databases.schemas"),
        "schema drop NAME": Command(
            "schemas.drop",
            without=("keep_away",),
            options={"rows": Option(help="Forget its rows, too.")},
            view="schemas.draw_dropped",
        ),
        "schema migrate NAME": Command("schemas.migrate", phases=("rows",)),
    },
    "Dream": {
        "learn [PATH]": Command(
            "learn",
            by="commands.dream.learn",
            options={
                "period": Option(metavar="PERIOD"),
                "dreams": Option(metavar="N|N%"),
                "seed": Option(metavar="WORD"),
            },
            creates=True,
            llm=True,
        ),
        "dream": Command(
            "dream",
            by="commands.dream.dream",
            options={
                "dreams": Option(metavar="N|N%"),
                "seed": Option(metavar="WORD"),
                "period": Option(metavar="MONTH|YEAR"),
                "dry_run": Option(
                    help="Write nothing, and print what would be written. Calls the model."
                ),
            },
            llm=True,
        ),
        "dream runs": Command(
            "runs.list", by="commands.dream.runs", options={"kind": Option(metavar="KIND")}
        ),
        "dream rollback RUN": Command("runs.rollback", view="dreams.draw_rollback"),
        "moments": Command(
            "dreams.moments",
            by="commands.maintenance.moments",
            options={"since": Option(metavar="AGE|DATE"), "everything": Option("--all")},
            phases=("sessions",),
            llm=True,
        ),
        "affinity": Command(
            "dreams.affinity",
            by="commands.maintenance.affinity",
            options={"since": Option(metavar="AGE|DATE")},
            phases=("resources",),
            llm=True,
        ),
        "consolidate": Command("dreams.consolidate", phases=("summaries",), llm=True),
        "metrics": Command(
            "dreams.metrics",
            by="commands.maintenance.metrics",
            options={"held_out": Option(metavar="PATH"), "html": Option(metavar="FILE")},
        ),
    },
    "Know the user": {
        "profile": Command("profile.show", by="commands.profile.show_user"),
        "profile show": Command(
            "profile.show", by="commands.profile.show", before="commands.beliefs.known"
        ),
        "profile why SLOT [VALUE]": Command("profile.why", by="commands.profile.why", more=_OF_ID),
        "profile history SLOT": Command("profile.history", before="commands.beliefs.known"),
        "profile changes": Command(
            "profile.changes",
            before="commands.beliefs.known",
            options={"since": Option(help="Only since then. [default: all]", metavar="TIME")},
        ),
        "profile context [QUERY]": Command(
            "profile.context",
            before="commands.beliefs.known",
            options={
                "agent": Option(metavar="NAME"),
                "purpose": Option(help="For what. [default: as QUERY tells]", metavar="NAME"),
                "budget_tokens": Option(
                    "--budget", "Of the text, at most. [default: 600]", "TOKENS", IntRange(1)
                ),
            },
        ),
        "profile export [FILE]": Command(
            "profile.export", by="commands.profile.export", before="commands.beliefs.known"
        ),
        "profile import FILE": Command(
            "profile.import_", view="profile.draw_imported", creates=True
        ),
        "profile subjects": Command("profile.subjects", view="profile.draw_subjects"),
        "profile learned": Command("profile.learned"),
        "profile set SLOT VALUE": Command(
            "profile.set", after="commands.profile.edited", creates=True
        ),
        "profile confirm SLOT [VALUE]": _edit("profile.confirm"),
        "profile reject SLOT [VALUE]": _edit("profile.reject"),
        "profile correct SLOT VALUE": _edit(
            "profile.correct",
            was=Option(metavar="VALUE"),
            changed=Option(help="It was right, and has changed now."),
        ),
        "profile retire SLOT [VALUE]": _edit(
            "profile.retire", at=Option(help="When it ended. [default: now]", metavar="TIME")
        ),
        "profile pin SLOT [VALUE]": _mark("profile.pin", "pinned", "Pin it no longer."),
        "profile hide SLOT [VALUE]": _mark("profile.hide", "hidden", "Hide it no longer."),
        "profile forget SLOT [VALUE]": Command(
            "profile.forget",
            by="commands.profile.forget",
            before="commands.beliefs.named",
            more=_OF_ID,
        ),
        "profile scan [PATH]": Command(
            "profile.observe",
            options={"category": Option(metavar="NAME")},
            phases=("passages", "asking"),
            creates=True,
            llm=True,
            more=(
                "PATH is read first. A scan that was interrupted goes on where it was; nothing is "
                "taken up twice."
            ),
        ),
        "profile bootstrap": Command("profile.bootstrap", phases=("passages", "asking"), llm=True),
        "profile staged": Command("profile.staged"),
        "profile normalise": Command(
            "profile.normalise",
            options={
                "now": Option(
                    "--due", "Only if ten claims wait, or the last time is six hours ago."
                )
            },
            phases=("claims",),
            llm=True,
        ),
        "profile slots [NAME]": Command("profile.slots", by="commands.profile.slots"),
        "profile define ID": Command(
            "profile.define_slot",
            by="commands.profile.define",
            options={
                "label": Option(metavar="TEXT"),
                "values": Option("--value", metavar="VALUE"),
                "aliases": Option("--alias", metavar="NAME"),
                "half_life": Option(metavar="DAYS"),
                "question": Option(metavar="TEXT"),
            },
            creates=True,
        ),
        "profile undefine ID": Command("profile.remove_slot", by="commands.profile.undefine"),
        "profile candidates": Command("profile.candidates"),
        "profile promote EXTRA": Command(
            "profile.promote",
            by="commands.profile.promote",
            options={"id": Option(metavar="ID"), "label": Option(metavar="TEXT")},
        ),
    },
    "Serve": {
        "mcp": Command(by="commands.mcp.mcp", options={"print_config": Option(metavar="CLIENT")}),
        "serve": Command(
            by="commands.serving.serve",
            options={
                "bind": Option(metavar="HOST:PORT"),
                "allow_host": Option(metavar="NAME"),
                "allow_origin": Option(metavar="URL"),
            },
        ),
        "openapi": Command(by="commands.serving.openapi"),
        "keys create NAME": Command(
            "keys.create",
            by="commands.sharing.create_key",
            options={
                "scopes": Option(
                    "--scopes", "Of read, write, forget, dream, admin, metrics.", "LIST"
                ),
                "expires": Option(metavar="TIME"),
            },
        ),
        "keys list": Command("keys.list"),
        "keys revoke ID": Command("keys.revoke", by="commands.sharing.revoke_key"),
        "audit": Command("admin.audit", by="commands.sharing.audit", options={"limit": _COUNT}),
    },
    "Care": {
        "stats": Command("admin.stats"),
        "usage": Command(
            "admin.usage",
            by="commands.usage.usage",
            options={
                "run": Option(metavar="RUN"),
                "days": Option(type=FloatRange(min=0, min_open=True), metavar="N"),
            },
        ),
        "jobs list": Command("jobs.list", options={"state": Option(help="Only these.")}),
        "jobs add KIND [NAME=VALUE]...": Command(
            "jobs.add",
            by="commands.jobs.add",
            options={
                "key": Option(metavar="NAME"),
                "at": Option(type=_UTC, metavar="TIME"),
            },
            says="added {0.kind} as {0.id}; `remloom schedule run` does it",
            creates=True,
        ),
        "jobs retry ID": Command("jobs.retry", says="{0.kind} {0.id} is due now"),
        "jobs remove ID": Command("jobs.remove", by="commands.jobs.remove"),
        "schedule add CRON KIND [NAME=VALUE]...": Command(
            "jobs.add", by="commands.jobs.schedule", creates=True
        ),
        "schedule list": Command(
            "jobs.list", by="commands.jobs.scheduled", view="lists.draw_schedule"
        ),
        "schedule remove NAME": Command("jobs.remove", by="commands.jobs.unschedule"),
        "schedule run": Command(
            "jobs.work",
            by="commands.jobs.work",
            options={
                "kinds": Option("--kind", metavar="KIND"),
                "lease": Option(metavar="SECONDS"),
            },
        ),
        "doctor": Command("admin.check", by="interactive.doctor.doctor"),
        "tenant list": Command("home.tenants", by="commands.home.tenants"),
        "tenant create NAME": Command("home.create", by="commands.home.create"),
        "tenant adopt NAME": Command("home.adopt", by="commands.home.adopt"),
        "tenant delete NAME": Command("home.delete", by="commands.home.delete"),
        "tenant key [FILE]": Command("home.new_key", by="commands.home.key"),
        "migrate": Command("home.migrate", by="commands.home.migrate"),
        "copy SOURCE TARGET": Command(
            "home.copy",
            by="commands.home.copy",
            options={
                "to_tenant": Option("--as", metavar="NAME"),
                "to_key": Option(metavar="REF"),
            },
            phases=("copying",),
        ),
        "export FILE": Command("admin.export", by="commands.records.export"),
        "backup FOLDER": Command("admin.backup", by="commands.records.backup"),
        "reembed": Command(
            "admin.reembed",
            by="commands.reading.reembed",
            options={"embedder": Option(metavar="NAME")},
            phases=("embedding",),
        ),
        "sweep": Command(
            "admin.sweep",
            options={
                "limit": Option(help="Expired records at most. [default: all]", type=IntRange(1))
            },
            view="answers.draw_swept",
        ),
    },
}

# what a group of commands is for, where it is no command itself
GROUPS = {
    "jobs": "Work for later: list it, add to it, retry or remove it.",
    "keys": "Make, list and revoke API keys: who may call a server, and what they may do.",
    "schedule": "Do things at set times: add and list them, and run the worker that does them.",
    "schema": "Change a schema that is registered.",
    "tenant": "List, create, adopt and delete tenants; make a key for them.",
}

# operations that have no command of their own, by the reason why not
NO_COMMAND = {
    "It takes records, messages or a whole taxonomy, which nobody types.": (
        "create_edge", "create_entity", "create_moment", "create_resource", "create_row",
        "read_chat", "read_text", "reader_keep", "set_taxonomy", "update_entity", "write",
    ),
    "`show`, `query`, `dream runs` or `jobs list` shows it.": (
        "failed_items", "get_edges", "get_entity", "get_job", "get_moment", "get_moments_by_time",
        "get_moments_by_type", "get_record", "get_resource", "get_row", "get_taxonomy", "history",
        "list_records", "list_sources", "query_records", "run_records",
    ),
    "Another command does it, by an option or an argument.": (
        "context", "context_across", "create_grant", "delete_resource", "embed_pending",
        "get_schema", "list_grants", "list_received_grants", "lookup_across", "profile_beliefs",
        "profile_get", "profile_slot", "read_documents", "read_path", "recall_across", "rem_query",
        "revoke_grant", "search_across", "search_entities", "search_resources", "search_text",
        "search_text_across", "source_drift", "sql", "sync_source",
    ),
    "The prompt of `reader` does it.": (
        "reader_ask", "reader_delete_session", "reader_find", "reader_lines", "reader_outline",
        "reader_schema", "reader_search", "reader_session", "reader_sessions", "reader_sql",
    ),
    "It is for programs: the shell completes, and indexes look after themselves.": (
        "complete", "create_index", "delete_edge", "get_remme_context", "optimize", "set_expiry",
    ),
}  # fmt: skip
