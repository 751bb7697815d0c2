"""A job that is followed: `/v1/jobs/{id}/events`."""

from __future__ import annotations

from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...errors import RemloomError
from ...jobs import Job
from ...operations import OPERATIONS
from ..problems import problem
from ..service import Service
from .endpoint import caller_of, check_again
from .events import follow_job


def routes(service: Service) -> list[Route]:
    """Make the route that follows a job."""
    get_job = next(one for one in OPERATIONS if one.name == "get_job")

    async def follow(request: Request) -> Response:
        request_id = request.scope["state"].get("request_id", "")
        values = get_job.takes(id=unquote(request.path_params["id"]))

        async def look(*, is_noted: bool = False) -> Job:
            await check_again(request)
            caller = caller_of(request)
            job: Job = await service.call(caller, get_job, values, is_noted=is_noted)
            return job

        try:
            # whether there is one is said before the stream begins; to follow it is one call
            await look(is_noted=True)
        except RemloomError as error:
            return problem(error, request_id)
        return follow_job(look, request_id)

    return [Route("/v1/jobs/{id}/events", follow, methods=["GET"])]
