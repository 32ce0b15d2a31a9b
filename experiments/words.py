"""Words of a study in which nobody has a name and nobody reads the sentences."""

from __future__ import annotations

from reissue.arrays.types import Int32


class Numbers:
    """Codes as they are."""

    def box(self, box: Int32) -> str:
        return str(box.tolist())

    def value(self, code: int) -> str:
        return str(code)

    def subject(self, number: int) -> str:
        return str(number)

    def release(self, number: int) -> str:
        return f"release {number}"
