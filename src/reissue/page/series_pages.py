"""The list of series, and one series: its releases, its promise, its risk over time, and damage."""

from __future__ import annotations

from collections.abc import Callable
from inspect import getdoc

from starlette.requests import Request

from reissue.errors import ReissueError
from reissue.ledger import REBUILD
from reissue.page.answers import Given, Shown, get_desk, get_office
from reissue.page.desk import Desk
from reissue.page.jobs import Work
from reissue.page.words import tell
from reissue.report import prepare_audit
from reissue.series import Series


def show_list(request: Request) -> Shown:
    office = get_office(request)
    rows = [_summarize(desk) for desk in office.desks.values()]
    return {"rows": rows, "drafts": list(office.drafts.values()), "home": office.home}


def _summarize(desk: Desk) -> Shown:
    try:
        with desk.open() as series:
            return {"desk": desk, "releases": series.releases, "strategy": series.strategy, "error": None}
    except ReissueError as error:  # a series whose key is missing must not hide the others
        return {"desk": desk, "releases": [], "strategy": None, "error": tell(error)}


def show_series(request: Request) -> Shown:
    desk = get_desk(request)
    with desk.open() as series:
        shown = _describe(desk, series)
    if desk.damages is None and not desk.bench.busy:
        desk.bench.start("Checking the files", check_files(desk))
    return {**shown, "desk": desk, "tab": "series", "job": desk.bench.job}


def _describe(desk: Desk, series: Series) -> Shown:
    releases, strategy = series.releases, series.strategy
    numbers = tuple(release.number for release in releases)
    if desk.verified != numbers:
        desk.damages = None
    charts, audit = ({}, None) if desk.audit is None else prepare_audit(desk.audit.to_dict(findings=0))
    return {
        "releases": releases[::-1],
        "most": max((release.counts["published"] for release in releases), default=1),
        "events": [event for event in series.log() if event.what not in ("publish", "adopt")],
        "strategy": strategy,
        "about": (getdoc(type(strategy)) or "").partition("\n\n")[0],
        "edited": series.config_edited,
        "audit": audit,
        "current": desk.audited == numbers,
        "rebuild": REBUILD,
        "charts": {name: charts[name] for name in ("risk", "timeline") if name in charts},
    }


def verify(request: Request, given: Given) -> str:
    return _start(request, "Checking the files", check_files)


def rebuild(request: Request, given: Given) -> str:
    return _start(request, "Making caches again", mend_files)


def _start(request: Request, saying: str, make_job: Callable[[Desk], Work]) -> str:
    desk = get_desk(request)
    desk.bench.start(saying, make_job(desk))
    return desk.address


def check_files(desk: Desk) -> Work:
    """The job that hashes every file."""

    def work(say: Callable[[str], None]) -> None:
        with desk.open() as series:
            desk.damages, desk.verified = series.verify(), tuple(release.number for release in series.releases)

    return work


def mend_files(desk: Desk) -> Work:
    """The job that makes caches again from the facts, and then hashes every file."""

    def work(say: Callable[[str], None]) -> None:
        with desk.open() as series:
            series.verify(rebuild=True)
        check_files(desk)(say)

    return work


def withdraw(request: Request, given: Given) -> str:
    desk = get_desk(request)
    with desk.open() as series:
        series.withdraw(given.get("reason", ""), not_handed_out=given.get("not_handed_out") == "on")
    return desk.address
