"""Prices of calls, by the list that comes with the package genai-prices: no network."""

from __future__ import annotations

from functools import cache


def cost(model: str, base_url: str, input_tokens: int, output_tokens: int) -> float | None:
    """Price the tokens of a `<provider>:<model>` in US dollars; None when the price is not known.

    Args:
        base_url: of the endpoint, when it is not the provider's own: the price is that of the
            company that runs it.
    """
    provider, _, name = model.partition(":")
    price = _price(provider, name, base_url)
    return None if price is None else input_tokens * price[0] + output_tokens * price[1]


@cache
def _price(provider: str, name: str, base_url: str) -> tuple[float, float] | None:
    """US dollars for a token in and a token out."""
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None
    # The list gives prices of whole calls: a thousand tokens of each make them exact enough.
    some = Usage(input_tokens=1_000, output_tokens=1_000)
    try:
        if base_url:
            price = calc_price(some, name, provider_api_url=base_url)
        else:
            price = calc_price(some, name, provider_id=provider)
    except LookupError:
        return None
    return float(price.input_price) / 1_000, float(price.output_price) / 1_000
