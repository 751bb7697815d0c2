"""What tests of the server share: a client of an application, behind a guard that lets one in."""

from contextlib import contextmanager

import msgspec
from starlette.testclient import TestClient

from remloom.memory import Home
from remloom.serve.caller import Caller
from remloom.serve.http.app import create_app
from remloom.settings import Settings
from remloom.tenancy.api_keys import SCOPES


class OpenGuard:
    """Lets everybody in as one caller; the scopes and tenant are those of a header, if given."""

    def __init__(self, app, service):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            scopes = headers.get(b"x-test-scopes", b",".join(s.encode() for s in SCOPES))
            scope["state"]["caller"] = Caller(
                key_id="test",
                tenant=headers.get(b"x-test-tenant", b"acme").decode(),
                scopes=frozenset(scopes.decode().split(",")),
                of_home=True,
            )
        await self.app(scope, receive, send)


def settings_of(home, **changes):
    settings = Settings.load(home=str(home), tenant="acme", embedder="none")
    return msgspec.structs.replace(settings, **changes)


@contextmanager
def served(home, *, guard=OpenGuard, tenants=("acme",), **changes):
    """A client of a server over a home that has some tenants."""
    for tenant in tenants:
        Home(str(home)).create(tenant)
    app = create_app(settings_of(home, **changes), guard=guard)
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client
