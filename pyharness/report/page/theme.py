"""Colours of the page, each for light and for dark screens; paper is light. The style sheet takes them by name."""

from __future__ import annotations

from collections.abc import Iterator

from pyharness.report.charts.palette import PAGE, PALETTE

COLOURS = {  # name: on light, on dark
    **{one.name: (one.light, one.dark) for one in (PAGE, *PALETTE)},
    "raised": ("#f3f5f7", "#20252a"),
    "line": ("#c9cdd1", "#444a51"),
    "link": ("#0b57a4", "#8ec5ff"),
    # A cell beside the reference row: 0 is far worse, 4 is alike, 8 is far better.
    "shade-0": ("#f6b27c", "#7a3e10"),
    "shade-1": ("#f9c79d", "#5f3314"),
    "shade-2": ("#fbdcc0", "#462917"),
    "shade-3": ("#fdeee0", "#2e2018"),
    "shade-4": (PAGE.light, PAGE.dark),
    "shade-5": ("#e3effa", "#182735"),
    "shade-6": ("#c6dff5", "#1a3650"),
    "shade-7": ("#a5cdef", "#1c466c"),
    "shade-8": ("#80b8e8", "#1e578a"),
}
WRITTEN = ("ink", "quiet", "link")  # in which there is text
BEHIND = ("page", "raised", *(name for name in COLOURS if name.startswith("shade")))  # on which there is text


def theme() -> str:
    """Style sheet that sets the colours: by the system's setting, or as the reader chooses, and light on paper."""
    light, dark = (_set(place) for place in (0, 1))
    return "".join(
        (
            f":root{{color-scheme:light;{light}}}",
            f"@media screen and (prefers-color-scheme:dark){{:root{{color-scheme:dark;{dark}}}}}",
            f"@media screen{{:root:has(#light:checked){{color-scheme:light;{light}}}",
            f":root:has(#dark:checked){{color-scheme:dark;{dark}}}}}",
            *(f".{name}{{background:var(--{name})}}" for name in COLOURS if name.startswith("shade")),
            *_drawings(),
        )
    )


def _set(place: int) -> str:
    return "".join(f"--{name}:{values[place]};" for name, values in COLOURS.items())


def _drawings() -> Iterator[str]:
    """Rules that give a drawing, which is in light colours, those of the page."""
    for one in PALETTE:
        for mark in ("fill", "stroke"):
            yield f'svg [{mark}="{one.light}"]{{{mark}:var(--{one.name})}}'
