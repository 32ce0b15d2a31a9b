"""The addresses of the page."""

from __future__ import annotations

from importlib import resources

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from reissue.page import audit_pages, new_pages, release_pages, series_pages
from reissue.page.answers import change, get_desk, page, show_refusal
from reissue.page.desk import Office
from reissue.report.render import make_bundle, read_file

SERIES, DRAFT = "/series/{series}", "/new/{draft}"


def make_app(office: Office) -> Starlette:
    """The application, to be put behind a Guard."""
    app = Starlette(
        routes=[
            page("/", "list.html.j2", series_pages.show_list),
            page("/new", "new.html.j2", new_pages.show_new),
            Route("/new/table", new_pages.upload, methods=["POST"]),
            page(DRAFT, "draft.html.j2", new_pages.show_draft),
            change(f"{DRAFT}/roles", new_pages.set_roles),
            change(f"{DRAFT}/answers", new_pages.set_answers),
            change(f"{DRAFT}/compare", new_pages.run_comparison),
            page(f"{DRAFT}/comparison", "comparison_page.html.j2", new_pages.show_comparison),
            change(f"{DRAFT}/write", new_pages.write),
            change(f"{DRAFT}/create", new_pages.create),
            change(f"{DRAFT}/discard", new_pages.throw_away),
            Route(f"{DRAFT}/job", show_draft_job),
            page(SERIES, "series.html.j2", series_pages.show_series),
            change(f"{SERIES}/verify", series_pages.verify),
            change(f"{SERIES}/rebuild", series_pages.rebuild),
            change(f"{SERIES}/withdraw", series_pages.withdraw),
            page(f"{SERIES}/next", "next.html.j2", release_pages.show_next),
            Route(f"{SERIES}/snapshot", release_pages.upload, methods=["POST"]),
            change(f"{SERIES}/preview", release_pages.preview),
            change(f"{SERIES}/stop", release_pages.stop),
            change(f"{SERIES}/publish", release_pages.publish),
            change(f"{SERIES}/discard", release_pages.throw_away),
            Route(f"{SERIES}/releases/{{number:int}}.zip", release_pages.save_zip),
            page(f"{SERIES}/audit", "audit_page.html.j2", audit_pages.show_audit),
            change(f"{SERIES}/audit", audit_pages.run_audit),
            change(f"{SERIES}/person", audit_pages.look_up),
            Route(f"{SERIES}/audit.html", audit_pages.save_html),
            Route(f"{SERIES}/audit.json", audit_pages.save_json),
            Route(f"{SERIES}/job", show_job),
            Route("/static/{name}", send_file),
        ],
        exception_handlers={HTTPException: show_refusal, Exception: show_refusal},
    )
    app.state.office = office
    return app


def show_job(request: Request) -> Response:
    """How far the work is, for the page's script."""
    desk = get_desk(request)
    job = desk.bench.job
    return JSONResponse({"running": False} if job is None else {**job.to_dict(), "early": desk.preview is not None})


def show_draft_job(request: Request) -> Response:
    """The same of a series that is being prepared."""
    job = new_pages.get_draft(request).bench.job
    return JSONResponse({"running": False} if job is None else job.to_dict())


def send_file(request: Request) -> Response:
    """Our own style and scripts, and Vega as it is installed."""
    name = request.path_params["name"]
    if name == "style.css":
        return Response(read_file(name), media_type="text/css")
    if name == "charts.js":
        return Response(read_file("page.js"), media_type="text/javascript")
    if name == "vega.js":
        return Response(make_bundle(), media_type="text/javascript")
    if name not in ("page.css", "page.js"):
        raise HTTPException(404, "There is no such file.")
    text = resources.files("reissue.page").joinpath("static", name).read_text(encoding="utf-8")
    return Response(text, media_type="text/css" if name.endswith("css") else "text/javascript")
