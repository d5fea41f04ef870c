"""Metrics of timings, of memory and of trainings. A rate is the bytes or tokens of a call over its wall time."""

from __future__ import annotations

from pyharness.types import COUNT, MEGABYTES, MEGABYTES_PER_SECOND, RATIO, SECONDS, Format, Metric

_MICROSECONDS = Format("{:.1f}", 1e6, "µs")
_ANY_SECONDS = Format("{:.3e}", 1, "s")  # of nanoseconds or of minutes


def _rate(name: str, unit: str, summary: str, shown: Format = MEGABYTES_PER_SECOND) -> Metric:
    return Metric(name, unit, "higher", summary, deterministic=False, format=shown)


def _cost(name: str, unit: str, summary: str, shown: Format) -> Metric:
    return Metric(name, unit, "lower", summary, deterministic=False, format=shown)


def _ratio(name: str, higher: bool, summary: str) -> Metric:
    about = f"{summary}, over the reference row's in the same round: geometric mean"
    return Metric(name, "ratio", "higher" if higher else "lower", about, deterministic=False, format=RATIO)


OF_TRAINING = (
    _cost("train_seconds", "s", "time to train a tokenizer on text in memory, in a fresh process; by phase "
          "of the trainer", SECONDS),
    _rate("train_bytes_per_second", "byte/s", "bytes of text per second of training"),
    _cost("train_peak_memory_bytes", "byte", "memory that a training takes on top of the text and the library, "
          "in a fresh process", MEGABYTES),
    _ratio("train_time_ratio", False, "time to train"),
    Metric("trained_merges", "merge", "none", "merges that were learnt", format=COUNT),
    Metric("trained_vocabulary", "token", "none", "ids that a training reached, of those requested", format=COUNT),
)  # fmt: skip
REPORTED = (
    _rate("encode_bytes_per_second", "byte/s", "bytes of text encoded per second"),
    _rate("encode_tokens_per_second", "token/s", "tokens produced per second", Format("{:.2f}", 1e-6, "Mtok/s")),
    _rate("decode_bytes_per_second", "byte/s", "bytes of text decoded per second"),
    _cost("test_call_seconds", "s", "time of one call, as pytest-benchmark took it: median of rounds", _ANY_SECONDS),
    _cost("latency_p50", "s", "median time of one call", _MICROSECONDS),
    _cost("latency_p90", "s", "90th percentile of the time of one call", _MICROSECONDS),
    _cost("latency_p99", "s", "99th percentile of the time of one call", _MICROSECONDS),
    _ratio("encode_speed_ratio", True, "bytes of text encoded per second"),
    _ratio("decode_speed_ratio", True, "bytes of text decoded per second"),
    _ratio("latency_p50_ratio", False, "median time of one call"),
    _ratio("latency_p90_ratio", False, "90th percentile of the time of one call"),
    _ratio("latency_p99_ratio", False, "99th percentile of the time of one call"),
    _cost("load_seconds", "s", "time to import the library and build the tokenizer from its file's content, in a fresh "
          "process", SECONDS),
    _cost("peak_memory_bytes", "byte", "memory the library takes in a fresh process: import, tokenizer, first call",
          MEGABYTES),
    *OF_TRAINING,
)  # fmt: skip
