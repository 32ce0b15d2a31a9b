"""Who may use the page: one browser per link, from this machine, and only by pages of its own.

A link holds a token that opens one session and is worth nothing afterwards. The session is a cookie that no script and
no other site can use. Pages of other origins may send requests, but none that passes: the name of the host, the origin
and, for every change, a token that only pages of the session hold are compared. Nothing may be kept, framed or loaded
from elsewhere.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ENTER = "/enter"
TOKEN = "x-reissue-token"
"""The header by which a page of the session makes itself known with every change."""

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
# By a page of its own, not by a redirect: a strict cookie is not sent along with what another site began.
_ENTERED = (
    '<!doctype html><html lang="en"><head><title>Reissue</title><link rel="icon" href="data:,">'
    '<meta http-equiv="refresh" content="0;url=/"></head><body><p><a href="/">Go on to the series</a></p></body></html>'
)
_STRANGER = (
    '<!doctype html><html lang="en"><head><title>Reissue</title><link rel="icon" href="data:,"></head><body><main>'
    "<h1>This page is not open here</h1><p>Each link that <code>reissue serve</code> prints opens one browser, once. "
    "Use the newest one in its terminal.</p></main></body></html>"
)


class Guard:
    """Everything that reaches the application passes here.

    hosts: what the page may be called ("127.0.0.1:8000"). tell: is called with a new link's token whenever one is used
    """

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...], tell: Callable[[str], None]) -> None:
        self._app, self._hosts, self._tell = app, hosts, tell
        self._cookie = f"reissue-{hosts[0].rpartition(':')[2]}"  # browsers share cookies among the ports of a machine
        self._sessions: dict[str, str] = {}
        self._token = secrets.token_urlsafe(32)

    @property
    def token(self) -> str:
        """Of the link that opens the next session."""
        return self._token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # nothing else is served
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refuse_strangers(headers) or self._admit(scope, headers)
        await (refusal or self._app)(scope, receive, _Sealed(send))

    def _refuse_strangers(self, headers: dict[str, str]) -> Response | None:
        """A name that leads here by somebody else's doing, or a page that is not ours."""
        if headers.get("host") not in self._hosts:
            return PlainTextResponse("This page is for this machine only.", 421)
        origin = headers.get("origin")
        if origin is not None and origin not in [f"http://{host}" for host in self._hosts]:
            return PlainTextResponse("Another page asked for this.", 403)
        return None

    def _admit(self, scope: Scope, headers: dict[str, str]) -> Response | None:
        """None for who has a session, and for a change its token; scope["csrf"] then holds it."""
        if scope["path"] == ENTER and scope["method"] == "GET":
            return self._open_session(scope)
        expected = self._sessions.get(self._read_cookie(headers))
        if expected is None:
            return HTMLResponse(_STRANGER, 403)
        if scope["method"] not in ("GET", "HEAD"):
            given = headers.get(TOKEN, "")
            same_site = headers.get("sec-fetch-site", "same-origin") == "same-origin"
            if not same_site or not secrets.compare_digest(given.encode(), expected.encode()):
                return PlainTextResponse("Another page asked for this.", 403)
        scope["csrf"] = expected
        return None

    def _open_session(self, scope: Scope) -> Response:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not secrets.compare_digest(given.encode(), self._token.encode()):
            return HTMLResponse(_STRANGER, 403)
        self._token = secrets.token_urlsafe(32)
        session = secrets.token_urlsafe(32)
        self._sessions[session] = secrets.token_urlsafe(32)
        answer = HTMLResponse(_ENTERED)
        answer.set_cookie(self._cookie, session, httponly=True, samesite="strict")
        self._tell(self._token)
        return answer

    def _read_cookie(self, headers: dict[str, str]) -> str:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return ""
        return "" if found is None else found.value


class _Sealed:
    """Sends answers with the headers that keep them here."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message["headers"], *own]}
        await self._send(message)
