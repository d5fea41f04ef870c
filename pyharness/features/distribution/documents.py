"""One row per document: its bytes, its tokens and its digest; and quantiles over documents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pyharness.metrics.counting.sampling import DIGEST_BYTES
from pyharness.metrics.counting.state_arrays import compact, table, taken
from pyharness.report.exporters.data import to_csv, to_frame, to_json
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.statistics.jackknife import GROUPS, Groups, Undefined, estimate, group_of
from pyharness.store import Record
from pyharness.types import CaseResult, Digest, InputError, Measurement, State

MOST_DOCUMENTS = 1 << 18  # that have a row; later ones count in no quantile
ROWS_AT_ONCE = 1 << 14  # that are written together: a row group of Parquet
_JSON_END = "\n]\n"
QUANTILES = {"p10": 0.1, "p50": 0.5, "p90": 0.9}
# Measured: docs/papers.md.
NO_CI = "CIs of quantiles hold too seldom: 89 to 94 % of samples"
NO_PAIR = "CIs of differences in quantiles hold in 94 to 99 % of samples, not in 95 %"
_ARRAYS = ("document bytes", "document tokens")


@dataclass(slots=True)
class DocumentRows:
    """Bytes and tokens of documents, in their order. The pieces of a document that was cut are one row."""

    bytes: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    keys: list[Digest] = field(default_factory=list)
    _last: dict[Digest, int] = field(default_factory=dict)  # the last row of a key

    def add(self, key: Digest, opens: bool, size: int, tokens: int) -> None:
        """Add a text: a document, a piece of one, or one that was read before, which adds to its row."""
        row = None if opens else self._last.get(key)
        if row is None:
            if len(self.keys) == MOST_DOCUMENTS:
                return
            row = self._last[key] = len(self.keys)
            self.bytes.append(0)
            self.tokens.append(0)
            self.keys.append(key)
        self.bytes[row] += size
        self.tokens[row] += tokens

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays to keep with a record."""
        sums = (compact(np.array(one, np.int64)) for one in (self.bytes, self.tokens))
        keys = np.frombuffer(b"".join(self.keys), np.uint8).reshape(-1, DIGEST_BYTES)
        return {**dict(zip(_ARRAYS, sums, strict=True)), "document keys": keys}

    @classmethod
    def of_arrays(cls, arrays: State) -> DocumentRows:
        """Invert ``arrays``; raise ``InputError`` for arrays that contradict each other."""
        keys = table(arrays, "document keys", DIGEST_BYTES).astype(np.uint8)
        sizes, tokens = (taken(arrays, name, len(keys)).astype(np.int64) for name in _ARRAYS)
        if len(keys) > MOST_DOCUMENTS or (sizes < 0).any() or (tokens < 0).any():
            raise InputError("rows of documents are too many, or have counts below 0")
        return cls(sizes.tolist(), tokens.tolist(), [bytes(key) for key in keys])


def quantiles(rows: DocumentRows) -> Iterator[Measurement]:
    """Yield quantiles over documents of their bytes per token; each document has the same weight."""
    tokens = np.array(rows.tokens, np.float64)
    kept = tokens > 0
    ratios = np.array(rows.bytes, np.float64)[kept] / tokens[kept]
    group = np.array([group_of(key) for key in rows.keys], np.int64)[kept]
    counts = np.bincount(group, minlength=GROUPS).tolist()
    for part, share in QUANTILES.items():

        def of(groups: Groups, share: float = share) -> float:
            values = ratios[groups[group]]
            if not len(values):
                raise Undefined("no document has tokens")
            return float(np.quantile(values, share))

        one = estimate("document_bytes_per_token", counts, of, part)
        yield replace(one, no_interval=one.no_interval or NO_CI, no_pair=one.no_pair or NO_PAIR)


_HEADINGS = (
    *(Heading(title, "word") for title in (  # whole numbers stay whole
        "tokenizer", "corpus", "parameters", "document", "key", "bytes", "tokens",
    )),
    Heading("bytes_per_token"),
)  # fmt: skip


def sheets_of(record: Record, benchmark: str) -> Iterator[Sheet]:
    """Yield the documents of all cases of a record that have rows of them, ``ROWS_AT_ONCE`` at a time.

    Raises:
        InputError: no case has, or the state of the record is missing or damaged.
    """
    empty = True
    with record.state() as states:
        for result in record.results:
            if result.case.benchmark == benchmark and result.case.key in states:
                rows = DocumentRows.of_arrays(states.of(result.case.key))
                for start in range(0, len(rows.keys), ROWS_AT_ONCE):
                    empty = False
                    yield Sheet("documents", _HEADINGS, tuple(_cells(result, rows, start)))
    if empty:
        raise InputError(f"the record has no rows of documents: measure again with -b {benchmark}")


def _cells(result: CaseResult, rows: DocumentRows, start: int) -> Iterator[tuple[Cell, ...]]:
    case = result.case
    names = Cell(case.tokenizer), Cell(case.corpus), Cell(json.dumps(dict(case.parameters), sort_keys=True))
    some = (one[start : start + ROWS_AT_ONCE] for one in (rows.keys, rows.bytes, rows.tokens))
    for number, (key, size, tokens) in enumerate(zip(*some, strict=True), start + 1):
        ratio = Cell(size / tokens if tokens else None)
        yield *names, Cell(number), Cell(key.hex()), Cell(size), Cell(tokens), ratio


def write_text(sheets: Iterable[Sheet], form: str, file: IO[bytes]) -> None:
    """Write sheets with the same headings as one of CSV or JSON."""
    for number, sheet in enumerate(sheets):
        if form == "csv":
            text = to_csv(sheet)
            text = text.partition("\n")[2] if number else text  # titles once
        else:
            text = "[,"[number > 0] + to_json(sheet).removeprefix("[").removesuffix(_JSON_END)
        file.write(text.encode())
    file.write(b"" if form == "csv" else _JSON_END.encode())


def write_parquet(sheets: Iterable[Sheet], file: IO[bytes]) -> None:
    """Write sheets with the same headings as Parquet, each as a row group."""
    import pyarrow as pa
    from pyarrow import parquet

    writer = None
    for sheet in sheets:
        table = pa.Table.from_pandas(to_frame(sheet), preserve_index=False)
        if writer is None:
            writer = parquet.ParquetWriter(file, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()
