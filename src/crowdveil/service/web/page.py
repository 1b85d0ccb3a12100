"""Pages as they are sent: in the reader's language, with a policy that lets only our own scripts run."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from fastapi import Request
from fastapi.responses import HTMLResponse

from crowdveil.guarantee import rounded_up
from crowdveil.report import numbers
from crowdveil.report.language import punctuated, speaking
from crowdveil.service.web import assets
from crowdveil.service.web.texts import Texts, wanted

if TYPE_CHECKING:  # imported with the first page: a server should start quickly
    from jinja2 import Environment

    from crowdveil.service.web.session import Session

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("crowdveil.service.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "number": numbers.number,
        "amount": numbers.count,
        "share": numbers.share,
        "bound": _bound,
        "time": _time,
    }
    templates.globals["asset"] = assets.address
    return templates


def _bound(epsilon: float | None) -> str:
    """An epsilon or a delta, rounded up: a promise may look weaker than it is, never stronger."""
    return numbers.UNKNOWN if epsilon is None else punctuated(rounded_up(epsilon))


def _time(text: str | None) -> str:
    """A time as people write it, to the minute."""
    return numbers.UNKNOWN if text is None else f"{text[:16].replace('T', ' ')} UTC"


def local(address: str) -> str:
    """An address of this site; anything else becomes its first page."""
    plain = address.isascii() and address.isprintable() and "\\" not in address and "#" not in address
    return address if plain and address.startswith("/") and not address.startswith("//") else "/"


def texts_of(request: Request) -> Texts:
    """The texts in the reader's language."""
    return wanted(request.headers.get("accept-language", ""))


def page(
    request: Request, template: str, status: int = 200, session: Session | None = None, **values: Any
) -> HTMLResponse:
    """A page in the reader's language; `t` gives its texts to the template.

    On pages of operators, browsers say which page a form came from, to this site alone.
    """
    texts = texts_of(request)
    with speaking(texts.spoken):
        demo = request.app.state.service.settings.demo
        content = _templates().get_template(template).render(t=texts, session=session, demo=demo, **values)
    headers = {
        "Content-Security-Policy": POLICY,
        "Content-Language": texts.language,
        "Vary": "Accept-Language, Cookie",
    }
    if session is not None:
        headers["Referrer-Policy"] = "same-origin"
    return HTMLResponse(content, status, headers=headers)
