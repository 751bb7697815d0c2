"""`/metrics`, for Prometheus. The guard asks for a key with scope `metrics`."""

from __future__ import annotations

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from ..metrics import CONTENT_TYPE
from ..service import Service


def routes(service: Service) -> list[BaseRoute]:
    """Make the route of a service's metrics."""

    async def metrics(request: Request) -> Response:
        # it asks the memories that are open
        text = await to_thread.run_sync(service.metrics.render)
        return Response(text, headers={"content-type": CONTENT_TYPE})

    return [Route("/metrics", metrics)]
