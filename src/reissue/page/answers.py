"""How requests become answers: a page is a function from a request to what its template shows, a change one from a
request and what was filled in to where the browser goes next. Both run beside the server, not in it."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Mapping

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from reissue.errors import ReissueError, SeriesBusy
from reissue.page.desk import Desk, Office
from reissue.page.jobs import FAULT
from reissue.page.words import reword, tell
from reissue.report.render import Spec, make_environment, write_chart_data

NOWHERE = "There is no page at this address. What it showed may have been discarded, or the address is not whole."

Given = Mapping[str, str]
"""What was filled in: a form's fields by name."""
Shown = Mapping[str, object]
LONGEST_FORM = 1 << 20


def get_office(request: Request) -> Office:
    office = request.app.state.office
    assert isinstance(office, Office)
    return office


def get_desk(request: Request) -> Desk:
    """The desk that the address names."""
    return get_office(request).find(request.path_params["series"])


def page(path: str, template: str, show: Callable[[Request], Shown]) -> Route:
    """show: what the template needs; `charts` by the id of their element, if it has some."""

    async def answer(request: Request) -> Response:
        try:
            return await run_in_threadpool(lambda: render(request, template, show(request)))
        except ReissueError as error:
            return render(request, "error.html.j2", {"error": tell(error)}, 400)

    return Route(path, answer, methods=["GET"])


def change(path: str, act: Callable[[Request, Given], str]) -> Route:
    """act: does it, and says where the browser goes."""

    async def answer(request: Request) -> Response:
        try:
            return JSONResponse({"to": await run_in_threadpool(act, request, await read_form(request))})
        except ReissueError as error:
            return tell_error(error)

    return Route(path, answer, methods=["POST"])


def tell_error(error: ReissueError) -> Response:
    """For the page's script, which shows it."""
    return JSONResponse({"error": tell(error)}, 409 if isinstance(error, SeriesBusy) else 400)


async def read_form(request: Request) -> Given:
    """The fields of a form, sent as JSON by the page's script."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LONGEST_FORM:
            raise HTTPException(413, "The form is too long.")
    try:
        given = json.loads(body or b"{}")
    except ValueError:
        raise HTTPException(400, "The form could not be read.") from None
    if not isinstance(given, dict):
        raise HTTPException(400, "The form could not be read.")
    return {str(key): str(value) for key, value in given.items()}


def render(request: Request, template: str, shown: Shown, status: int = 200) -> Response:
    """The template inside the page's frame."""
    charts: Mapping[str, Spec] = shown.get("charts", {})  # type: ignore[assignment]
    context = {"desk": None, "tab": None, **shown, "charts": charts, "chart_data": write_chart_data(charts)}
    text = (
        make_environment("reissue.page", reword=reword)
        .get_template(template)
        .render(**context, layout="frame.html.j2", csrf=request.scope["csrf"])
    )
    return HTMLResponse(text, status)


def show_refusal(request: Request, error: Exception) -> Response:
    """A page that is not there, a request that is too long, or a fault of ours: its trace goes to the terminal."""
    known = isinstance(error, HTTPException)
    words, status = (error.detail, error.status_code) if isinstance(error, HTTPException) else (FAULT, 500)
    if words == "Not Found":  # Starlette's own, of an address that is none of ours
        words = NOWHERE
    if not known:
        traceback.print_exception(error, file=sys.stderr)
    if request.method != "GET":
        return JSONResponse({"error": words}, status)
    return render(request, "error.html.j2", {"error": words}, status)


def save_as(name: str, content: str, kind: str) -> Response:
    """A file for the browser to save, not to show."""
    plain = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_.") else "-" for letter in name)
    return Response(content, media_type=kind, headers={"content-disposition": f'attachment; filename="{plain}"'})
