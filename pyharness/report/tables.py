"""What a record says, as tables of strings: one shape for the terminal, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pyharness.metrics.counting import word_positions
from pyharness.report.algorithms import algorithm_tables
from pyharness.report.cells import NOTHING, Table, about_intervals, case_name, lossy, pick, plain, size, with_interval
from pyharness.report.comparison import Difference, variant
from pyharness.store import Record
from pyharness.types import CaseResult

WHOLE_GROUPS_SINCE = 2  # schema of records whose groups hold whole documents
_MET = {
    "empty_documents": "empty documents left out",
    "cut_documents": "long documents cut",
    "replaced_sequences": "invalid UTF-8 sequences replaced",
}


def tables(record: Record) -> list[Table]:
    """Every table that the record has results for."""
    found = [*_compression(record), *_fairness(record), *_next_token_entropy(record), *_reachability(record)]
    found += [*algorithm_tables(record), *_integrity(record), *_throughput(record), *_latency(record), *_load(record)]
    found += _not_measured(record)
    return [table for table in found if table.rows]


# ---------------------------------------------------------------------------------------------- numbers


def _count(found: Mapping[str, Any], name: str) -> int:
    """Whole number behind a key; 0 where a record that was edited by hand has none."""
    value = found.get(name)
    return value if isinstance(value, int) else 0


def _by_corpus(results: Iterable[CaseResult]) -> dict[str, list[CaseResult]]:
    found: dict[str, list[CaseResult]] = {}
    for result in results:
        if result.status == "ok":
            found.setdefault(str(result.case.corpus), []).append(result)
    return found


def _about(record: Record, label: str, results: Sequence[CaseResult]) -> str:
    corpus = record.data["corpora"].get(label, {})
    tally = corpus.get("tally")
    text = f"{label}"
    if tally:
        read = f"{tally['documents']:,} documents"
        if (uncut := _uncut(results)) is not None and uncut != tally["documents"]:
            read = f"{uncut:,} documents in {tally['documents']:,} pieces"
        text += f" ({size(tally['bytes'])}, {read})"
    return text + (" [smoke test]" if corpus.get("smoke_test") else "")


def _uncut(results: Sequence[CaseResult]) -> int | None:
    """Count the documents before any was cut; None in a record that does not tell."""
    groups = results[0].details.get("groups")
    if not isinstance(groups, dict) or "pieces" not in groups:
        return None
    counts = groups.get("documents")
    return sum(count for count in counts if isinstance(count, int)) if isinstance(counts, list) else None


def _notes(record: Record, label: str) -> tuple[str, ...]:
    corpus = record.data["corpora"].get(label, {})
    notes = []
    if corpus.get("smoke_test"):
        notes.append("The sample is a smoke test: differences and premiums on it are not evidence.")
    tally = corpus.get("tally") or {}
    if tally.get("cut_documents") and record.data["schema"] < WHOLE_GROUPS_SINCE:
        notes.append("Too narrow: this record's intervals take the pieces of a cut document for documents.")
    met = [f"{tally[name]:,} {what}" for name, what in _MET.items() if tally.get(name)]
    return (*notes, *([f"Text as read: {', '.join(met)}."] if met else []))


# ---------------------------------------------------------------------------------------------- text


def _compression(record: Record) -> list[Table]:
    found = []
    for label, results in _by_corpus(record.of("compression")).items():
        rows = tuple(
            (
                result.case.tokenizer,
                f"{_count(record.data['tokenizers'].get(result.case.tokenizer, {}), 'vocab_size'):,}",
                with_interval(pick(result, "bytes_per_token")),
                plain(pick(result, "tokens_per_word")),
                plain(pick(result, "renyi_efficiency")),
                plain(pick(result, "vocabulary_used"), "{:.1f}", 100),
                plain(pick(result, "normalized_sequence_length"), "{:.3f}"),
            )
            for result in results
        )
        columns = ("tokenizer", "V", "bytes/token", "tok/word", "Rényi 2.5", "used %", "NSL")
        notes = (*_notes(record, label), *_reference(results), *about_intervals(results, "bytes_per_token"))
        notes += tuple(lossy(record, [row[0] for row in rows]))
        found.append(Table(f"Compression: {_about(record, label, results)}", columns, rows, notes))
    return found


def _reference(results: Iterable[CaseResult]) -> list[str]:
    """Name the row that the lengths of the others are relative to."""
    lengths = [pick(result, "normalized_sequence_length") for result in results]
    homes = dict.fromkeys(one.part for one in lengths if one is not None and one.value is not None)
    return [f"NSL: length in tokens, where that of {home} is 1." for home in homes]


def _fairness(record: Record) -> list[Table]:
    found = []
    for label, results in _by_corpus(record.of("fairness")).items():
        rows = []
        for result in results:
            parity = sorted((m.value, str(m.part)) for m in result.measurements if m.metric == "parity" and m.value)
            lowest, highest = (f"{value:.2f} {part}" for value, part in (parity[0], parity[-1])) if parity else ("", "")
            middle = f"{parity[len(parity) // 2][0]:.3f}" if parity else NOTHING
            gini = with_interval(pick(result, "premium_gini"))
            rows.append((result.case.tokenizer, gini, middle, lowest or NOTHING, highest or NOTHING))
        details = results[0].details
        tokens = details.get("tokens")
        languages = len(tokens) if isinstance(tokens, dict) else 0
        title = f"Fairness: {label}, {languages} languages, {_count(details, 'rows'):,} rows"
        columns = ("tokenizer", "Gini", "median", f"least, of {details.get('reference', NOTHING)}", "most")
        notes = (*_notes(record, label), *about_intervals(results, "premium_gini"))
        found.append(Table(title, columns, tuple(rows), notes))
    return found


def _next_token_entropy(record: Record) -> list[Table]:
    found = []
    columns = ("tokenizer", "bits/byte", "NLL", "entropy", *(f"NLL at {place}" for place in word_positions.PARTS))
    for label, of_corpus in _by_corpus(record.of("next_token_entropy")).items():
        for told_apart in dict.fromkeys(variants := [variant(result, of_corpus) for result in of_corpus]):
            results = [result for result, its in zip(of_corpus, variants, strict=True) if its == told_apart]
            title = f"Next token: {_about(record, label, results)}" + (f", {told_apart}" if told_apart else "")
            notes = (*_notes(record, label), *about_intervals(results, "bits_per_byte"), *_prediction_notes(results))
            found.append(Table(title, columns, _plain_rows(results, _predictions), notes))
    return found


def _prediction_notes(results: Iterable[CaseResult]) -> list[str]:
    unchecked = [one.case.tokenizer for one in results if str(one.details.get("pairing")).startswith("not checked")]
    said = [f"Not checked whether the tokenizer is the model's: {', '.join(unchecked)}."] if unchecked else []
    return [
        *said,
        "NLL and entropy: bits per token; of these, bits/byte alone compares tokenizers.",
        "NLL at 0, 1, 2, 3+: by the number of tokens since the word's start.",
    ]


def _predictions(result: CaseResult) -> list[str]:
    whole = [plain(pick(result, metric), "{:.3f}") for metric in ("next_token_nll", "next_token_entropy")]
    places = [plain(pick(result, "word_position_nll", part), "{:.3f}") for part in word_positions.PARTS]
    return [with_interval(pick(result, "bits_per_byte")), *whole, *places]


def _reachability(record: Record) -> list[Table]:
    metrics = ("stt_tested", "unreachable_graph", "unreachable_model", "unreachable_pipeline", "no_witness_found",
               "undecodable", "unused_on_corpus")  # fmt: skip
    columns = ("tokenizer", "tested", "graph", "model", "pipeline", "open", "no text", "unused")
    rows = _plain_rows(record.of("reachability"), lambda r: [plain(pick(r, metric), "{:,.0f}") for metric in metrics])
    return [Table("Dead tokens (self-tokenization test: graph, model, pipeline)", columns, rows)]


def _integrity(record: Record) -> list[Table]:
    by_row: dict[str, list[CaseResult]] = {}
    for result in record.of("integrity"):
        if result.status == "ok":
            by_row.setdefault(result.case.tokenizer, []).append(result)
    rows = tuple(
        (row, str(results[0].details.get("class", NOTHING)), *_round_trips(results)) for row, results in by_row.items()
    )
    columns = ("tokenizer", "class", "documents", "as class", "exact", "idempotent", "same ids")
    notes = ("Shares are the lowest over the corpora; the sample's code and odd Unicode are always read too.",)
    return [Table("Round trips", columns, rows, notes)]


def _round_trips(results: Sequence[CaseResult]) -> list[str]:
    cells = [f"{sum(_count(result.details, 'documents') for result in results):,}"]
    for metric in ("round_trip_share", "exact_round_trip_share", "idempotent_share"):
        shares = [m for result in results if (m := pick(result, metric)) is not None and m.value is not None]
        cells.append(plain(min(shares, key=lambda m: m.value or 0.0, default=None)))
    compared = [found for one in results if isinstance(found := one.details.get("identical_ids"), dict)]
    left_out = sum(_count(found, "left_out") for found in compared)
    same = f"{sum(_count(found, 'documents') for found in compared):,}" + (f" (-{left_out})" if left_out else "")
    return [*cells, same if compared else NOTHING]


def _plain_rows(
    results: Iterable[CaseResult], cells: Callable[[CaseResult], Sequence[str]]
) -> tuple[tuple[str, ...], ...]:
    return tuple((result.case.tokenizer, *cells(result)) for result in results if result.status == "ok")


# ---------------------------------------------------------------------------------------------- speed


def _throughput(record: Record) -> list[Table]:
    found = []
    for label, results in _by_corpus(record.of("throughput")).items():
        for count in sorted({_count(result.case.parameters, "threads") for result in results}):
            chosen = [result for result in results if _count(result.case.parameters, "threads") == count]
            rows = _plain_rows(chosen, _rates)
            columns = ("tokenizer", "cold", "steady", "replay", "Mtok/s", "decode")
            title = f"Throughput, MB/s: {label}" + (f", {count} thread{'s' if count > 1 else ''}" if count else "")
            notes = ("cold: first text in a fresh process; steady: new text; replay: the same text again.",)
            found.append(Table(title, columns, rows, notes))
    return found


def _rates(result: CaseResult) -> list[str]:
    wanted = [("encode_bytes_per_second", phase) for phase in ("cold", "steady", "replay")]
    wanted += [("encode_tokens_per_second", "steady"), ("decode_bytes_per_second", "steady")]
    return [plain(pick(result, metric, part), "{:.2f}", 1e-6) for metric, part in wanted]


def _latency(record: Record) -> list[Table]:
    found = []
    for label, results in _by_corpus(record.of("latency")).items():
        parts = list(dict.fromkeys(str(m.part) for result in results for m in result.measurements))
        rows = _plain_rows(
            results,
            lambda result, parts=parts: [  # type: ignore[misc]
                plain(pick(result, metric, part), "{:.1f}", 1e6)
                for part in parts
                for metric in ("latency_p50", "latency_p99")
            ],
        )
        columns = ("tokenizer", *(f"{part} {quantile}" for part in parts for quantile in ("p50", "p99")))
        found.append(Table(f"Latency of one call, µs: {label}", columns, rows))
    return found


def _load(record: Record) -> list[Table]:
    rows = _plain_rows(
        record.of("load"),
        lambda result: [
            plain(pick(result, "load_seconds"), "{:.3f}"),
            plain(pick(result, "peak_memory_bytes"), "{:.1f}", 1e-6),
        ],
    )
    return [Table("Load, in a fresh process", ("tokenizer", "seconds", "memory MB"), rows)]


def _not_measured(record: Record) -> list[Table]:
    """Say it once for all cases of a row that share a reason."""
    cases: dict[tuple[str, str, str], list[str]] = {}
    for result in record.results:
        if result.status != "ok":
            about = result.case
            name = case_name(about) + (f" on {about.corpus}" if about.corpus else "")
            cases.setdefault((about.tokenizer, result.status, str(result.reason)), []).append(name)
    rows = tuple((row, status, ", ".join(names), reason) for (row, status, reason), names in cases.items())
    return [Table("Not measured", ("tokenizer", "status", "cases", "reason"), rows)]


def difference_tables(differences: Sequence[Difference]) -> list[Table]:
    """Tables of a comparison, one per pair of rows and text."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for difference in differences:
        name = difference.metric if difference.part is None else f"{difference.metric} {difference.part}"
        if difference.a is None or difference.b is None:
            continue
        low, high = difference.interval or (None, None)
        half = NOTHING if low is None or high is None else f"{(high - low) / 2:.2g}"
        cells = (f"{difference.a:.5g}", f"{difference.b:.5g}", f"{difference.b - difference.a:+.4g}", half)
        found.setdefault(difference.title, []).append((name, *cells, difference.verdict))
    columns = ("metric", "A", "B", "B - A", "±", "verdict")
    notes = (
        "±: half of the paired 95 % interval of the difference, of as much other text of this kind;",
        "-: too few documents, or a metric without an interval.",
    )
    last = list(found)[-1:]
    return [
        Table(title, columns, tuple(rows), (*_along_curve(title, differences), *notes * (title in last)))
        for title, rows in found.items()
    ]


def _along_curve(title: str, differences: Sequence[Difference]) -> Iterator[str]:
    """Say of what grows with the text how the difference goes with its size."""
    growing = [one for one in differences if one.title == title and one.grows_with_text and one.curve]
    if not growing:
        return
    yield "These grow with the text, so that sign and size of B - A can change with more of it;"
    yield "on 1/8, 1/4, 1/2 and all of it B - A is:"
    for one in growing:
        steps = ", ".join(NOTHING if step is None else f"{step:+.3g}" for step in one.curve)
        yield f"{one.metric}: {steps}"
