"""A new series: a table is dropped, the suggestion judged, a strategy chosen by two questions."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from reissue.audit.auditing import read_strategy
from reissue.compare import compare
from reissue.compare.planning import CHANGES, KNOWS, list_fitting
from reissue.errors import InputError, ReissueError
from reissue.page.answers import Given, Shown, get_office, tell_error
from reissue.page.drafts import ROLES, SeriesDraft
from reissue.page.jobs import Work
from reissue.page.release_pages import preview_snapshot
from reissue.page.uploads import discard, receive
from reissue.report import prepare_comparison


def get_draft(request: Request) -> SeriesDraft:
    return get_office(request).find_draft(request.path_params["draft"])


def show_new(request: Request) -> Shown:
    return {"home": get_office(request).home}


async def upload(request: Request) -> Response:
    """Not a form: the table is the body of the request."""
    office = get_office(request)
    draft = office.add_draft(secrets.token_hex(8))
    try:
        await receive(request, draft.path, office.limit, office.find_key())
        await run_in_threadpool(draft.suggest)
    except ReissueError as error:
        office.drop_draft(draft)
        return tell_error(error)
    return JSONResponse({"to": draft.address})


def show_draft(request: Request) -> Shown:
    draft = get_draft(request)
    proposal = draft.get_proposal()
    return {
        "draft": draft,
        "proposal": proposal,
        "roles": ROLES,
        "published": [(column, proposal.count_branches(column)) for column in proposal.of_role("quasi-identifier")],
        "changes": CHANGES,
        "knows": KNOWS,
        "policies": draft.list_policies(),
        "job": draft.bench.job,
        "home": get_office(request).home.resolve(),
    }


def set_roles(request: Request, given: Given) -> str:
    draft = get_draft(request)
    draft.bench.refuse_busy()
    columns = [column.name for column in draft.get_proposal().columns]
    draft.suggest({name: given.get(f"role.{place}", "left out") for place, name in enumerate(columns)})
    return f"{draft.address}#hierarchies"


def set_answers(request: Request, given: Given) -> str:
    draft = get_draft(request)
    knows = [name for name in KNOWS if given.get(f"knows.{name}")]
    list_fitting(given.get("changes", ""), knows)
    draft.changes, draft.knows = given["changes"], knows
    return f"{draft.address}#fitting"


def run_comparison(request: Request, given: Given) -> str:
    draft = get_draft(request)
    draft.bench.start("The comparison", compare_strategies(draft), stoppable=True)
    return f"{draft.address}#fitting"


def compare_strategies(draft: SeriesDraft) -> Work:
    """The job that publishes the table with every strategy that fits, attacks each, and throws the releases away."""

    def work(say: Callable[[str], None]) -> None:
        names, proposal = [str(one["strategy"]) for one in draft.list_policies()], draft.get_proposal()
        policy = read_strategy(proposal.policy)
        with draft.open() as table:
            done = compare([table], proposal.schema, strategies=names, policy=policy, progress=say)
        draft.comparison = done.to_dict()

    return work


def show_comparison(request: Request) -> Shown:
    draft = get_draft(request)
    if draft.comparison is None:
        raise InputError("The strategies have not been compared yet.")
    charts, shown = prepare_comparison(draft.comparison)
    return {**shown, "charts": charts, "draft": draft}


def write(request: Request, given: Given) -> str:
    draft = get_draft(request)
    path = _find_place(request, given)
    draft.config = draft.choose(given.get("strategy", "")).write_beside(path)[0]
    return f"{draft.address}#create"


def create(request: Request, given: Given) -> str:
    """The series, and its first snapshot waiting in it, previewed."""
    from reissue.series import Series

    draft, office, path = get_draft(request), get_office(request), _find_place(request, given)
    draft.bench.refuse_busy()
    config = draft.config or draft.choose(given.get("strategy", "")).write_beside(path)[0]
    Series.from_config(path, config, key=office.key, replace_unused=True).close()
    desk = office.add(path)
    desk.take(draft.table)
    office.drop_draft(draft)
    desk.bench.start("The preview", preview_snapshot(desk), stoppable=True)
    return f"{desk.address}/next"


def _find_place(request: Request, given: Given) -> Path:
    name = given.get("name", "").strip().removesuffix(".reissue")
    if not name or not all(letter.isalnum() or letter in "-_ ." for letter in name) or name.startswith("."):
        raise InputError("Give the series a name of letters, digits, - and _.")
    return get_office(request).home / f"{name}.reissue"


def throw_away(request: Request, given: Given) -> str:
    draft = get_draft(request)
    draft.bench.refuse_busy()
    discard(draft.path)
    get_office(request).drop_draft(draft)
    return "/"
