"""The guard: whom it lets in, from where, how much and how often."""

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guarded import HERE, bearer, guarded, make_key
from remloom.errors import LimitError, MisdirectedError, SettingsError
from remloom.serve.guard.authentication import LIFETIME, MOST, Sessions
from remloom.serve.guard.bodies import LARGEST, LARGEST_READ, MIB, LimitedBody, limit_of
from remloom.serve.guard.middleware import BURST, RateLimit
from remloom.serve.guard.origins import Origins
from remloom.settings import Settings


@pytest.fixture
def client(tmp_path):
    with guarded(tmp_path) as client:
        yield client


@pytest.fixture
def key(tmp_path, client):
    return make_key(tmp_path)


def test_a_key_opens_its_tenant(client, key):
    stats = client.get("/v1/stats", headers=bearer(key))
    assert stats.status_code == 200
    assert stats.json()["tenant"] == "acme"


@pytest.mark.parametrize(
    "value", ["", "Bearer", "Bearer ", "Basic cmxtOnJsbQ==", "rlm_x", "Bearer rlm_x", "Bearer a b"]
)
def test_another_authorization_is_refused(client, key, value):
    response = client.get("/v1/stats", headers={"Authorization": value})
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"].startswith("Bearer ")
    assert response.json()["remedy"]


def test_two_authorizations_are_refused(client, key):
    twice = [("Authorization", f"Bearer {key}"), ("Authorization", f"Bearer {key}")]
    assert client.get("/v1/stats", headers=twice).status_code == 401


def test_blanks_around_the_values_of_headers_are_stripped(client, key):
    headers = {"Authorization": f"Bearer {key} \t", "X-Remloom-Extra": "  "}
    assert client.get("/v1/stats", headers=headers).status_code == 200


def test_a_websocket_is_refused(client, key):
    from starlette.websockets import WebSocketDisconnect

    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/v1/stats"):
        pass


# -- hosts and origins -----------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8765", "[::1]:8765", "LOCALHOST:1"])
def test_loopback_has_many_names(client, key, host):
    assert client.get("/v1/stats", headers=bearer(key, Host=host)).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "8.8.8.8", ""]
)
def test_another_host_is_refused_and_the_option_named(client, key, host):
    response = client.get("/v1/stats", headers=bearer(key, Host=host))
    assert response.status_code == 421
    assert "--allow-host" in response.json()["remedy"]


def test_a_host_that_is_allowed_is_let_in(tmp_path):
    with guarded(tmp_path, serve_allowed_hosts="a.example, memory.example:8443") as client:
        key = make_key(tmp_path)
        for host in ("a.example", "a.example:80", "memory.example:8443"):
            assert client.get("/v1/stats", headers=bearer(key, Host=host)).status_code == 200
        refused = client.get("/v1/stats", headers=bearer(key, Host="b.example"))
        assert refused.status_code == 421


def test_the_address_that_is_listened_on_is_a_host():
    origins = Origins(Settings(serve_bind="192.168.1.5:80"))
    origins.check_host("192.168.1.5:80")
    with pytest.raises(MisdirectedError):
        origins.check_host("192.168.1.6:80")


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:9", "https://127.0.0.1:87650", ""]
)
def test_a_page_of_another_origin_is_refused_and_the_option_named(client, key, origin):
    response = client.get("/v1/stats", headers=bearer(key, Origin=origin))
    assert response.status_code == 403
    assert "--allow-origin" in response.json()["remedy"]
    assert "access-control-allow-origin" not in response.headers


def test_a_page_of_the_server_itself_is_let_in(client, key):
    assert client.get("/v1/stats", headers=bearer(key, Origin=HERE)).status_code == 200


def test_a_page_of_a_listed_origin_may_call_without_cookies(tmp_path):
    chat = "https://chat.example"
    with guarded(tmp_path, serve_allowed_origins=chat) as client:
        key = make_key(tmp_path)
        asked = {"Origin": chat, "Access-Control-Request-Method": "POST"}
        preflight = client.options("/v1/recall", headers=asked)
        assert preflight.status_code == 204
        assert "Authorization" in preflight.headers["access-control-allow-headers"]
        answer = client.get("/v1/stats", headers=bearer(key, Origin=chat))
        assert answer.status_code == 200
        for response in (preflight, answer):
            assert response.headers["access-control-allow-origin"] == chat
            assert "access-control-allow-credentials" not in response.headers
            assert "Origin" in response.headers["vary"]
        client.post("/v1/session", json={"key": key}, headers={"X-Remloom": "1"})
        assert client.get("/v1/stats").status_code == 200
        assert client.get("/v1/stats", headers={"Origin": chat}).status_code == 403
        asked["Origin"] = "https://evil.example"
        assert client.options("/v1/recall", headers=asked).status_code == 403


@pytest.mark.parametrize("origin", ["*", "chat.example", "https://*.example", "https://a/b"])
def test_an_origin_that_is_none_is_refused_at_the_start(origin):
    with pytest.raises(SettingsError):
        Origins(Settings(serve_allowed_origins=origin))


# -- bodies ----------------------------------------------------------------------------------------


def test_bodies_have_limits():
    settings = Settings()
    assert limit_of("/v1/recall", settings) == LARGEST_READ
    assert limit_of("/v1/write", settings) == LARGEST
    assert limit_of("/mcp", settings) == LARGEST
    assert limit_of("/v1/documents", settings) == 100 * MIB


