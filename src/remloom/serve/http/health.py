"""Whether the server lives, and whether it can work."""

from __future__ import annotations

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ...errors import RemloomError, StoreError
from ...memory.home import Home
from ..service import Service
from .problems import problem

__all__ = ["routes"]


def routes(service: Service) -> list[Route]:
    """Make the routes of health: `/health/live` does no work at all, `/health/ready` opens the
    home."""
    home = Home(service.settings.home, key=service.settings.key or None)

    async def live(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def ready(request: Request) -> Response:
        try:
            tenants = await to_thread.run_sync(home.tenants)
        except (RemloomError, OSError) as error:
            reason = error if isinstance(error, RemloomError) else StoreError("no home to open")
            return problem(reason, request.state.request_id, status=503)
        return JSONResponse({"status": "ok", "tenants": len(tenants)})

    return [Route("/health/live", live), Route("/health/ready", ready)]
