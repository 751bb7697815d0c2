"""Two tenants at every door of one server, each with words of its own, and the eye that looks for
what is of one in a reply to the other."""

from __future__ import annotations

import atexit
import gc
import json
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
from starlette.testclient import TestClient

from guarded import HERE, OWN, bearer, guarded, make_key
from remloom import Client
from remloom.serve.service import Service
from remloom.serve.workers import Workers
from remloom.tenancy.api_keys import SCOPES
from waiting import until

# at the end of a process msgspec (0.22) reads types that are gone when it is asked what it holds
atexit.register(gc.freeze)

TENANTS = ("tern-quillon", "heron-zebrafinch")
# in all that a tenant writes, and in nothing that anybody asks
MARKS = dict(zip(TENANTS, ("kestrelword", "bitternword"), strict=True))
# a name that one tenant alone has, which the other may guess at
NAMES = dict(zip(TENANTS, ("Yolanda Pimm", "Zebedee Quux"), strict=True))
# names that both have, with another meaning for each
SHARED = ("Sarah Chen", "The Vault", "nightly", "notes/today.md")
ALMOST = {"Yolanda Pimm": "Yolanda Pim", "Zebedee Quux": "Zebede Quux"}

# ids that nobody can know; version 5 is made of a name, and the same wherever the name is
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_OWN_LOG = re.compile(r'\\?"(?:bytes|audit)\\?":\d+,?')
# what both may look at again and again, and what must stay as it was while the other is busy
_VIEWS = (
    "/v1/stats",
    "/v1/records",
    "/v1/jobs",
    "/v1/runs",
    "/v1/complete?prefix=",
    "/v1/profile/subjects",
    "/v1/reader/sessions",
    "/v1/usage",
)
_MCP = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}


class _Workers(Workers):
    """Workers of whom one can tell whether they have anything to do."""

    @property
    def are_idle(self) -> bool:
        # whoever is being worked for is not among those who are due
        soon = time.monotonic() + 1.0
        with self._changed:
            return {name for _, name in self._due} >= {*TENANTS} and self._due[0][0] > soon


