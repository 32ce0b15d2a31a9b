"""Messages as the page says them: what to press here, and never the flags of a command."""

from __future__ import annotations

import re

from reissue.errors import ReissueError

_SETTING = re.compile(r"`--set ([^`]+)`")
_COMMAND = re.compile(r"`(?:reissue )?([a-z]+)\b[^`]* --[^`]*`")


def reword(text: str) -> str:
    """A command that only a terminal has is named without its flags, which its help explains."""
    return _COMMAND.sub(r"`reissue \1` in a terminal", _SETTING.sub(r"the setting \1", text))


def tell(error: ReissueError) -> str:
    """What an error says here."""
    return reword(error.page or str(error))
