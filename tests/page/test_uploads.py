"""A large file passes through the page in pieces."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import MutableMapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from starlette.requests import Request

from reissue.page.uploads import receive

PIECE, PIECES = 1 << 16, 512


def test_a_file_of_32_mb_takes_a_tenth_of_that_in_memory(tmp_path: Path) -> None:
    left = PIECES

    async def send() -> MutableMapping[str, Any]:
        nonlocal left
        left -= 1
        return {"type": "http.request", "body": bytes(PIECE), "more_body": left > 0}

    request = Request({"type": "http", "method": "POST", "headers": [(b"x-reissue-file", b"a.csv")]}, send)
    tracemalloc.start()
    with ThreadPoolExecutor(1) as pool:  # this thread may have a loop of its own: the browser's
        kept = pool.submit(asyncio.run, receive(request, tmp_path / "uploads", 1 << 30)).result()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert kept.stat().st_size == PIECE * PIECES
    assert peak < PIECE * PIECES / 10
