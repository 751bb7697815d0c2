"""`remloom migrate`: bring a database to the schema this version knows."""

from __future__ import annotations

from click import option

from ..app import Call, command


@command("migrate")
@option("--citus", is_flag=True, help="Spread every table over the Citus cluster, by tenant.")
def migrate(call: Call, citus: bool) -> None:
    """Bring the PostgreSQL database that is the home up to date.

    Or make it ready for memories, if it has none yet. Any number of processes may do this at once.
    Needs a user who may create extensions, roles and schemas there.
    """
    from ....memory import Home

    settings = call.settings()
    done = Home(settings.home).migrate(citus=citus)
    # equal versions: another process was first, or there was nothing to do
    was = f", it had {done.before or 'none'}" if done.before != done.after else ""
    spread = "; its tables are distributed by tenant" if citus else ""
    line = f"{settings.shown_home} has schema version {done.after}{was}{spread}"
    call.show(
        {"home": settings.shown_home, "before": done.before, "after": done.after, "citus": citus},
        lambda: line,
    )
