"""Metrics of serving: control tokens in the text of users."""

from __future__ import annotations

from pyharness.types import COUNT, PERCENT, Metric


def _share(name: str, summary: str) -> Metric:
    return Metric(name, "share", "lower", summary, exact=True, format=PERCENT)


OF_CONTROL = (
    Metric("control_tokens", "token", "none", "control tokens of a file whose text was tried", format=COUNT),
    _share("control_by_default", "control tokens that a user's text becomes by the library's default call"),
    _share("refused_by_default", "control tokens whose text the library's default call refuses"),
    _share("control_by_safest", "control tokens that a user's text becomes even by the library's safest call"),
    _share("control_by_row", "control tokens that a user's text becomes in the row as it is measured"),
)
REPORTED = OF_CONTROL
