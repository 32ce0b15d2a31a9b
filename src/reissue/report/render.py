"""Templates, the charts' JavaScript and the policy that keeps a page from loading or running anything else."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from importlib.util import find_spec
from typing import TYPE_CHECKING

from reissue.errors import MissingExtra, import_extra
from reissue.report import text

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

Spec = Mapping[str, object]
"""A Vega-Lite chart."""

NEEDED = "The report needs jinja2, altair and vl-convert-python: pip install 'reissue[report]'."

_CODE = re.compile(r"`((?:reissue |--)[^`\n]+|missing|bins)`")
"""What sentences of ours put between backticks: commands, options, and settings that gates name. Data has quotes."""

# page.js passes `ast`, so that Vega interprets its expressions: the page needs no permission to turn text into code.
EMBED = "window.reissueEmbed = (where, spec, options) => vegaEmbed(where, spec, options);"


def require() -> None:
    """Raise MissingExtra if a report could not be made: to be asked before long work, not after it."""
    missing = [name for name in ("altair", "jinja2", "vl_convert") if find_spec(name) is None]
    if missing:
        raise MissingExtra(NEEDED)


def render_page(template: str, charts: Mapping[str, Spec], **context: object) -> str:
    """The template as one HTML page with these charts, by the id of their element."""
    environment = make_environment()
    script = read_file("page.js")
    bundle = make_bundle() if charts else ""
    return environment.get_template(template).render(
        **context,
        layout="base.html.j2",
        charts=charts,
        style=_mark_safe(read_file("style.css")),
        chart_data=write_chart_data(charts),
        bundle=_mark_safe(bundle),
        script=_mark_safe(script),
        policy=_write_policy(bundle, script),
    )


def write_chart_data(charts: Mapping[str, Spec]) -> Markup:
    """The charts as what may stand inside a script element of a template."""
    return _mark_safe(text.to_script_json(charts))


def render_picture(spec: Spec, format: str) -> bytes:
    """A chart as "svg" or "png", for a file of its own."""
    vl_convert = import_extra("vl_convert", NEEDED)
    if format == "png":
        return bytes(vl_convert.vegalite_to_png(dict(spec), scale=2))
    return str(vl_convert.vegalite_to_svg(dict(spec))).encode()


def _write_policy(*scripts: str) -> str:
    """The content security policy: nothing may be loaded, and only our own scripts, known by their hash, may run."""
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts if script)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; form-action 'none'"


@cache
def make_environment(*packages: str, reword: Callable[[str], str] = str) -> jinja2.Environment:
    """Our templates with their filters, and those of other packages that use them. reword: every text, if it must."""
    templates = import_extra("jinja2", NEEDED)
    environment: jinja2.Environment = templates.Environment(
        loader=templates.ChoiceLoader([templates.PackageLoader(name) for name in (*packages, "reissue.report")]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=templates.StrictUndefined,
        finalize=lambda value: _clean_shown(reword(value) if type(value) is str else value),
    )
    environment.filters.update(
        count=text.format_count,
        share=text.format_share,
        number=text.format_number,
        level=text.format_level,
        day=text.format_day,
        plural=text.count_words,
        settings=text.list_settings,
        unit=text.choose_unit,
        opening=text.open_sentence,
        said=lambda sentence: _mark_code(reword(str(sentence))),
        capital=text.capitalize,
        short=lambda value, longest=60: text.clean(str(value), longest),
    )
    return environment


def _clean_shown(value: object) -> object:
    """Whatever a template shows passes here before it is escaped; our own parts are marked safe and stay."""
    return text.clean(value) if type(value) is str else value


def _mark_code(sentence: str) -> Markup:
    """A sentence of ours, escaped like any other text, with its commands as code."""
    from markupsafe import Markup, escape

    parts = _CODE.split(text.clean(sentence))  # every second one is code
    code = Markup("<code>{}</code>")
    return Markup("").join(code.format(part) if place % 2 else escape(part) for place, part in enumerate(parts))


def _mark_safe(part: str) -> Markup:
    from markupsafe import Markup

    return Markup(part)  # only ever our own files, and JSON that cannot end its element


def read_file(name: str) -> str:
    """One of our own files beside the templates."""
    return resources.files("reissue.report").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def make_bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script. About 0.9 MB; bundling takes seconds, once per process."""
    vl_convert = import_extra("vl_convert", NEEDED)

    return str(vl_convert.javascript_bundle(EMBED)).replace("</script", "<\\/script").replace("<!--", "<\\!--")
