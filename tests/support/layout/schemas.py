"""JSON Schemas of records, from the types that read and write them.

``PYHARNESS_RENEW_SCHEMAS=1 python -m pytest tests/store/test_schemas.py`` writes the files again. Types have no
patterns and limits, and no members that readers do not ask for: ``STRICTER`` adds these.
"""

from __future__ import annotations

import functools
import inspect
import json
import operator
import re
from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pyharness import store
from pyharness.features.gate import records as gate_records
from pyharness.features.gate.types import Gate, Timing
from pyharness.types import Case, CaseResult

WHOLE: dict[str, Any] = {"type": "integer", "minimum": 0}
DIGEST: dict[str, Any] = {"pattern": "^[0-9a-f]{32}$"}
SHA256: dict[str, Any] = {"pattern": "^[0-9a-f]{64}$"}
# Members that older records lack, or that are written where there is something to write.
OPTIONAL = {
    "GateRules": {"seconds", "fewest_rounds"},
    "Measurement": {"reason", "part", "samples", "replicates", "paired", "no_interval", "no_pair", "curve"},
    "MetricFacts": {"tolerance", "grows_with_text", "exact", "primary", "counts_tokens"},
    "RecordHead": {"state"},
    "RowFacts": {"vocab_size"},
    "SuiteFacts": {"rows"},
    "TextFacts": {"parts"},
    "TextRead": {"beginnings"},
}
LEFT_OUT_FOR_NULL = {"Measurement"}
CLOSED = {"ArmFacts", "Measurement", "StateFile"}  # these have no further members
STRICTER: dict[str, dict[str, Any]] = {
    "Launch": {"properties": {"number": {"minimum": 0}}},
    "MetricFacts": {"properties": {"tolerance": {"minimum": 0}}},
    "RecordHead": {
        "properties": {
            "seconds": {"minimum": 0},
            "environment": {
                "required": ["pyharness", "python", "system", "machine", "cpu", "cores", "memory_bytes", "libraries"]
            },
        }
    },
    "Rounds": {"properties": {"launch": {"minimum": 0}}},
    "RowFacts": {
        "properties": {
            "sha256": SHA256,  # where it is text
            "vocab_size": WHOLE,
            "id_limit": WHOLE,
            "special": WHOLE,
            "round_trip": {"enum": ["exact", "normalised", "lossy"]},
            "units": {
                "type": "object",
                "description": "of a row that cuts text into units and has no vocabulary: its settings",
                "required": ["is_causal"],
                "properties": {"is_causal": {"type": "boolean"}},
            },
            "codec": {"type": "object", "description": "of a row that writes actions as ids: its settings"},
            "notes": {"type": "array", "items": {"type": "string"}},
        }
    },
    "StateFile": {"properties": {"bytes": {"minimum": 0}, "sha256": SHA256}},
    "SuiteFacts": {
        "required": ["time_limit_seconds", "benchmarks"],
        "properties": {
            "digest": SHA256,
            "benchmarks": {"type": "array", "items": {"type": "object", "required": ["name", "parameters"]}},
        },
    },
    "TextRead": {
        "properties": {
            **dict.fromkeys(("documents", "bytes", "empty_documents", "cut_documents", "replaced_sequences"), WHOLE),
            "digest": DIGEST,
            "beginnings": {"items": DIGEST},
        }
    },
}

_SCALARS = {int: "integer", float: "number", str: "string", bool: "boolean"}


