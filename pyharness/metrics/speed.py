"""What timings report. The rates are derived by the harness from declared work and laps."""

from __future__ import annotations

from pyharness.types import RATIO, Metric


def _timing(name: str, unit: str, higher: bool, summary: str) -> Metric:
    return Metric(name, unit, "higher" if higher else "lower", summary, deterministic=False)


def _ratio(name: str, higher: bool, summary: str) -> Metric:
    said = f"{summary}, over the reference row's in the same round: geometric mean"
    return Metric(name, "ratio", "higher" if higher else "lower", said, deterministic=False, format=RATIO)


REPORTED = (
    _timing("encode_bytes_per_second", "byte/s", True, "bytes of text encoded per second"),
    _timing("encode_tokens_per_second", "token/s", True, "tokens produced per second"),
    _timing("decode_bytes_per_second", "byte/s", True, "bytes of text decoded per second"),
    _timing("latency_p50", "s", False, "median time of one call"),
    _timing("latency_p90", "s", False, "90th percentile of the time of one call"),
    _timing("latency_p99", "s", False, "99th percentile of the time of one call"),
    _ratio("encode_speed_ratio", True, "bytes of text encoded per second"),
    _ratio("decode_speed_ratio", True, "bytes of text decoded per second"),
    _ratio("latency_p50_ratio", False, "median time of one call"),
    _ratio("latency_p90_ratio", False, "90th percentile of the time of one call"),
    _ratio("latency_p99_ratio", False, "99th percentile of the time of one call"),
    _timing(
        "load_seconds",
        "s",
        False,
        "time to import the library and build the tokenizer from its file's content, in a fresh process",
    ),
    _timing(
        "peak_memory_bytes", "byte", False, "memory the library takes in a fresh process: import, tokenizer, first call"
    ),
)
