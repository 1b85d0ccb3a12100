"""Writes docs/http.md from the service's own OpenAPI; `--check` only says whether it is current."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fastapi.dependencies.models import Dependant
from http_examples import EXAMPLES, Example

from crowdveil.service.app import create_app
from crowdveil.service.auth import owned, signed_in, viewed
from crowdveil.service.openapi import ALWAYS
from crowdveil.service.settings import Settings

PAGE = Path(__file__).with_name("http.md")
HEAD = """\
# HTTP reference

Made by `docs/make_http.py` from the service's OpenAPI, which a server gives at `/api/v1/openapi.json`.
What campaigns are is told in [campaigns](campaigns.md), how a server is run in [deploy](deploy.md).

JSON both ways unless a route says otherwise; a field that is not asked for is refused. Times are ISO 8601
in UTC, ids are opaque text. Operators send `Authorization: Bearer TOKEN`; `crowdveil operator add NAME`
prints one. For whoever has no role in a campaign there is no such campaign (404), except that everybody may
see its public document. A *participant* is a token: an invitation, or 1 to 200 printable ASCII characters
that a device makes up. It is a secret of its owner, and the server keeps a digest of it only.

Errors are `application/problem+json` (RFC 9457) and never repeat what was sent. `type` tells the kind of
refusal, `urn:crowdveil:problem:...`, and `detail` what to do. Besides the statuses of each route, every one
can answer {always}. Examples show some fields of an answer, not all of them.

"""
TAGS = {
    "health": ("The server", "For whoever runs the server; none is counted by the rate limits."),
    "operators": (
        "Operators",
        "Signing in and out. Tokens of `crowdveil operator add` work without signing in.",
    ),
    "campaigns": ("Campaigns", "For operators, but for the public document of a campaign."),
    "reports": ("Reports", "For devices and gateways: no operator's token, only the participant's own."),
    "results": (
        "Results",
        "For owners and viewers; the page at `/c/{id}/results` for everybody once published.",
    ),
}
ALWAYS_WHY = {
    408: "408 (the body did not come in time)",
    413: "413 (too large)",
    422: "422 (not usable)",
    429: "429 (too many requests; `Retry-After`)",
    500: "500 (a bug)",
    503: "503 (the database cannot be used now, or too many bodies wait; nothing was kept; `Retry-After`)",
}


def page() -> str:
    """The whole page."""
    with TemporaryDirectory() as folder:  # a database that is not opened
        app = create_app(Settings(database=f"sqlite:///{folder}/service.sqlite3"))
    document, callers = app.openapi(), _callers(app)
    schemas = document["components"]["schemas"]
    parts = [HEAD.replace("{always}", ", ".join(ALWAYS_WHY[status] for status in ALWAYS))]
    for tag, (title, about) in TAGS.items():
        parts.append(f"## {title}\n\n{about}\n\n")
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                if tag in operation["tags"]:
                    route = (method.upper(), path)
                    parts.append("".join(_route(route, operation, callers[route], schemas)))
    parts.append("## Objects\n\nWhat requests hold and responses have.\n\n")
    for name in sorted(_mentioned("".join(parts), schemas)):
        parts.append(f"### {name}\n\n{schemas[name].get('description', '')}\n\n{_fields(schemas[name])}\n")
    return re.sub(r"\n{3,}", "\n\n", "".join(parts)).rstrip() + "\n"


def _callers(app: Any) -> dict[tuple[str, str], str]:
    """Who may call each route, from what its function depends on."""
    words = {owned: "owners of the campaign", viewed: "owners and viewers", signed_in: "operators"}
    found = {}
    for route in _routes(app):
        needs = set(_calls(route.dependant))
        who = next((word for need, word in words.items() if need in needs), "everybody")
        for method in route.methods:
            found[method, re.sub(r":path}", "}", route.path)] = who
    return found


def _routes(app: Any) -> Iterator[Any]:
    for route in app.routes:
        if hasattr(route, "dependant"):
            yield route
        elif hasattr(route, "original_router"):
            yield from (each for each in route.original_router.routes if hasattr(each, "dependant"))


def _calls(dependant: Dependant) -> Iterator[Any]:
    for each in dependant.dependencies:
        yield each.call
        yield from _calls(each)


def _route(
    route: tuple[str, str], operation: Mapping[str, Any], who: str, schemas: Mapping[str, Any]
) -> Iterator[str]:
    yield f"### {route[0]} {route[1]}\n\n**{operation['summary']}.** For {who}. "
    yield f"{' '.join(operation.get('description', '').split())}\n\n"
    parameters = [each for each in operation.get("parameters", ()) if each["name"] != "id"]
    for each in parameters:
        about = each.get("description") or each["schema"].get("description") or ""
        yield f"- `{each['name']}` ({each['in']}): {type_of(each['schema'])}. {about}".rstrip() + "\n"
    if parameters:
        yield "\n"
    if "requestBody" in operation:
        ((kind, body),) = operation["requestBody"]["content"].items()
        if "$ref" in body["schema"]:
            yield f"Body:\n\n{_fields(schemas[_name(body['schema'])])}\n"
        else:
            yield f"Body: `{kind}`. {body['schema'].get('description', '')}\n\n"
    yield f"Answers: {'; '.join(_answers(operation['responses']))}.\n\n"
    for example in EXAMPLES:
        if (example.method, example.route) == route:
            yield _example(example)


def _answers(responses: Mapping[str, Any]) -> Iterator[str]:
    for status, response in sorted(responses.items()):
        if int(status) in ALWAYS:
            continue
        kinds = [
            type_of(content["schema"]) if kind == "application/json" else f"`{kind}`"
            for kind, content in response.get("content", {}).items()
            if kind != "application/problem+json"
        ]
        yield " ".join([f"**{status}**", *kinds]) if kinds else f"{status}"


def _example(example: Example) -> str:
    return f"```console\n{example.command()}\n{example.shown()}\n```\n\n"


def _fields(schema: Mapping[str, Any]) -> str:
    """A table of fields: type and limits, default, what it is; only requests can leave some out."""
    required = schema.get("required", ()) if schema.get("additionalProperties") is False else ()
    lines = ["| field | type | |", "|---|---|---|"]
    for name, each in schema.get("properties", {}).items():
        about = [each.get("description") or _inner(each).get("description") or ""]
        if name in required:
            about.insert(0, "required.")
        elif each.get("default") is not None:
            about.insert(0, f"default `{_plain(each['default'])}`.")
        lines.append(f"| `{name}` | {type_of(each)} | {' '.join(filter(None, about))} |")
    if schema.get("additionalProperties") is True:
        lines.append("| ... | | what else belongs to the kind of campaign |")
    return "\n".join(lines) + "\n"


def _inner(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a field is when it is not null."""
    others: list[Mapping[str, Any]] = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    return others[0] if len(others) == 1 else {}


