"""Whether the server lives, and whether it can work."""

from __future__ import annotations

from pathlib import Path

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ...errors import RemloomError, StoreError
from ...memory.home import Home
from ...model import TenantInfo
from ..problems import problem
from ..service import Service


def routes(service: Service) -> list[Route]:
    """Make the routes of health: `/health/live` does no work at all, `/health/ready` opens the
    home."""
    home = Home(service.settings.home, key=service.settings.key or None)

    folder = None if "://" in service.settings.home else Path(service.settings.home).expanduser()
    # one that was never there is made with the first tenant
    was_there = folder is not None and folder.is_dir()

    def tenants_of_home() -> list[TenantInfo]:
        nonlocal was_there
        is_there = folder is not None and folder.is_dir()
        if was_there and not is_there:
            raise StoreError(
                "the home's folder is gone", remedy="mount it again, or move it back; then restart"
            )
        was_there = is_there
        return home.tenants()

    async def live(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def ready(request: Request) -> Response:
        try:
            tenants = await to_thread.run_sync(tenants_of_home)
        except (RemloomError, OSError) as error:
            reason = error if isinstance(error, RemloomError) else StoreError("no home to open")
            return problem(reason, request.state.request_id, status=503)
        return JSONResponse({"status": "ok", "tenants": len(tenants)})

    return [Route("/health/live", live), Route("/health/ready", ready)]
