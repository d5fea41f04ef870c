"""Plans as JSON files: read again, they are checked as any input."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from pyharness.features.adaptation.surgery.plan import EmbeddingPlan, Numbering, Operation, Step
from pyharness.types import InputError
from pyharness.vocabularies.files.json_file import parse_json
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID

NAME = "embedding_plan.json"
FORMAT = "pyharness-embedding-plan"
VERSION = 1
LARGEST_SEED = 2**32 - 1
_SOURCES = {Operation.COPY: (1,), Operation.ROW: (1, 2), Operation.KEPT: (1,), Operation.AVERAGE: (0,),
            Operation.RANDOM: (0,)}  # fmt: skip


def dump(plan: EmbeddingPlan) -> bytes:
    """Return a plan as JSON, one row of the new matrices a line."""
    head = {
        "format": FORMAT,
        "version": VERSION,
        "checkpoint": {"sha256": plan.checkpoint, "rows": plan.rows},
        "old": _tokenizer(plan.old),
        "new": _tokenizer(plan.new),
        "rows": len(plan),
        "seed": plan.seed,
        "counts": {operation.name.lower(): count for operation, count in plan.counts.items()},
    }
    names = [f'["{operation.name.lower()}"' for operation in Operation]
    sources = [f", {source}" for source in plan.sources.tolist()]
    rows = [
        names[operation] + "".join(sources[start:stop]) + "]"
        for operation, (start, stop) in zip(plan.operations.tolist(), pairwise(plan.offsets.tolist()), strict=True)
    ]
    return (json.dumps(head, indent=1)[:-2] + ',\n "plan": [\n' + ",\n".join(rows) + "\n ]\n}\n").encode()


def load(data: bytes, label: str) -> EmbeddingPlan:
    """Read a plan.

    Raises:
        InputError: it is none, or says what cannot be.
    """
    content = parse_json(data, label)
    if content.get("format") != FORMAT or content.get("version") != VERSION:
        raise InputError(f"{label} is no plan of this version: its format is not {FORMAT!r}, {VERSION}")
    try:
        rows = _number(content["checkpoint"]["rows"])
        plan = EmbeddingPlan.of_steps(
            (_step(row, rows) for row in content["plan"]),
            rows=rows,
            old=_numbering(content["old"], rows),
            new=_numbering(content["new"], len(content["plan"])),
            checkpoint=_digest(content["checkpoint"]["sha256"]),
            seed=_number(content["seed"], LARGEST_SEED),
        )
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{label} is a damaged plan: {type(error).__name__}: {str(error)[:120]}") from None
    if len(plan) == 0 or content.get("rows") != len(plan):
        raise InputError(f"{label} is a damaged plan: it has {len(plan):,} rows and says {content.get('rows')!r}")
    return plan


def _tokenizer(numbering: Numbering) -> dict[str, Any]:
    return {"sha256": numbering.sha256, "ids": numbering.ids, "gaps": list(numbering.gaps)}


def _numbering(about: Mapping[str, Any], rows: int) -> Numbering:
    ids = _number(about["ids"])
    gaps = tuple(_number(gap) for gap in about["gaps"])
    if ids > rows or any(gap >= ids for gap in gaps):
        raise ValueError(f"{ids} ids with {len(gaps)} gaps do not go with {rows} rows")
    return Numbering(ids, gaps, None if about["sha256"] is None else _digest(about["sha256"]))


def _step(row: Any, rows: int) -> Step:
    operation = Operation[row[0].upper()]
    sources = tuple(_number(source) for source in row[1:])
    if any(source >= rows for source in sources) or len(sources) not in _SOURCES.get(operation, (len(sources) or 1,)):
        raise ValueError(f"row {json.dumps(row)[:60]} is not possible with {rows} old rows")
    return operation, sources


def _number(value: Any, most: int = BIGGEST_ID) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"{str(value)[:20]!r} is no id, number of rows or seed")
    return value


def _digest(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch("[0-9a-f]{64}", value):
        raise ValueError(f"{str(value)[:20]!r} is no digest")
    return value
