"""How an object shows itself at a prompt and in a notebook: one line, or a small table; never its arrays."""

from __future__ import annotations

from html import escape

Sketch = tuple[str, dict[str, object]]
"""A title, and what else is told, by name."""


class Shown:
    """Whoever has a sketch has a short `repr`, and a table in a notebook in which data cannot become markup."""

    def _sketch(self) -> Sketch:
        raise NotImplementedError

    def __repr__(self) -> str:
        title, told = self._sketch()
        return f"<{type(self).__name__} {title}{'; ' if told else ''}{', '.join(f'{k}: {v}' for k, v in told.items())}>"

    def _repr_html_(self) -> str:
        title, told = self._sketch()
        rows = "".join(
            f"<tr><th scope='row' style='text-align:left'>{escape(key)}</th>"
            f"<td style='text-align:left'>{escape(str(value))}</td></tr>"
            for key, value in told.items()
        )
        return f"<table><caption style='text-align:left'>{escape(title)}</caption><tbody>{rows}</tbody></table>"
