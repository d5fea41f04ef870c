"""Metrics of serving: control tokens in the text of users, streams of ids, hostile texts."""

from __future__ import annotations

from pyharness.types import COUNT, PERCENT, RATIO, Format, Metric


def _share(name: str, summary: str) -> Metric:
    return Metric(name, "share", "lower", summary, exact=True, format=PERCENT)


def _timed(name: str, unit: str, summary: str, shown: Format) -> Metric:
    return Metric(name, unit, "lower", summary, deterministic=False, format=shown)


OF_CONTROL = (
    Metric("control_tokens", "token", "none", "control tokens of a file whose text was tried", format=COUNT),
    _share("control_by_default", "control tokens that a user's text becomes by the library's default call"),
    _share("refused_by_default", "control tokens whose text the library's default call refuses"),
    _share("control_by_safest", "control tokens that a user's text becomes even by the library's safest call"),
    _share("control_by_row", "control tokens that a user's text becomes in the row as it is measured"),
)
OF_STREAMING = (
    _share("stream_faults", "sequences of ids whose stream does not give the text of the whole"),
    _share("stream_cut_ends", "sequences of ids that end inside a character and whose stream leaves it out"),
    Metric("held_tokens", "token", "lower", "ids that wait for text after a step: mean over steps", exact=True),
    Metric("most_held_tokens", "token", "lower", "most ids that wait for text", exact=True, format=COUNT),
    _timed(
        "stream_step_seconds",
        "s",
        "time of one step of a stream, near a step of this number",
        Format("{:.2f}", 1e6, "µs"),
    ),
    _timed(
        "stream_growth",
        "exponent",
        "exponent with which the time of a step grows with its number: 0 is steady, 1 is quadratic in all",
        Format("{:.2f}"),
    ),
)
OF_HOSTILE = (
    Metric("hostile_breaks", "kind", "lower", "kinds of text that crash, hang or fail", format=COUNT),
    _timed(
        "superlinear_kinds",
        "kind",
        "kinds of text whose time grows faster than their bytes, confirmed on other texts",
        COUNT,
    ),
    _timed("hostile_growth", "exponent", "exponent with which time grows with bytes, by kind", Format("{:.2f}")),
    _timed("hostile_seconds_per_byte", "s/byte", "time per byte of the largest text, by kind", Format("{:.3e}")),
    _timed("hostile_slowdown", "ratio", "time per byte over that of the median kind, by kind", RATIO),
    _timed("hostile_memory_per_byte", "byte/byte", "peak memory per byte of text, by kind", Format("{:.1f}")),
)
REPORTED = (*OF_CONTROL, *OF_STREAMING, *OF_HOSTILE)
