"""Tenants of one database grant each other what they may find."""

from __future__ import annotations

from uuid import uuid4

from remloom import Home, Memory, Resource
from remloom.federation import Federation
from remloom.testing.embedder import WordEmbedder


def test_a_tenant_of_a_database_finds_what_another_grants(postgres: str) -> None:
    legal, sales = (f"{name}{uuid4().hex}" for name in ("legal", "sales"))
    home = Home(postgres)
    home.create(legal)
    home.create(sales)
    with Memory.open(postgres, tenant=legal, embedder=WordEmbedder()) as memory:
        texts = {"public": "Payment is due.", "secret": "Payment of bonuses."}
        records = [
            Resource(name=key, uri=key, category=key, content=text) for key, text in texts.items()
        ]
        memory.write(records, wait=True)
    home.grant(legal, to=sales, where="category = 'public'")
    with Federation.open(postgres, as_tenant=sales, embedder=WordEmbedder()) as others:
        for answer in (
            others.search_text("payment"),
            others.search("payment"),
            others.recall("When is payment due?"),
            others.lookup("public"),
        ):
            assert [(hit.tenant, hit.uri) for hit in answer.hits] == [(legal, "public")]
        home.revoke(legal, to=sales)
        assert others.search_text("payment").tenants == ()
    home.delete(legal)
    home.delete(sales)
