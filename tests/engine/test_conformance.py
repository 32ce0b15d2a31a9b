"""One suite for all engines."""

from __future__ import annotations

from typing import Any

import pytest

from reissue.engine.base import Engine
from reissue.engine.embedded import Embedded
from tests.engine.conformance import Conformance

ENGINES = {
    "embedded": Embedded,
}


@pytest.fixture(params=ENGINES, scope="session")
def engine(request: pytest.FixtureRequest) -> Engine[Any]:
    return ENGINES[request.param]()


class TestConformance(Conformance):
    pass
