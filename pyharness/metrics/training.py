"""Metrics of trainings."""

from __future__ import annotations

from pyharness.types import COUNT, MEGA_PER_SECOND, MEGABYTES, RATIO, SECONDS, Metric

REPORTED = (
    Metric(
        "train_seconds", "s", "lower",
        "time to train a tokenizer on text in memory, in a fresh process; by phase, as the trainer tells them apart",
        deterministic=False, format=SECONDS,
    ),
    Metric(
        "train_bytes_per_second", "byte/s", "higher", "bytes of text per second of training",
        deterministic=False, format=MEGA_PER_SECOND,
    ),
    Metric(
        "train_peak_memory_bytes", "byte", "lower",
        "memory that a training takes beside the text and the imported library, in a fresh process",
        deterministic=False, format=MEGABYTES,
    ),
    Metric(
        "train_time_ratio", "ratio", "lower",
        "time to train, over the reference row's in the same round: geometric mean", deterministic=False, format=RATIO,
    ),
    Metric("trained_merges", "merge", "none", "merges that were learnt", format=COUNT),
    Metric("trained_vocabulary", "token", "none", "ids that a training reached, of those asked for", format=COUNT),
)  # fmt: skip