class _Definitions:
    """Definitions of nouns by the name of their class."""

    def __init__(self, columnar: tuple[type, ...]) -> None:
        self.columnar, self.by_name = columnar, dict[str, Any]()

    def of(self, kind: Any) -> dict[str, Any]:
        """Return the schema of a type; nouns are references."""
        origin, inner = get_origin(kind), get_args(kind)
        if kind is Any:
            return {}
        if isinstance(kind, UnionType):
            return {"anyOf": [self.of(one) for one in inner if one is not NoneType] + [{"type": "null"}]}
        if is_dataclass(kind):
            name = getattr(kind, "__name__", "")
            if name not in self.by_name:
                self.by_name[name] = {}
                self.by_name[name] = self.noun(kind)
            return {"$ref": f"#/$defs/{name}"}
        if origin is Mapping:
            names = {} if inner[0] is str else {"propertyNames": self.of(inner[0])}
            return {"type": "object", **names, "additionalProperties": self.of(inner[1])}
        if origin is tuple and inner[0] in self.columnar:
            columns = {one.name: {"type": "array", "items": self.of(one_type)} for one, one_type in _typed(inner[0])}
            return {
                "type": "object",
                "required": [*columns],
                "additionalProperties": False,
                "properties": columns,
                "description": _first_line(inner[0]),
            }
        if origin is tuple and Ellipsis not in inner:
            items = [self.of(one) for one in inner]
            return {"type": "array", "prefixItems": items, "minItems": len(inner), "maxItems": len(inner)}
        if origin is tuple:
            return {"type": "array", "items": self.of(inner[0])}
        if origin is Literal:
            return {"enum": [*inner]}
        if issubclass(kind, Enum):
            return {"enum": [one.value for one in kind]}
        return {"type": _SCALARS[kind]}

    def noun(self, kind: Any) -> dict[str, Any]:
        """Return the schema of a noun: all that is written is required."""
        comments = dict(re.findall(r"^    (\w+): .*?  # (.*)$", inspect.getsource(kind), re.MULTILINE))
        name, properties = kind.__name__, {}
        for field, of in _typed(kind):
            described = {"description": comments[field.name]} if field.name in comments else {}
            left_out = name in LEFT_OUT_FOR_NULL and field.default is None
            properties[field.name] = self.of(_without_null(of) if left_out else of) | described
        required = [one for one in properties if one not in OPTIONAL.get(name, ())]
        noun = {"type": "object", "description": _first_line(kind), "required": required, "properties": properties}
        return _merged(noun | ({"additionalProperties": False} if name in CLOSED else {}), STRICTER.get(name, {}))


def _without_null(kind: Any) -> Any:
    if not isinstance(kind, UnionType):
        return kind
    return functools.reduce(operator.or_, (one for one in get_args(kind) if one is not NoneType))


def _merged(schema: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with further conditions; lists are joined."""
    merged = dict(schema)
    for name, value in more.items():
        own = merged.get(name)
        if isinstance(own, dict) and isinstance(value, dict):
            merged[name] = _merged(own, value)
        else:
            merged[name] = [*own, *value] if isinstance(own, list) else value
    return merged


def _typed(kind: Any) -> list[tuple[Field[Any], Any]]:
    hints = get_type_hints(kind)
    return [(field, hints[field.name]) for field in fields(kind)]


def _first_line(kind: Any) -> str:
    return (kind.__doc__ or "").partition("\n")[0]


def _whole(title: str, kind: str, number: int, noun: dict[str, Any], definitions: _Definitions) -> str:
    head = {"kind": {"const": kind}, "schema": {"const": number}}
    content = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{title}, schema {number}",
        **noun,
        "required": [*head, *noun["required"]],
        "additionalProperties": False,
        "properties": {**head, **noun["properties"]},
        "$defs": dict(sorted(definitions.by_name.items())),
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def of_gates() -> str:
    """Return the schema of a gate's record."""
    definitions = _Definitions((Timing,))
    noun = definitions.noun(Gate)
    return _whole("pyharness record of a gate", gate_records.GATE_KIND, gate_records.GATE_SCHEMA, noun, definitions)


def of_runs() -> str:
    """Return the schema of a run's record. A result lies flat: its case, and what is not among its details."""
    definitions = _Definitions(())
    noun, case, outcome = (definitions.noun(kind) for kind in (store.RecordHead, Case, CaseResult))
    names = ("status", "reason", "measurements", "details")
    properties = {
        "key": {"type": "string"},
        **case["properties"],
        **{name: outcome["properties"][name] for name in names},
    }
    result = {
        "type": "object",
        "description": outcome["description"],
        "required": [*properties],
        "additionalProperties": False,
        "properties": properties,
        "if": {"properties": {"status": {"enum": ["skipped", "failed"]}}},
        "then": {"properties": {"reason": {"type": "string"}, "measurements": {"maxItems": 0}}},
    }
    definitions.by_name = {name: one for name, one in definitions.by_name.items() if name not in ("Case", "Histogram")}
    why = {"if": {"properties": {"value": {"type": "null"}}}, "then": {"required": ["reason"]}}
    definitions.by_name["Measurement"] |= why
    definitions.by_name["Result"] = result
    noun["required"].append("results")
    noun["properties"]["results"] = {"type": "array", "items": {"$ref": "#/$defs/Result"}}
    return _whole("pyharness run record", store.KIND, store.SCHEMA, noun, definitions)
