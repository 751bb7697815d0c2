"""What a database keeps of itself, its keys and grants, stands under a name that no tenant has."""

from __future__ import annotations

import pytest

from remloom import Home, Memory
from remloom.errors import RemloomError
from remloom.settings import Settings
from remloom.store.tenants.home import HIDDEN
from remloom.tenancy.api_keys import ApiKeys


def test_what_a_database_keeps_of_itself_is_nobodys_tenant(fresh: str) -> None:
    home = Home(fresh)
    home.create("acme")
    with ApiKeys(Settings(home=fresh)) as keys:
        made = keys.create("one", ["read"], tenant="acme")
        assert [tenant.name for tenant in home.tenants()] == ["acme"]
        for ask in (
            lambda: Memory.open(fresh, tenant=HIDDEN),
            lambda: Memory.open(fresh, tenant=HIDDEN, create=False),
            lambda: home.create(HIDDEN),
            lambda: home.delete(HIDDEN),
            lambda: keys.create("two", ["read"], tenant=HIDDEN),
        ):
            with pytest.raises(RemloomError) as refused:
                ask()
            assert "acme" not in str(refused.value)
        assert keys.check(made.key).id == made.id