@pytest.mark.parametrize("length", [str(10**9), "-1", "many", "1e3", str(LARGEST + 1)])
def test_a_body_that_says_that_it_is_too_large_is_not_read(client, key, length):
    def body():
        pytest.fail("the body was read")
        yield b""

    headers = bearer(key, **{"Content-Length": length, "Content-Type": "application/json"})
    response = client.post("/v1/write", content=body(), headers=headers)
    assert response.status_code == 413


def exchange(parts, settings, *, path="/v1/write", pause=0.0):
    """What an application gets of a body, and what is answered."""
    got, sent = [], []
    parts = list(parts)

    async def receive():
        if not parts:
            await anyio.sleep(pause)
            return {"type": "http.disconnect"}
        part = parts.pop(0)
        await anyio.sleep(pause)
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    async def send(message):
        sent.append(message)

    async def run():
        scope = {"type": "http", "path": path, "headers": [], "state": {"request_id": "r"}}
        body = LimitedBody(scope, receive, send, settings)
        while True:
            message = await body.receive()
            got.append(message)
            if not message.get("more_body"):
                break
        await body.send({"type": "http.response.start", "status": 200, "headers": []})

    anyio.run(run)
    return got, sent


def test_a_body_without_a_length_is_cut_off_when_it_is_too_large():
    got, sent = exchange([b"x" * MIB] * 6, Settings())
    assert got[-1]["type"] == "http.disconnect"
    assert len(got) == 5
    assert [message["status"] for message in sent if "status" in message] == [413]


def test_a_body_that_comes_too_slowly_is_given_up():
    got, sent = exchange([b"x"] * 50, Settings(serve_timeout=0.03), pause=0.01)
    assert got[-1]["type"] == "http.disconnect"
    assert [message["status"] for message in sent if "status" in message] == [408]


def test_a_body_in_time_is_passed_on():
    got, sent = exchange([b"a", b"b"], Settings())
    assert b"".join(message["body"] for message in got) == b"ab"
    assert sent[0]["status"] == 200


# -- rate ------------------------------------------------------------------------------------------


def test_each_key_has_a_bucket_of_calls():
    now = [0.0]
    rate = RateLimit(2.0, clock=lambda: now[0])
    for _ in range(int(2 * BURST)):
        rate.take("a")
    with pytest.raises(LimitError) as limit:
        rate.take("a")
    assert limit.value.fields["retry_after"] == 1
    rate.take("b")
    now[0] += 0.5
    rate.take("a")
    with pytest.raises(LimitError):
        rate.take("a")


def test_calls_beyond_the_rate_are_told_when_to_come_again(tmp_path):
    with guarded(tmp_path, serve_rate=0.1) as client:
        key = make_key(tmp_path)
        assert client.get("/v1/stats", headers=bearer(key)).status_code == 200
        response = client.get("/v1/stats", headers=bearer(key))
        assert response.status_code == 429
        assert 1 <= int(response.headers["Retry-After"]) <= 10


# -- sessions --------------------------------------------------------------------------------------


def test_a_page_logs_in_and_out(client, key):
    page = {"X-Remloom": "1", "Origin": HERE}
    begun = client.post("/v1/session", json={"key": key}, headers=page)
    assert begun.json()["tenant"] == "acme"
    assert key not in begun.headers["set-cookie"]
    assert client.get("/v1/session").json()["scopes"]
    assert client.get("/v1/stats").status_code == 200
    cookie = client.cookies["remloom_session"]
    assert client.delete("/v1/session", headers=page).status_code == 204
    client.cookies.set("remloom_session", cookie)
    assert client.get("/v1/stats").status_code == 401


@pytest.mark.parametrize("body", [b"", b"[]", b'{"key": 1}', b'{"key": "rlm_x", "more": 1}'])
def test_what_is_no_key_begins_no_session(client, body):
    response = client.post("/v1/session", content=body, headers={"X-Remloom": "1"})
    assert response.status_code == 422
    assert "set-cookie" not in response.headers


def test_a_session_ends_with_its_key(client, key):
    client.post("/v1/session", json={"key": key}, headers={"X-Remloom": "1"})
    id = client.get("/v1/session").json()["key_id"]
    assert client.delete(f"/v1/keys/{id}", headers={"X-Remloom": "1"}).status_code == 204
    assert client.get("/v1/stats").status_code == 401


def test_signing_in_again_and_again_ends_sessions_of_that_key_alone():
    clock = [0.0]
    sessions = Sessions(clock=lambda: clock[0])
    other = sessions.begin("other")
    begun = [sessions.begin("busy") for _ in range(3 * MOST)]
    assert sessions.key_of(other) == "other"
    assert [sessions.key_of(cookie) for cookie in begun[-MOST:]] == ["busy"] * MOST
    assert {sessions.key_of(cookie) for cookie in begun[:-MOST]} == {""}


@given(st.lists(st.tuples(st.sampled_from("bet"), st.integers(0, 3))))
def test_sessions_are_those_that_began_last_and_have_not_ended(steps):
    clock, sessions, expected = [0.0], Sessions(clock=lambda: clock[0]), {}
    for step, number in steps:
        if step == "b":
            expected[sessions.begin(f"key {number}")] = (f"key {number}", clock[0] + LIFETIME)
        elif step == "e" and len(expected) > number:
            cookie = list(expected)[number]
            sessions.end(cookie)
            del expected[cookie]
        elif step == "t":
            clock[0] += LIFETIME / 3
        for cookie, (key, end) in expected.items():
            assert sessions.key_of(cookie) == (key if clock[0] < end else "")
