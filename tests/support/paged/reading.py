"""Markup as a tree, read with the parser of the standard library: what a page holds, whatever its templates say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "input", "br", "link", "img", "hr", "base"}
RAW = {"style", "script"}


@dataclass
class Element:
    """An element; ``text`` among its children is a string."""

    tag: str
    attributes: dict[str, str | None]
    children: list[Element | str] = field(default_factory=list)

    def all(self, tag: str, mark: str | None = None) -> list[Element]:
        """Elements of a tag within, in order; ``mark``: of this class alone."""
        return [one for one in self.walk() if one.tag == tag and (mark is None or mark in one.classes)]

    def one(self, tag: str, mark: str | None = None) -> Element:
        """The only such element."""
        (found,) = self.all(tag, mark)
        return found

    def walk(self) -> Iterator[Element]:
        for child in self.children:
            if isinstance(child, Element):
                yield child
                yield from child.walk()

    @property
    def classes(self) -> list[str]:
        return (self.attributes.get("class") or "").split()

    @property
    def text(self) -> str:
        """All text within, but for that of tips."""
        return "".join(
            child if isinstance(child, str) else "" if "tip" in child.classes else child.text for child in self.children
        )

    @property
    def tip(self) -> str:
        """What is shown on hovering and focus."""
        return "".join(one.said for one in self.walk() if "tip" in one.classes)

    @property
    def said(self) -> str:
        return "".join(child if isinstance(child, str) else child.said for child in self.children)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute is given twice: {attrs}"
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def read(page: str) -> Element:
    """The tree of a page in which every element is closed where it should be."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert [one.tag for one in reader.open] == [""], "an element is not closed"
    return reader.open[0]
