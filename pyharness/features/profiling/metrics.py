"""Metrics of kernel profiles, with one case per kernel, shape, dtype, implementation and phase."""

from __future__ import annotations

from pyharness.types import COUNT, MILLISECONDS, Direction, Format, Metric

_GIGA = Format("{:.4g}", 1e-9, "G/s")


def _timing(name: str, unit: str, direction: Direction, summary: str, shown: Format) -> Metric:
    return Metric(name, unit, direction, summary, deterministic=False, in_turn=True, format=shown)


def _floor(name: str, unit: str, summary: str) -> Metric:
    return Metric(name, unit, "none", summary, format=COUNT)


REPORTED = (
    _timing("call_seconds", "s", "lower", "median time of one call of a kernel", MILLISECONDS),
    _timing("copy_share", "share", "higher", "rate of the floor over the copy rate, round by round", Format("{:.3f}")),
    _timing(
        "read_share", "share", "higher", "rate of the floor over the rate of a read, round by round", Format("{:.3f}")
    ),
    _timing("host_seconds", "s", "lower", "median time until a call returns in Python, the GPU idle before it",
            MILLISECONDS),
    _timing("times_ours", "ratio", "lower", "time relative to our kernel's, round by round", Format("{:.2f}")),
    Metric(
        "floor_bytes_per_second", "byte/s", "higher", "bytes of the floor per second of the median call",
        deterministic=False, format=_GIGA,
    ),
    Metric(
        "bound_seconds", "s", "none", "least time at the limiting roof, which is named, at the rates of the run",
        deterministic=False, format=MILLISECONDS,
    ),
    Metric(
        "dropped_samples", "sample", "none", "samples left out: the clock was low", deterministic=False, format=COUNT
    ),
    Metric(
        "low_clock_samples", "sample", "none", "samples kept although the clock was low, because it always was",
        deterministic=False, format=COUNT,
    ),
    _floor("floor_bytes", "byte", "bytes read and written once"),
    _floor("floor_flop", "FLOP", "arithmetic of the formula"),
    _floor("floor_matrix_flop", "FLOP", "arithmetic that a matrix product can do"),
    _floor("floor_tokens", "token", "tokens of a call"),
)  # fmt: skip
