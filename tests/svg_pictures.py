"""What tests of charts ask of an SVG element."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Element

NAMESPACE = "{http://www.w3.org/2000/svg}"
HOSTILE = '<script>alert(1)</script> & "quotes" \' \x00\x1f ' + "long " * 30


def parsed(svg: str) -> Element:
    """The element; it must be well-formed, tell what it is, and bring no style or script."""
    element = ElementTree.fromstring(svg)
    assert element.tag == f"{NAMESPACE}svg"
    assert element.get("role") == "img"
    title = element.find(f"{NAMESPACE}title")
    assert title is not None
    assert title.text
    assert element.get("aria-label") == title.text
    for part in element.iter():
        assert part.get("style") is None
        assert part.tag.removeprefix(NAMESPACE) not in ("script", "style", "a", "foreignObject")
    assert "nan" not in svg.lower().replace("alert", "")
    assert "inf" not in [part.get("x") for part in element.iter()]
    return element


def marks(element: Element, tag: str) -> list[Element]:
    """All parts with this tag."""
    return list(element.iter(f"{NAMESPACE}{tag}"))


def words(element: Element) -> list[str]:
    """All texts that are shown."""
    return [part.text or "" for part in marks(element, "text")]


def place(part: Element, name: str) -> float:
    """A coordinate, in pixels or percents."""
    return float(part.get(name, "nan").removesuffix("%"))
