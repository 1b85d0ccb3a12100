"""Pages as they are sent: in the reader's language, with a policy that lets only our own scripts run."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from fastapi import Request
from fastapi.responses import HTMLResponse

from crowdveil.report import numbers
from crowdveil.service.web import assets
from crowdveil.service.web.texts import wanted

if TYPE_CHECKING:  # imported with the first page: a server should start quickly
    from jinja2 import Environment

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
    templates.filters |= {"number": numbers.number, "amount": numbers.count, "share": numbers.share}
    templates.globals["asset"] = assets.address
    return templates


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page in the reader's language; `t` gives its texts to the template."""
    texts = wanted(request.headers.get("accept-language", ""))
    content = _templates().get_template(template).render(t=texts, **values)
    headers = {
        "Content-Security-Policy": POLICY,
        "Content-Language": texts.language,
        "Vary": "Accept-Language",
    }
    return HTMLResponse(content, status, headers=headers)
