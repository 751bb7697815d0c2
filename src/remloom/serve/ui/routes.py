"""The routes of the pages: files that hold nothing of anybody's memory, so they need no key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from ..service import Service

STATIC = Path(__file__).with_name("static")
# nothing is loaded from, sent to or framed by another origin, and nothing inline is run
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # asked again each time, and answered with 304: a new version is never mixed with an old one
    "Cache-Control": "no-cache",
}


def mount(service: Service) -> list[BaseRoute]:
    """Make the routes of the pages: `/ui/`, and `/` which leads there.

    They need nothing of the service: what they show, a browser asks for over REST.
    """
    return [
        Route("/", _to_pages, include_in_schema=False),
        Mount("/ui", app=_Pages(directory=STATIC, html=True), name="ui"),
    ]


async def _to_pages(request: Request) -> Response:
    return RedirectResponse(f"{request.scope.get('root_path', '')}/ui/")


class _Pages(StaticFiles):
    """The files, with the headers that keep a browser to them."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers.update(_HEADERS)
        return response
