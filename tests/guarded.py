"""A server behind its guard, for tests: with keys of two tenants."""

from contextlib import contextmanager

from starlette.testclient import TestClient

from remloom.memory import Home
from remloom.serve.http.app import create_app
from remloom.tenancy.api_keys import ApiKeys
from serving import settings_of

OWN = ("read", "write", "forget", "dream", "admin")
HERE = "http://127.0.0.1:8765"


def bearer(key, **headers):
    return {"Authorization": f"Bearer {key}", **headers}


def make_key(home, *scopes, tenant="acme", **options):
    with ApiKeys(settings_of(home)) as keys:
        return keys.create("test", scopes or OWN, tenant=tenant, **options).key


@contextmanager
def guarded(home, *, tenants=("acme", "other"), **changes):
    """A client that sends no key, and the application."""
    for tenant in tenants:
        Home(str(home), key=changes.get("key")).create(tenant)
    app = create_app(settings_of(home, **changes))
    with TestClient(app, base_url=HERE, raise_server_exceptions=False) as client:
        yield client
