"""Algorithms side by side: what a vocabulary's size buys and costs, how evenly it is used, what training took."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pyharness.plugins.specification import TOKENIZER
from pyharness.report.cells import NOTHING, Table, about_row, lossy, pick, plain, with_interval
from pyharness.store import Record
from pyharness.types import CaseResult, InputError, Measurement

_SHARE = "{:.2f}"
_TOTAL = "total"

# Scaffold-BPE, arXiv 2404.17808, a vocabulary of 32K on the Pile: rows under the columns of the tables they stand in.
PAPER = (
    ("paper: BPE 32K", "3.879", "11.2382", "0.2491"),
    ("paper: Scaffold 32K", "3.889", "11.2443", "0.2487"),
)
PAPER_SCAFFOLD = ("paper: Scaffold 32K", NOTHING, "6.07", "+76.40")
OTHER_DATA = "Paper: arXiv 2404.17808, other data (the Pile): compare directions, not values."


def algorithm_tables(record: Record) -> list[Table]:
    """Tables of the benchmarks ``vocabulary``, ``replaced_tokens`` and ``training``, where there are any."""
    widths: dict[str, dict[int, CaseResult]] = {}
    for result in record.of("vocabulary"):
        if result.status == "ok" and isinstance(width := result.case.parameters.get("width"), int):
            widths.setdefault(result.case.tokenizer, {})[width] = result
    texts = _by_text(result for result in record.of("compression") if result.case.tokenizer in widths)
    replaced = _by_text(record.of("replaced_tokens"))
    shares = {
        row: share
        for row, found in widths.items()
        if (share := pick(next(iter(found.values())), "scaffold_share")) is not None and share.value is not None
    }
    sizes = [_sizes(record, label, measured, widths) for label, measured in texts.items()]
    if not texts:
        sizes = [_sizes(record, None, {}, widths)]
    uses = [_uses(record, label, measured, bool(shares or replaced)) for label, measured in texts.items()]
    scaffolds = [_scaffolds(record, label, found, shares) for label, found in replaced.items()]
    if not replaced:
        scaffolds = [_scaffolds(record, None, {}, shares)]
    return [*sizes, *uses, *scaffolds, *_training(record)]


def _by_text(results: Iterable[CaseResult]) -> dict[str, dict[str, CaseResult]]:
    found: dict[str, dict[str, CaseResult]] = {}
    for result in results:
        if result.status == "ok":
            found.setdefault(str(result.case.corpus), {})[result.case.tokenizer] = result
    return found


# ---------------------------------------------------------------------------------------------- vocabularies


def _sizes(
    record: Record,
    label: str | None,
    measured: Mapping[str, CaseResult],
    vocabularies: Mapping[str, Mapping[int, CaseResult]],
) -> Table:
    every = sorted({width for widths in vocabularies.values() for width in widths})
    rows = []
    for row in vocabularies if label is None else measured:
        widths = vocabularies[row]
        size = plain(pick(next(iter(widths.values())), "vocabulary_size"), "{:,.0f}")
        cost = [
            plain(pick(widths[d], "embedding_parameters"), "{:.1f}", 1e-6) if d in widths else NOTHING for d in every
        ]
        names = ("tokens_per_word", "tokens_per_whitespace_word")
        fertility = [] if label is None else [plain(pick(measured[row], name)) for name in names]
        rows.append((row, size, *fertility, *cost))
    words = () if label is None else ("tok/word", "tok/ws word")
    notes = (
        "d=...: parameters V x d of an embedding, in millions. V: without special tokens.",
        *_provenance(record, label, [row[0] for row in rows]),
    )
    title = "Vocabulary size" if label is None else f"Vocabulary size against tokens per word: {label}"
    return Table(title, ("tokenizer", "V", *words, *(f"d={width}" for width in every)), tuple(rows), notes)


def _uses(record: Record, label: str, measured: Mapping[str, CaseResult], with_paper: bool) -> Table:
    rows = [
        (row, *(with_interval(pick(result, name)) for name in ("bytes_per_token", "shannon_entropy", "redundancy")))
        for row, result in measured.items()
    ]
    notes = ["±: of one row on other documents; for differences (paired, narrower): pyharness compare."]
    if with_paper:
        rows += PAPER
        notes.append(OTHER_DATA)
    notes += lossy(record, measured)
    notes += _provenance(record, label, measured)
    columns = ("tokenizer", "bytes/token", "entropy", "redundancy")
    return Table(f"Use of the vocabulary: {label}", columns, tuple(rows), tuple(notes))


def _scaffolds(
    record: Record, label: str | None, replaced: Mapping[str, CaseResult], shares: Mapping[str, Measurement]
) -> Table:
    rows, notes = [], ["scaffold %: |S|/|V|, merged but never written."]
    if replaced:
        others = ", ".join(sorted({str(result.case.parameters.get("against")) for result in replaced.values()}))
        notes.append(f"replaced %: of the V of {others}, trained alike.")
        notes.append("frequency %: by how much what came instead is commoner on this text (mean count).")
    for row in dict.fromkeys((*shares, *replaced)):
        of_pair = replaced.get(row)
        share, frequency = (
            None if of_pair is None else pick(of_pair, name)
            for name in ("replaced_token_share", "replaced_token_frequency")
        )
        cells = plain(shares.get(row), _SHARE, 100), plain(share, _SHARE, 100)
        rows.append((row, *cells, with_interval(frequency, "{:+.2f}", 100)))
        notes += [f"{row}: {one.reason}." for one in (share, frequency) if one is not None and one.reason][:1]
    notes += _provenance(record, label, [row[0] for row in rows])
    if replaced:
        rows.append(PAPER_SCAFFOLD)
        notes.append(OTHER_DATA)
    title = "Scaffold tokens" if label is None else f"Scaffold tokens: {label}"
    return Table(title, ("tokenizer", "scaffold %", "replaced %", "frequency %"), tuple(rows), tuple(notes))


# ---------------------------------------------------------------------------------------------- provenance


def _options(record: Record, row: str) -> Mapping[str, str]:
    """Options of a row that was trained here; nothing for others."""
    try:
        wanted = TOKENIZER.parse(str(about_row(record, row).get("spec")))
    except InputError:
        return {}
    return wanted.options if wanted.name == "trained" else {}


def _provenance(record: Record, label: str | None, rows: Iterable[str]) -> Iterator[str]:
    """Say which text the rows were trained on and which they read, and what makes them no fair comparison."""
    trained = {row: options for row in rows if (options := _options(record, row))}
    by_text: dict[str, list[str]] = {}
    for row, options in trained.items():
        by_text.setdefault(options.get("corpus", NOTHING), []).append(row)
    corpus = {} if label is None else record.data["corpora"].get(label, {})
    read = f", measured on {corpus.get('spec')}" if corpus else ""
    for text, its in by_text.items():
        yield f"Trained on {text}{read}" + (f": {', '.join(its)}." if len(by_text) > 1 else ".")
    digest = (corpus.get("tally") or {}).get("digest")
    seen = [row for row in trained if digest is not None and about_row(record, row).get("revision") == digest]
    if seen:
        yield f"Not held out, trained on the very text they are measured on: {', '.join(seen)}."
    for row, options in trained.items():
        asked, limit = options.get("vocab_size", ""), about_row(record, row).get("id_limit")
        if asked.isdecimal() and isinstance(limit, int) and limit < int(asked):
            yield f"{row}: {limit:,} ids of {int(asked):,}, the text gave no more: not comparable with its size."


# ---------------------------------------------------------------------------------------------- training


def _training(record: Record) -> Iterator[Table]:
    measured = [result for result in record.of("training") if result.status == "ok"]
    for threads in sorted({int(result.case.parameters.get("threads", 1)) for result in measured}):
        results = [one for one in measured if int(one.case.parameters.get("threads", 1)) == threads]
        rows = tuple(
            (
                result.case.tokenizer,
                plain(pick(result, "train_seconds", _TOTAL), "{:.3f}"),
                plain(pick(result, "train_bytes_per_second"), "{:.2f}", 1e-6),
                plain(pick(result, "train_peak_memory_bytes"), "{:.1f}", 1e-6),
                plain(pick(result, "trained_merges"), "{:,.0f}"),
                plain(pick(result, "trained_vocabulary"), "{:,.0f}"),
                _phases(result),
            )
            for result in results
        )
        columns = ("tokenizer", "seconds", "MB/s", "memory MB", "merges", "ids", "longest phase")
        title = f"Training, {threads} thread{'s' if threads > 1 else ''}"
        notes = (
            "Text in memory, library imported; memory: beside both. Medians, each in a fresh process.",
            *_provenance(record, None, [result.case.tokenizer for result in results]),
            *_unfinished(record, results),
        )
        yield Table(title, columns, rows, notes)


def _unfinished(record: Record, results: Iterable[CaseResult]) -> Iterator[str]:
    short = []
    for result in results:
        asked, ids = _options(record, result.case.tokenizer).get("vocab_size", ""), pick(result, "trained_vocabulary")
        if asked.isdecimal() and ids is not None and ids.value is not None and ids.value < int(asked):
            short.append(f"{result.case.tokenizer} ({int(asked):,})")
    if short:
        yield f"Fewer ids than asked for, the text gave no more: {', '.join(short)}."


def _phases(result: CaseResult) -> str:
    phases = [
        (one.value, str(one.part))
        for one in result.measurements
        if one.metric == "train_seconds" and one.part != _TOTAL and one.value is not None
    ]
    return max(phases)[1] if phases else NOTHING
