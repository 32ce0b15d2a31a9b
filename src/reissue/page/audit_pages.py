"""The audit of a series: its findings, narrowed down; one person; and the same as files."""

from __future__ import annotations

from collections.abc import Callable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from reissue.audit.result import IN_REPORT, Audit
from reissue.page.answers import Given, Shown, get_desk, save_as
from reissue.page.desk import Desk
from reissue.page.jobs import Work
from reissue.report import prepare_audit


def show_audit(request: Request) -> Shown:
    desk = get_desk(request)
    asked = {"attack": "", "release": "", **request.query_params}
    shown: Shown = {"desk": desk, "tab": "audit", "job": desk.bench.job, "asked": asked}
    if desk.audit is None:
        return {**shown, "audit": None}
    release = int(asked["release"]) if asked["release"].isdecimal() else None
    document = desk.audit.to_dict(findings=IN_REPORT)
    charts, audit = prepare_audit(document, attack=asked["attack"] or None, release=release)
    return {**shown, **audit, "charts": charts, "person": desk.person}


def look_up(request: Request, given: Given) -> str:
    """By a form that is sent, not by the address: browsers remember addresses."""
    desk = get_desk(request)
    desk.person = None
    desk.person = _get_audit(desk).look_up(given.get("person", ""))
    return f"{desk.address}/audit#lookup"


def run_audit(request: Request, given: Given) -> str:
    desk = get_desk(request)
    desk.bench.start("The audit", audit_series(desk, names=given.get("names") == "on"))
    return f"{desk.address}/audit"


def audit_series(desk: Desk, names: bool) -> Work:
    """The job that attacks the series in every way that applies."""

    def work(say: Callable[[str], None]) -> None:
        with desk.open() as series:
            numbers = tuple(release.number for release in series.releases)
            desk.audit, desk.audited, desk.person = series.audit(names=names, progress=say), numbers, None

    return work


def save_html(request: Request) -> Response:
    desk = get_desk(request)
    return save_as(f"{desk.name}-audit.html", _get_audit(desk).to_html(), "text/html")


def save_json(request: Request) -> Response:
    desk = get_desk(request)
    return save_as(f"{desk.name}-audit.json", _get_audit(desk).to_json(), "application/json")


def _get_audit(desk: Desk) -> Audit:
    if desk.audit is None:
        raise HTTPException(404, "The series has not been audited on this page yet.")
    return desk.audit
