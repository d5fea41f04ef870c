"""Records of runs: one versioned JSON file per run, and the journal from which a run is resumed.

The record holds values with their samples and replicates. Intervals are computed when they are shown.
"""

from pyharness.store.journal import Journal, Taken, finished_cases, journal_of
from pyharness.store.json_values import Misshapen, dump, packed
from pyharness.store.records import (
    KIND,
    SCHEMA,
    SCHEMA_FILE,
    CaseRecordKind,
    MetricFacts,
    PartsShare,
    Record,
    RecordHead,
    case_record_kind,
    is_unfinished,
    read,
)
from pyharness.store.results import (
    ADDED_DETAILS,
    LIFTED,
    case_as_json,
    first_twice,
    groups_of,
    histograms_of,
    measurement_as_json,
    measurement_from_json,
    result_as_json,
    result_from_json,
    text_read_as_json,
)
from pyharness.store.states import NoState, StateReader, path_beside
from pyharness.store.states import write_case as write_case_state

__all__ = [
    "ADDED_DETAILS", "KIND", "LIFTED", "SCHEMA", "SCHEMA_FILE", "CaseRecordKind", "Journal", "MetricFacts", "Misshapen",
    "NoState", "PartsShare", "Record", "RecordHead", "StateReader", "Taken", "case_as_json", "case_record_kind", "dump",
    "finished_cases", "first_twice", "groups_of", "histograms_of", "is_unfinished", "journal_of", "measurement_as_json",
    "measurement_from_json", "packed", "path_beside", "read", "result_as_json", "result_from_json", "text_read_as_json",
    "write_case_state",
]  # fmt: skip
