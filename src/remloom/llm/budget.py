"""Budgets of runs: what one may spend, and what it has spent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from msgspec import Struct

from ..errors import BudgetError, InvalidInputError
from .contract import Request

# US dollars for so many tokens in and out; None when the price is not known
Price = Callable[[int, int], float | None]


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
            if limit is None:
                continue
            is_number = isinstance(limit, int | float) and not isinstance(limit, bool)
            # NaN is not above zero, nor below
            if not is_number or not limit > 0:
                raise InvalidInputError(
                    f"a budget of {limit!r} {name} allows nothing",
                    remedy="give a number above zero",
                )


class Reservation(NamedTuple):
    """The most that a call can take."""

    tokens: int
    cost: float  # US dollars


class Spending:
    """Keeps a run within its budget. To be used from one event loop.

    A call is let through when the most it can take fits into what is left. When it does not fit
    only because of calls in flight, which mostly take less than they might, it waits for them.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.tokens = 0
        self.calls = 0
        self.cost = 0.0
        # by calls in flight
        self._reserved_tokens = 0
        self._reserved_cost = 0.0
        self._in_flight = 0
        self._changed = asyncio.Event()

    async def reserve(self, request: Request, price: Price) -> Reservation:
        """Set aside the most that a request can take, or raise BudgetError; `settle` ends it."""
        size = tokens_in(request)
        cost = price(size, request.max_tokens)
        if self.budget.cost is not None and cost is None:
            raise BudgetError(
                "a budget in money needs a model whose price is known",
                remedy="limit tokens or calls instead",
                limit="cost",
                spent=self.cost,
                allowed=self.budget.cost,
            )
        most = Reservation(size + request.max_tokens, cost or 0.0)
        while limit := self._exceeded(most):
            # Nothing in flight could leave anything over.
            if not self._in_flight:
                raise self._error(limit)
            await self._changed.wait()
        self.calls += 1
        self._in_flight += 1
        self._reserved_tokens += most.tokens
        self._reserved_cost += most.cost
        return most

    def settle(self, reserved: Reservation, tokens: int, cost: float | None) -> None:
        """Put what a call took, which is over, in place of what was set aside for it."""
        self._in_flight -= 1
        self._reserved_tokens -= reserved.tokens
        self._reserved_cost -= reserved.cost
        self.tokens += tokens
        self.cost += cost or 0.0
        # Wake all that wait, and give later ones an event of their own.
        self._changed.set()
        self._changed = asyncio.Event()

    def _exceeded(self, most: Reservation) -> str:
        """The limit that a call could exceed; "" when there is none."""
        budget = self.budget
        if budget.calls is not None and self.calls >= budget.calls:
            return "calls"
        tokens = self.tokens + self._reserved_tokens + most.tokens
        if budget.tokens is not None and tokens > budget.tokens:
            return "tokens"
        cost = self.cost + self._reserved_cost + most.cost
        if budget.cost is not None and cost > budget.cost:
            return "cost"
        return ""

    def _error(self, limit: str) -> BudgetError:
        spent, allowed = getattr(self, limit), getattr(self.budget, limit)
        return BudgetError(
            "the next call could exceed the run's budget: "
            f"{spent:,.6g} of {allowed:,.6g} {limit} are spent",
            remedy="what is done is kept; run it again with a larger budget",
            limit=limit,
            spent=spent,
            allowed=allowed,
        )


def tokens_in(request: Request) -> int:
    """Estimate the tokens of a request, rather too many: one for three bytes, and 8 a message."""
    messages = [request.system, request.prompt]
    for turn in request.turns:
        messages += [turn.reply, turn.remark]
    size = sum(len(message.encode("utf-8", "surrogatepass")) for message in messages)
    return size // 3 + 8 * len(messages)
