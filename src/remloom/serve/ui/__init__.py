"""The pages for people: static files that talk to the REST API of the same server, and to nothing
else.

There is no build step: what is in `static/` is what a browser loads. `vendor/` holds the libraries
with their licences and checksums; `python -m bench.vendor` fetches them.
"""

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
    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers.update(_HEADERS)
        return response
