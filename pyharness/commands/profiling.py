"""A profile as a record: what ``pyharness profile`` writes, and ``report`` and ``compare`` read."""

from __future__ import annotations

from typing import Any

from pyharness import store
from pyharness.profiling import cases
from pyharness.profiling.record import ProfileRecord


def as_data(profile: ProfileRecord) -> dict[str, Any]:
    """Return the record of a profile as JSON values; one that is not finished is not complete."""
    results = [store.result_as_json(result) for result in cases.results(profile)]
    return {"kind": store.PROFILE_KIND, "schema": store.SCHEMA, **cases.header(profile), "results": results}


def as_record(profile: ProfileRecord) -> store.Record:
    """Return the record of a profile as it is read from a file."""
    return store.Record.from_json(as_data(profile), "the profile")
