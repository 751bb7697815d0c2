"""Access tokens of an OAuth issuer: one on loopback, with a key of its own."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from guarded import bearer, guarded, make_key
from remloom.errors import SettingsError
from remloom.serve.guard.oauth import open_tokens
from remloom.settings import Settings

RESOURCE = "https://memory.example/mcp"


class Issuer:
    """Signs tokens, and serves the public half of its key."""

    def __init__(self):
        self.fetched = 0
        self.key = ec.generate_private_key(ec.SECP256R1())
        algorithm = jwt.algorithms.ECAlgorithm(jwt.algorithms.ECAlgorithm.SHA256)
        public = json.loads(algorithm.to_jwk(self.key.public_key()))
        keys = json.dumps({"keys": [{**public, "kid": "one", "use": "sig", "alg": "ES256"}]})
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                issuer.fetched += 1
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(keys.encode())

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def token(self, *, key=None, kid="one", algorithm="ES256", without=(), **changes):
        claims = {
            "iss": self.url,
            "aud": RESOURCE,
            "sub": "ann",
            "exp": time.time() + 60,
            "tenant": "acme",
            "scope": "memory.read openid",
            **changes,
        }
        claims = {name: value for name, value in claims.items() if name not in without}
        key = None if algorithm == "none" else key or self.key
        return jwt.encode(claims, key, algorithm=algorithm, headers={"kid": kid})


@pytest.fixture(scope="module")
def issuer():
    made = Issuer()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def client(tmp_path, issuer):
    with guarded(
        tmp_path,
        serve_oauth_issuer=issuer.url,
        serve_oauth_jwks_url=f"{issuer.url}/jwks.json",
        serve_oauth_resource=RESOURCE,
        serve_oauth_scopes="memory.read=read, memory.write=write",
    ) as client:
        yield client


def test_a_token_opens_the_tenant_that_it_names(client, issuer):
    response = client.get("/v1/stats", headers=bearer(issuer.token()))
    assert response.status_code == 200, response.text
    assert response.json()["tenant"] == "acme"
    other = client.get("/v1/stats", headers=bearer(issuer.token(tenant="other")))
    assert other.json()["tenant"] == "other"


def test_keys_hold_beside_it(client, tmp_path):
    assert client.get("/v1/stats", headers=bearer(make_key(tmp_path))).status_code == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "https://another.example/mcp"},
        {"iss": "https://evil.example"},
        {"exp": 1},
        {"nbf": 4_000_000_000},
        {"without": ("exp",)},
        {"without": ("aud",)},
        {"without": ("sub",)},
        {"key": ec.generate_private_key(ec.SECP256R1())},
        {"kid": "two"},
        {"key": "s" * 64, "algorithm": "HS256"},
        {"algorithm": "none"},
    ],
    # a key has another text in each process
    ids=lambda changes: " ".join(map(str, changes)),
)
def test_a_token_that_is_not_for_this_server_is_refused(client, issuer, changes):
    response = client.get("/v1/stats", headers=bearer(issuer.token(**changes)))
    assert response.status_code == 401
    challenge = response.headers["WWW-Authenticate"]
    where = "https://memory.example/.well-known/oauth-protected-resource/mcp"
    assert f'resource_metadata="{where}"' in challenge


@pytest.mark.parametrize("token", ["x", "a.b.c", "....", "eyJhbGciOiJub25lIn0.e30."])
def test_what_is_no_token_is_refused(client, token):
    assert client.get("/v1/stats", headers=bearer(token)).status_code == 401


@pytest.mark.parametrize(
    "changes", [{"without": ("tenant",)}, {"tenant": ["acme"]}, {"scope": "openid"}, {"scope": ""}]
)
def test_a_token_without_tenant_or_scope_may_nothing(client, issuer, changes):
    response = client.get("/v1/stats", headers=bearer(issuer.token(**changes)))
    assert response.status_code == 403


def test_a_token_gives_its_scopes_and_no_more(client, issuer):
    body = {"text": "t", "uri": "u"}
    reads = bearer(issuer.token(scope="memory.read admin write"))
    assert client.post("/v1/texts", json=body, headers=reads).status_code == 403
    assert client.get("/v1/tenants", headers=reads).status_code == 403
    writes = bearer(issuer.token(scope="memory.write"))
    assert client.post("/v1/texts", json=body, headers=writes).status_code == 200
    named = {**reads, "X-Remloom-Tenant": "other"}
    assert client.get("/v1/stats", headers=named).status_code == 403


def test_unknown_keys_do_not_make_it_fetch_again_and_again(client, issuer):
    client.get("/v1/stats", headers=bearer(issuer.token()))
    before = issuer.fetched
    for number in range(20):
        client.get("/v1/stats", headers=bearer(issuer.token(kid=f"k{number}")))
    assert issuer.fetched - before <= 1


def test_clients_learn_where_to_get_a_token(client, issuer):
    for path in ("", "/mcp"):
        response = client.get(f"/.well-known/oauth-protected-resource{path}")
        assert response.json()["authorization_servers"] == [issuer.url]
        assert response.json()["resource"] == RESOURCE
        assert response.json()["scopes_supported"] == ["memory.read", "memory.write"]


def test_without_an_issuer_there_is_none_and_nothing_is_fetched(tmp_path, issuer):
    before = issuer.fetched
    with guarded(tmp_path) as client:
        assert client.get("/.well-known/oauth-protected-resource").status_code == 404
        assert client.get("/v1/stats", headers=bearer(issuer.token())).status_code == 401
    assert issuer.fetched == before


@pytest.mark.parametrize(
    "changes",
    [
        {"serve_oauth_issuer": ""},
        {"serve_oauth_resource": ""},
        {"serve_oauth_jwks_url": "http://login.example/jwks"},
        {"serve_oauth_jwks_url": "file:///etc/passwd"},
        {"serve_oauth_scopes": "memory.read"},
        {"serve_oauth_scopes": "memory.read=everything"},
    ],
    ids=str,
)
def test_half_a_setting_is_an_error_at_the_start(changes):
    whole = {
        "serve_oauth_issuer": "https://login.example",
        "serve_oauth_jwks_url": "https://login.example/jwks",
        "serve_oauth_resource": RESOURCE,
    }
    assert open_tokens(Settings(**whole)) is not None
    with pytest.raises(SettingsError):
        open_tokens(Settings(**{**whole, **changes}))
