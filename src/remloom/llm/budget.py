"""What a run may spend, and what it has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec import Struct

from ..errors import BudgetError, InvalidInputError
from .contract import Request

__all__ = ["Budget", "Spending", "tokens_in"]

Price = Callable[[int, int], float | None]  # US dollars for so many tokens in and out


class Budget(Struct, frozen=True, kw_only=True):
    """Limits of a run; None is no limit. Kept replies, which are paid already, do not count.

    Raises:
        InvalidInputError: one of them is not above zero.
    """

    tokens: int | None = None  # in and out together
    calls: int | None = None
    cost: float | None = None  # US dollars

    def __post_init__(self) -> None:
        for name, limit in (("tokens", self.tokens), ("calls", self.calls), ("cost", self.cost)):
            number = isinstance(limit, int | float) and not isinstance(limit, bool)
            if limit is not None and not (number and limit > 0):
                raise InvalidInputError(
                    f"a budget of {limit!r} {name} allows nothing",
                    remedy="give a number above zero",
                )


class Spending:
    """Keeps a run within its budget. To be used from one event loop.

    A call is let through when the most it can take fits into what is left. When it does not fit
    only because of calls under way, which mostly take less than they might, it waits for them.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.tokens = 0
        self.calls = 0
        self.cost = 0.0
        self._held_tokens = 0  # by calls under way
        self._held_cost = 0.0
        self._under_way = 0
        self._changed = asyncio.Event()

    async def hold(self, request: Request, price: Price) -> tuple[int, float]:
        """Set aside the most that a request can take; hand what this returns to `settle`.

        Raises:
            BudgetError: it does not fit.
        """
        size = tokens_in(request)
        tokens = size + request.max_tokens
        cost = price(size, request.max_tokens)
        if self.budget.cost is not None and cost is None:
            raise BudgetError(
                "a budget in money needs a model whose price is known", remedy="limit tokens or calls instead",
                limit="cost", spent=self.cost, allowed=self.budget.cost,
            )  # fmt: skip
        worst = cost or 0.0
        while limit := self._short(tokens, worst):
            if not self._under_way:
                spent, allowed = getattr(self, limit), getattr(self.budget, limit)
                raise BudgetError(
                    f"the next call could exceed the run's budget: {spent:,.6g} of {allowed:,.6g} {limit} are spent",
                    remedy="what is done is kept; run it again with a larger budget",
                    limit=limit, spent=spent, allowed=allowed,
                )  # fmt: skip
            await self._changed.wait()
        self.calls += 1
        self._under_way += 1
        self._held_tokens += tokens
        self._held_cost += worst
        return tokens, worst

    def settle(self, held: tuple[int, float], tokens: int, cost: float | None) -> None:
        """The call is over: put what it took in place of what was set aside."""
        self._under_way -= 1
        self._held_tokens -= held[0]
        self._held_cost -= held[1]
        self.tokens += tokens
        self.cost += cost or 0.0
        self._changed.set()
        self._changed = asyncio.Event()

    def _short(self, tokens: int, cost: float) -> str:
        """The limit that does not leave enough; "" when all do."""
        budget = self.budget
        if budget.calls is not None and self.calls >= budget.calls:
            return "calls"
        if budget.tokens is not None and self.tokens + self._held_tokens + tokens > budget.tokens:
            return "tokens"
        if budget.cost is not None and self.cost + self._held_cost + cost > budget.cost:
            return "cost"
        return ""


def tokens_in(request: Request) -> int:
    """About how many tokens a request has, rather more than fewer: one for three bytes."""
    said = [
        request.system,
        request.prompt,
        *(part for turn in request.turns for part in (turn.reply, turn.remark)),
    ]
    return sum(len(part.encode("utf-8", "surrogatepass")) for part in said) // 3 + 8 * len(said)
