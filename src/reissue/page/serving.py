"""The server: on this machine only, one link for each browser."""

from __future__ import annotations

import socket
import tempfile
import webbrowser
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from reissue.errors import InputError, MissingExtra

if TYPE_CHECKING:
    import uvicorn

    from reissue.page.desk import Office

HOST = "127.0.0.1"
NEEDED = "The page needs starlette, uvicorn and what reports need: pip install 'reissue[page]'."


def serve(
    series: Sequence[str | Path],
    *,
    home: str | Path = ".",
    port: int = 0,
    key: str | None = None,
    browse: bool = True,
    tell: Callable[[str], None],
) -> None:
    """Serve the steward's page until it is interrupted; without series those that lie in `home`.

    port: 0 takes a free one. browse: whether to open the browser of this machine. tell: gets each link.
    """
    if [name for name in ("altair", "jinja2", "starlette", "uvicorn", "vl_convert") if find_spec(name) is None]:
        raise MissingExtra(NEEDED)
    from reissue.page.desk import Office, find_series

    office = Office(Path(home), [_check_series(Path(path)) for path in series] or find_series(Path(home)), key)
    with listen(port) as listener, tempfile.TemporaryDirectory(prefix="reissue-") as folder:

        def open_first(link: str) -> None:
            tell(f"Open {link}\nThe link opens one browser, once. Ctrl-C ends the page.")
            if browse:
                _open_browser(link, Path(folder))

        server = make_server(office, listener, open_first, lambda link: tell(f"For another browser: {link}"))
        server.run(sockets=[listener])


def make_server(
    office: Office, listener: socket.socket, first: Callable[[str], None], more: Callable[[str], None]
) -> uvicorn.Server:
    """The server for a socket that listens. first, more: get the first link, and a new one whenever one is used."""
    import uvicorn

    from reissue.page.app import make_app
    from reissue.page.guard import ENTER, Guard

    port = listener.getsockname()[1]
    hosts = (f"{HOST}:{port}", f"localhost:{port}")
    guard = Guard(make_app(office), hosts, lambda token: more(f"http://{hosts[0]}{ENTER}?token={token}"))
    first(f"http://{hosts[0]}{ENTER}?token={guard.token}")
    return uvicorn.Server(
        uvicorn.Config(
            guard,
            log_level="error",
            lifespan="off",
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=1,  # nothing is lost: a release is published as a whole or not at all
        )
    )


def listen(port: int) -> socket.socket:
    """A socket that listens to this machine alone."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(64)  # a browser that comes before the server waits for it
    except OSError as error:
        listener.close()
        raise InputError(f"Port {port} cannot be used: {error.strerror}. Choose another, or none.") from error
    return listener


def _check_series(path: Path) -> Path:
    if not (path / "private" / "series.json").is_file():
        raise InputError(f"{path} is no series. Name folders of series, or none: then those of this folder are shown.")
    return path


def _open_browser(link: str, folder: Path) -> None:
    """By way of a private file: everybody on this machine can see what programs are started with, but not read it."""
    file = folder / "open.html"
    file.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={link}"><a href="{link}">Open</a>')
    file.chmod(0o600)
    webbrowser.open(file.as_uri())
