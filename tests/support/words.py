"""Words for tests: codes as they are."""

from __future__ import annotations

from dataclasses import dataclass, field

from reissue.arrays.types import Int32


@dataclass(frozen=True)
class PlainWords:
    """Names given by the test; anything else by its number."""

    values: dict[int, str] = field(default_factory=dict)
    subjects: dict[int, str] = field(default_factory=dict)

    def box(self, box: Int32) -> str:
        return ", ".join(f"a{i} {lo}-{hi}" for i, (lo, hi) in enumerate(box.tolist()))

    def value(self, code: int) -> str:
        return self.values.get(code, f"v{code}")

    def subject(self, number: int) -> str:
        return self.subjects.get(number, f"#{number}")

    def release(self, number: int) -> str:
        return f"release {number}"
