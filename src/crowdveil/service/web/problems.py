"""Problems as pages, for whoever asks with a browser."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from crowdveil.service.problems import Refusal
from crowdveil.service.web.page import local, page
from crowdveil.service.web.session import SignInNeeded


def wants_page(request: Request) -> bool:
    """Whether a person reads the answer: programs ask the API."""
    return not request.url.path.startswith("/api/") and "text/html" in request.headers.get("accept", "")


def problem_page(request: Request, refusal: Refusal) -> Response:
    """What was wrong, in words, and a way on."""
    answer = page(
        request,
        "problem.html",
        refusal.status,
        refusal=refusal,
        done=request.method != "GET",
        back=_page_before(request),
        public=request.url.path.startswith("/c/"),
    )
    answer.headers.update(refusal.headers)
    return answer


def _page_before(request: Request) -> str | None:
    """The page of ours that the form was on, if the browser says so."""
    start = f"{request.url.scheme}://{request.headers.get('host', '')}/"
    before = request.headers.get("referer", "")
    return local("/" + before.removeprefix(start)) if before.startswith(start) else None


async def lead_to_sign_in(request: Request, error: Exception) -> Response:
    """The page where one can sign in, and from there back to the page that was asked for."""
    assert isinstance(error, SignInNeeded)
    query = f"?{request.url.query}" if request.url.query else ""
    asked = request.url.path + query if request.method == "GET" else "/"
    return RedirectResponse(f"/sign-in?next={quote(asked, safe='')}", 303)
