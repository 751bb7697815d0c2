"""The order of tables: those that others lead to come first."""

from __future__ import annotations

from ..plan.plan import Plan
from ..plan.planned import PlannedTable


def tables_in_order(plan: Plan) -> list[PlannedTable]:
    """Order the tables of a plan so that a table comes behind those that its edges lead to.

    Of tables that lead to each other, the one that fewest others wait for begins.
    """
    left = {table.table: table for table in plan.tables}
    targets: dict[str, set[str]] = {name: set() for name in left}
    for edge in plan.edges:
        if edge.table in left and edge.target in left and edge.target != edge.table:
            targets[edge.table].add(edge.target)
    ordered: list[PlannedTable] = []
    while left:
        # without one that waits for none, a cycle is broken where it holds up least
        name = min(left, key=lambda name: (len(targets[name] & left.keys()), name))
        ordered.append(left.pop(name))
    return ordered
