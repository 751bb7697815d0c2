"""Other tenants are asked over the server as far as they grant it, and only by one who is a tenant."""

from contextlib import contextmanager

from remloom.serve.caller import Caller
from remloom.tenancy.api_keys import SCOPES
from serving import served

TENANTS = ("legal", "sales", "hr")


class TenantGuard:
    """Lets everybody in as the tenant of a header; without one, with a key of all tenants."""

    def __init__(self, app, service):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http":
            tenant = dict(scope["headers"]).get(b"x-test-tenant", b"").decode()
            scope["state"]["caller"] = Caller(
                key_id="test",
                tenant=tenant or "sales",
                scopes=frozenset(SCOPES),
                of_home=not tenant,
            )
        await self.app(scope, receive, send)


@contextmanager
def with_records(home):
    with served(home, guard=TenantGuard, tenants=TENANTS) as client:
        for name in ("public", "secret"):
            record = {"schema": "resources", "uri": name, "category": name}
            record["content"] = f"Payment is {name}."
            body = {"records": [record]}
            assert post(client, "write", body, "legal").status_code == 200
        yield client


def post(client, path, body, tenant=""):
    headers = {"x-test-tenant": tenant} if tenant else {}
    return client.post(f"/v1/{path}", json=body, headers=headers)


def test_a_tenant_grants_its_own_and_another_finds_it(tmp_path):
    with with_records(tmp_path) as client:
        asked = {"text": "payment"}
        assert post(client, "across/search/text", asked, "sales").json()["hits"] == []
        grant = {"to": "sales", "where": "category = 'public'"}
        made = post(client, "grants", grant, "legal").json()
        assert (made["tenant"], made["to"]) == ("legal", "sales")
        found = post(client, "across/search/text", asked, "sales").json()
        assert [(hit["tenant"], hit["record"]["uri"]) for hit in found["hits"]] == [
            ("legal", "public")
        ]
        for path, body in (
            ("recall", {"question": "payment"}),
            ("context", {"question": "payment"}),
            ("lookup", {"labels": ["public"]}),
        ):
            answered = post(client, f"across/{path}", body, "sales")
            assert answered.status_code == 200, path
            assert "secret" not in answered.text
        received = client.get("/v1/across/grants", headers={"x-test-tenant": "sales"}).json()
        assert [(one["tenant"], one.get("where")) for one in received] == [("legal", None)]
        # what it does with it is in both audit logs
        calls = client.get("/v1/audit", headers={"x-test-tenant": "legal"}).json()
        assert "federation.search_text" in {call["operation"] for call in calls}
        ended = client.delete(
            "/v1/grants", params={"to": "sales"}, headers={"x-test-tenant": "legal"}
        )
        assert ended.json() == 1
        assert post(client, "across/search/text", asked, "sales").json()["hits"] == []


def test_nobody_asks_or_grants_for_another(tmp_path):
    with with_records(tmp_path) as client:
        stolen = {"to": "sales", "tenant": "legal"}
        assert post(client, "grants", stolen, "hr").status_code == 403
        # a key of all tenants is nobody's
        refused = post(client, "across/search/text", {"text": "payment"})
        assert (refused.status_code, refused.json()["error"]) == (403, "ForbiddenError")
        assert (
            post(client, "across/lookup", {"labels": ["x"], "as_tenant": "hr"}, "hr").status_code
            == 422
        )
