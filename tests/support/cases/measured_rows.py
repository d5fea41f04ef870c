"""Rows measured in a run, by benchmark."""

from __future__ import annotations

import json

from pyharness import store


def deterministic(record: store.Record) -> str:
    kept = [
        store.measurement_as_json(measurement)
        for result in record.results
        for measurement in result.measurements
        if record.data["metrics"][measurement.metric]["deterministic"]
    ]
    return json.dumps(kept)