def type_of(schema: Mapping[str, Any]) -> str:
    """A type and its limits, in words."""
    if "$ref" in schema:
        return f"[{_name(schema)}](#{_name(schema).lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(type_of(each) for each in schema["anyOf"]))
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return " or ".join(f"`{each}`" for each in schema["enum"])
    return _plain_type(schema)


def _plain_type(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    if kind == "array":
        return f"list of {type_of(schema.get('items', {}))}{_limits(schema, 'Items')}"
    if kind == "object":
        inner = schema.get("additionalProperties")
        return "object" if inner in (None, True, False) else f"object of {type_of(inner)}"
    if kind == "string":
        return f"text{_limits(schema, 'Length')}"
    word = {"integer": "whole number", "number": "number", "boolean": "true or false", None: "anything"}
    return f"{word.get(kind, kind)}{_bounds(schema)}"


def _limits(schema: Mapping[str, Any], what: str) -> str:
    low, high = schema.get(f"min{what}"), schema.get(f"max{what}")
    if low is None and high is None:
        return ""
    if low == high:
        return f" ({low})"
    if high is None:
        return f" (at least {low})"
    return f" (at most {high:,})" if low is None else f" ({low} to {high:,})"


def _bounds(schema: Mapping[str, Any]) -> str:
    low, high, above = (schema.get(name) for name in ("minimum", "maximum", "exclusiveMinimum"))
    words = []
    if above is not None:
        words.append(f"above {above:g}")
    if low is not None:
        words.append(f"from {low:g}")
    if high is not None:
        words.append(f"to {high:,.0f}")
    return f" ({' '.join(words)})" if words else ""


def _plain(value: Any) -> str:
    return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _name(schema: Mapping[str, Any]) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _mentioned(text: str, schemas: Mapping[str, Any]) -> set[str]:
    """Objects that a text links to, and those that they link to."""
    found: set[str] = set()
    waiting = set(re.findall(r"\[(\w+)\]\(#", text))
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= set(re.findall(r"\[(\w+)\]\(#", _fields(schemas[name]))) - found
    return found


if __name__ == "__main__":
    if "--check" in sys.argv:
        current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == page()
        sys.exit(0 if current else "docs/http.md is old: python docs/make_http.py")
    PAGE.write_text(page(), encoding="utf-8")
