"""The next release: a snapshot is dropped, previewed beside the last release, then approved or discarded."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

from reissue.errors import ReissueError, SeriesError
from reissue.ledger.sealing import read_name
from reissue.page.answers import Given, Shown, get_desk, get_office, tell_error
from reissue.page.desk import Desk
from reissue.page.jobs import Work
from reissue.page.uploads import discard, find_waiting, open_waiting, receive
from reissue.series.preview import Preview


def show_next(request: Request) -> Shown:
    desk = get_desk(request)
    with desk.open() as series:
        releases = series.releases
    waiting = find_waiting(desk.uploads)
    return {
        "desk": desk,
        "tab": "next",
        "job": desk.bench.job,
        "waiting": None if waiting is None else read_name(waiting),
        "preview": desk.preview,
        "last": releases[-1] if releases else None,
        "published": next((one for one in releases if one.number == desk.published), None),
    }


async def upload(request: Request) -> Response:
    """Not a form: the file is the body of the request."""
    desk = get_desk(request)
    try:
        desk.bench.refuse_busy()
        await receive(request, desk.uploads, get_office(request).limit, desk.find_key())
        desk.preview = desk.published = None
        desk.bench.start("The preview", preview_snapshot(desk), stoppable=True)
    except ReissueError as error:
        return tell_error(error)
    return JSONResponse({"to": f"{desk.address}/next"})


def preview(request: Request, given: Given) -> str:
    desk = get_desk(request)
    desk.bench.start("The preview", preview_snapshot(desk), stoppable=True)
    return f"{desk.address}/next"


def preview_snapshot(desk: Desk) -> Work:
    """The job that makes the release in memory: shown at once, and again when the attacks have been run."""

    def show(found: Preview) -> None:
        desk.preview = found.to_dict()

    def work(say: Callable[[str], None]) -> None:
        with desk.open() as series, _open_waiting(desk) as table:
            show(series.preview(table, early=show, progress=say))

    return work


def stop(request: Request, given: Given) -> str:
    desk = get_desk(request)
    desk.bench.stop()
    return f"{desk.address}/next"


def publish(request: Request, given: Given) -> str:
    desk = get_desk(request)
    allow = [name.removeprefix("allow.") for name, value in given.items() if name.startswith("allow.") and value]
    desk.bench.start("Publishing", publish_snapshot(desk, allow, given.get("label", "").strip() or None))
    return f"{desk.address}/next"


def publish_snapshot(desk: Desk, allow: list[str], label: str | None) -> Work:
    """The job that publishes what waits; then nothing waits any more."""

    def work(say: Callable[[str], None]) -> None:
        with desk.open() as series, _open_waiting(desk) as table:
            desk.published = series.publish(table, allow=allow, label=label, progress=say).number
        discard(desk.uploads)
        desk.preview = None

    return work


def _open_waiting(desk: Desk) -> AbstractContextManager[Path]:
    found = find_waiting(desk.uploads)
    if found is None:
        raise SeriesError("No snapshot waits here: it was published or discarded meanwhile. Nothing was changed.")
    return open_waiting(found, desk.find_key())


def throw_away(request: Request, given: Given) -> str:
    desk = get_desk(request)
    desk.bench.refuse_busy()
    discard(desk.uploads)
    desk.preview = desk.published = None
    desk.bench.clear()
    return f"{desk.address}/next"


def save_zip(request: Request) -> Response:
    """Exactly the public files of a release."""
    desk, file = get_desk(request), Path(tempfile.mkstemp(suffix=".zip")[1])
    try:
        with desk.open() as series:
            release = series.pack(request.path_params["number"], file)
    except ReissueError as error:
        file.unlink()
        return tell_error(error)
    name = f"{desk.name}-{release.number:04d}.zip"
    return FileResponse(file, filename=name, media_type="application/zip", background=BackgroundTask(file.unlink))
