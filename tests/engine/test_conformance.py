"""One suite for all engines."""

from __future__ import annotations

import pytest

from reissue.engine.embedded import Embedded
from reissue.engine.spark.verbs import Spark
from tests.engine.conformance import Conformance, examples
from tests.support import spark


@examples(60)
class TestEmbedded(Conformance):
    @pytest.fixture
    def engine(self) -> Embedded:
        return Embedded()


@spark.together
@spark.quiet
@examples(8)
class TestSpark(Conformance):
    @pytest.fixture
    def engine(self) -> Spark:
        return spark.engine()
