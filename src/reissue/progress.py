"""How far long work is, read from what it says of itself."""

from __future__ import annotations

import re

STAGES = ("read", "compare", "anonymize", "write", "commit")
_COUNTED = re.compile(r"(\d+) of (\d+)")


class Share:
    """How much is done, from 0 to 1; it never goes back while the same thing is being counted."""

    def __init__(self) -> None:
        self.done = 0.0
        self._of = 0

    def move(self, stage: str) -> None:
        """Counts inside counts divide a step: "2 of 4, standing: release 1 of 2"."""
        counted = [(int(number) - 1, max(int(total), 1)) for number, total in _COUNTED.findall(stage)]
        if stage in STAGES:
            counted = [(STAGES.index(stage), len(STAGES))]
        share = 0.0
        for number, total in reversed(counted):
            share = (number + share) / total
        if counted:
            again = counted[0][1] != self._of or (counted[0][0] == 0 and len(counted) == 1)
            self.done = share if again else max(self.done, share)
            self._of = counted[0][1]