class Doors:
    """A server with both tenants, and everything that it answers, looked at."""

    def __init__(self, home: Path) -> None:
        started: list[_Workers] = []
        with patch("remloom.serve.http.app.Workers", lambda *given: _started(started, *given)):
            self._serving = guarded(home, tenants=TENANTS, serve_rate=0)
            self.http: TestClient = self._serving.__enter__()
        (self._workers,) = started
        self.http.event_hooks = {"response": [self._look]}
        self.wrong: list[str] = []
        self.answered: Counter[str] = Counter()
        self.ids: dict[str, set[str]] = {tenant: set() for tenant in TENANTS}
        self._owner: dict[str, str] = {}
        # ids that a tenant itself has named once: its own audit log has them
        self._said: dict[str, set[str]] = {tenant: set() for tenant in TENANTS}
        self._headers: dict[tuple[str, str], dict[str, str]] = {}
        root = make_key(home, *SCOPES, tenant="")
        self._keys = {tenant: make_key(home, *OWN, tenant=tenant) for tenant in TENANTS}
        for tenant, key in self._keys.items():
            self._own(tenant, key.split("_")[1])
            self._headers[tenant, "key"] = bearer(key)
            self._headers[tenant, "root"] = bearer(root, **{"X-Remloom-Tenant": tenant})
            self._headers[tenant, "page"] = self._logged_in(key)
        self._scraper = bearer(make_key(home, "metrics", tenant=""))
        self._clients = {
            tenant: Client(HERE, key=key, http=self.http) for tenant, key in self._keys.items()
        }
        self._let_jobs_end()
        self._seen = {tenant: self._views(tenant) for tenant in TENANTS}

    def close(self) -> None:
        self.http.event_hooks = {"response": []}
        self._serving.__exit__(None, None, None)

    def client(self, tenant: str) -> Client:
        """The client of a tenant."""
        return self._clients[tenant]

    def send(
        self, tenant: str, method: str, path: str, *, way: str = "key", **given: Any
    ) -> httpx.Response:
        """Send a request in the name of a tenant: with a key, as a page, by a key of all."""
        headers = {**self._headers[tenant, way], **given.pop("headers", {})}
        return self.http.request(method, path, headers=headers, **given)

    def call(self, tenant: str, method: str, params: dict[str, Any], way: str = "key") -> Any:
        """Send a request of MCP."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.send(tenant, "POST", "/mcp", way=way, json=body, headers=_MCP)

    def without_key(self, method: str, path: str, **given: Any) -> None:
        """Ask without any key: nothing but what is open may be answered."""
        response = self.http.request(method, path, **given)
        if response.status_code != 401:
            self.wrong.append(f"{method} {path} without a key: {response.status_code}")

    def scrape(self) -> str:
        """Read the metrics, which are of no tenant."""
        return self.http.get("/metrics", headers=self._scraper).text

    def undisturbed(self, busy: str) -> None:
        """Check that whatever one tenant did, nothing that the other sees has changed."""
        self._let_jobs_end()
        for tenant in TENANTS:
            now = self._views(tenant)
            if tenant != busy:
                before = self._seen[tenant]
                self.wrong += [
                    f"{path} of {tenant} changed: {_difference(before[path], now[path])}"
                    for path in now
                    if now[path] != before[path]
                ]
            self._seen[tenant] = now

    def _let_jobs_end(self) -> None:
        """Wait for the jobs and the upkeep of both, which change what each sees in its own time."""
        until(lambda: self._workers.are_idle, "the workers do not come to an end")

    def _views(self, tenant: str) -> dict[str, str]:
        shown = {path: self.send(tenant, "GET", path).text for path in _VIEWS}
        listed = self.call(tenant, "tools/list", {}).text
        held = self.call(tenant, "resources/read", {"uri": "memory://stats"}).text
        shown |= {"tools/list": listed, "memory://stats": held}
        # looking is itself noted in the tenant's own log
        return {path: _OWN_LOG.sub("", text) for path, text in shown.items()}

    def _logged_in(self, key: str) -> dict[str, str]:
        page = {"X-Remloom": "1", "Origin": HERE}
        begun = self.http.post("/v1/session", json={"key": key}, headers=page)
        self.http.cookies.clear()
        cookie = begun.headers["set-cookie"].partition(";")[0]
        return {**page, "Cookie": cookie}

    def _own(self, tenant: str, *ids: str) -> None:
        for id in ids:
            self._owner.setdefault(id, tenant)
            self.ids[tenant].add(id)

    def _look(self, response: httpx.Response) -> None:
        """Look through every byte of a reply for what is of another."""
        response.read()
        request = response.request
        self.http.cookies.clear()
        route = f"{request.method} {request.url.path}"
        self.answered[f"{response.status_code // 100}xx"] += 1
        if response.status_code >= 500:
            self.answered[f"{route.partition('?')[0]} {response.status_code}"] += 1
        # as it was sent, and without the escapes of its path and its query
        query = httpx.QueryParams(request.url.query.decode("latin-1")).multi_items()
        sent = (request.url, request.url.path, query, dict(request.headers), _body(request))
        asked = " ".join(map(str, sent)).casefold()
        told = f"{response.headers.raw!r}\n" + response.content.decode("utf-8", "replace")
        who = self._who(request)
        said = self._said.setdefault(who, set())
        said.update(_ID.findall(asked))
        for word in self._foreign(who):
            is_said = word in said or word.casefold() in asked
            if word.casefold() in told.casefold() and not is_said:
                self.wrong.append(f"{route} told {who or 'nobody'} {word!r}: {told:.2000}")
        if response.status_code >= 500 and response.status_code not in (501, 503):
            self.wrong.append(f"{route} {response.status_code}: {asked:.500} {told:.500}")
        if who and response.status_code < 300:
            found = set(_ID.findall(told)) - said
            self.wrong += [
                f"{route} told {who} an id of another: {id}"
                for id in found
                if self._owner.get(id, who) != who
            ]
            self._own(who, *found)

    def _who(self, request: httpx.Request) -> str:
        for (tenant, _), headers in self._headers.items():
            if all(request.headers.get(name) == value for name, value in headers.items()):
                return tenant
        return ""

    def _foreign(self, who: str) -> list[str]:
        others = [tenant for tenant in TENANTS if tenant != who]
        if not who:
            # who has just logged in or scrapes is told of none either, but of the session
            others = [tenant for tenant in others if self._seen_any()]
        words = [word for one in others for word in (one, MARKS[one], NAMES[one])]
        ids = [id for one in others for id in self.ids[one]]
        return words + ids

    def _seen_any(self) -> bool:
        return hasattr(self, "_seen")


def _difference(before: str, now: str) -> str:
    at = next(
        (n for n, (one, other) in enumerate(zip(before, now, strict=False)) if one != other), 0
    )
    return f"{before[max(0, at - 60) : at + 240]!r} -> {now[max(0, at - 60) : at + 240]!r}"


def _started(started: list[_Workers], service: Service, count: int) -> _Workers:
    started.append(_Workers(service, count))
    return started[-1]


def _body(request: httpx.Request) -> str:
    content = request.read().decode("utf-8", "replace")
    try:
        # as it is, without escapes of JSON
        return content + json.dumps(json.loads(content), ensure_ascii=False)
    except ValueError:
        return content
