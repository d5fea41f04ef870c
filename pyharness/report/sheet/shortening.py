"""Long names in narrow columns: what tells them apart stays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

LEAST_WIDTH = 4  # a character at each end of a cut, and one between two of them


def shorten(text: str, width: int) -> str:
    """Cut the middle out of a long name: both ends tell names apart.

    >>> shorten("file:/a/long/path/tokenizer.json", 16)
    'file:…nizer.json'
    """
    if len(text) <= width:
        return text
    tail = (width - 1) * 2 // 3
    return f"{text[: width - 1 - tail]}…{text[-tail:]}"


def shorten_apart(texts: Iterable[str], width: int) -> dict[str, str]:
    """Shorten names that stand in one table: no two of them look alike.

    Of names that ``shorten`` makes alike, what they differ in is left, and as much around it as there is room for.

    >>> list(shorten_apart(["speed/test_a.py::test[english-2]", "speed/test_a.py::test[polish-2]"], 16).values())
    ['speed…english-2]', 'speed…[polish-2]']
    """
    names = list(dict.fromkeys(texts))
    return dict(zip(names, _numbered(_apart(names, width), width), strict=True))


def _apart(names: Sequence[str], width: int) -> list[str]:
    shown = {name: shorten(name, width) for name in names}
    alike: dict[str, list[str]] = {}
    for name, short in shown.items():
        alike.setdefault(short, []).append(name)
    for group in alike.values():
        if len(group) > 1 and width > LEAST_WIDTH:
            shown |= zip(group, _around_difference(group, width), strict=True)
    return [shown[name] for name in names]


def _around_difference(names: Sequence[str], width: int) -> Iterator[str]:
    """Cut before and behind what names differ in, which is between what all begin and all end with."""
    begin = beginning(names)
    end = min(beginning([name[::-1] for name in names]), min(map(len, names)) - begin)
    differing = _apart([name[begin : len(name) - end] for name in names], width - 2)
    room = width - 2 - max(map(len, differing))
    before = min(begin, max(room // 2, room - end))
    after = min(end, room - before)
    for name, part in zip(names, differing, strict=True):
        left = name[:before] + "…" * (before < begin)
        yield left + part + "…" * (after < end) + name[len(name) - after :]


def beginning(names: Sequence[str]) -> int:
    """How many characters all of them begin with."""
    first, last = min(names), max(names)
    return next(
        (place for place, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first)
    )


def _numbered(shown: Sequence[str], width: int) -> Iterator[str]:
    """Number what is still alike: names that differ in more places than there is room for."""
    met = set[str]()
    for text in shown:
        number, unlike = 1, text
        while unlike in met:
            number += 1
            unlike = f"{text[: width - 1 - len(str(number))]}…{number}"
        met.add(unlike)
        yield unlike
