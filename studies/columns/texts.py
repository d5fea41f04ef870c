"""Documents: what ``distribution``, ``code`` and ``noise`` measure of drawn ones. Each is counted once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from columns.drawing import Integers, Measure, by_group, groups_of
from pyharness import tokenizers
from pyharness.benchmarks import Work
from pyharness.corpora.files.splitting import Fragment
from pyharness.corpora.options import MAX_DOCUMENT_BYTES
from pyharness.corpora.streaming import TextCorpus
from pyharness.features.code import metrics as code_metrics
from pyharness.features.code.benchmark import CodePass
from pyharness.features.code.metrics import CodeCounts
from pyharness.features.distribution import token_kinds
from pyharness.features.distribution.benchmark import SpreadCounts, measurements
from pyharness.features.distribution.documents import DocumentRows
from pyharness.features.distribution.sequences import WIDTHS, cut_characters, window_types
from pyharness.features.distribution.token_kinds import TokenKindTable
from pyharness.features.robustness import noise
from pyharness.features.robustness.noise import EXTRACT_BYTES, Extract, NoiseCounts
from pyharness.metrics.counting.state import CorpusState, Facts
from pyharness.statistics.jackknife import GROUPS
from pyharness.types import Case, Measurement, Tokenizer

ALPHA, WINDOW = 2.5, 100


def corpus_of(texts: Sequence[str]) -> TextCorpus:
    """Return a corpus of given documents."""
    return TextCorpus("texts", lambda: map(Fragment, texts), "und", "", "", "texts", None, MAX_DOCUMENT_BYTES)


def of_documents(row: Tokenizer, texts: Sequence[str]) -> tuple[Measure, int]:
    """Spread of the tokens of documents, without kinds. Only ids that occur take part: others change no number."""
    tokens = row.encode_batch(texts)
    facts = Facts.of(row)
    assert facts.vocabulary is not None
    wide, cut = cut_characters(tokens, texts, facts.vocabulary)
    types, windows = window_types(tokens, WINDOW)
    _, ids = np.unique(tokens.ids, return_inverse=True)
    size = int(ids.max()) + 1
    small = Facts(size, np.ones(size, np.bool_), facts.vocabulary, lossy=False)
    counts = {"window_types": types, "windows": windows, "bytes": np.array([len(text.encode()) for text in texts])}
    for column, width in enumerate(WIDTHS):
        counts |= {f"wide_{width}": wide[:, column], f"cut_{width}": cut[:, column]}
    counts |= dict.fromkeys(("documents", "pieces"), np.ones(len(texts), np.int64))
    counts["tokens"] = np.diff(tokens.offsets)

    def measured(chosen: Integers, keys: Sequence[bytes]) -> Sequence[Measurement]:
        state, rows, groups = CorpusState.empty(small), DocumentRows(), groups_of(keys)
        for name, values in counts.items():
            state.add(name, np.bincount(groups, values[chosen], GROUPS).astype(np.int64))
        lengths = counts["tokens"][chosen]
        starts = np.repeat(tokens.offsets[chosen] - (np.cumsum(lengths) - lengths), lengths)
        inside = ids[starts + np.arange(lengths.sum())]
        places = np.repeat(groups, lengths) * size + inside
        state.histogram[:] = np.bincount(places, minlength=GROUPS * size).reshape(GROUPS, size).astype(np.uint64)
        for one, key in zip(chosen.tolist(), keys, strict=True):
            rows.add(key, True, int(counts["bytes"][one]), int(counts["tokens"][one]))
        return list(measurements(SpreadCounts(state, rows), ALPHA, WINDOW))

    return measured, len(texts)


def of_kinds(row: Tokenizer, texts: Sequence[str]) -> tuple[Measure, int]:
    """What the tokens of documents are made of. Of sums alone, which takes less time."""
    tokens, vocabulary = row.encode_batch(texts), Facts.of(row).vocabulary
    assert vocabulary is not None
    ones, sizes = np.ones(len(texts), np.int64), np.array([len(text.encode()) for text in texts])
    columns = dict(TokenKindTable.of(vocabulary).count(tokens))
    columns |= {"documents": ones, "pieces": ones, "bytes": sizes, "tokens": np.diff(tokens.offsets)}
    counts = np.stack(list(columns.values()), axis=1)

    def measured(chosen: Integers, keys: Sequence[bytes]) -> Sequence[Measurement]:
        sums = by_group(counts, chosen, keys).T.astype(np.object_)
        return list(token_kinds.measurements(CorpusState.of_sums(dict(zip(columns, sums, strict=True)))))

    return measured, len(texts)


def of_code(row: str, language: str, texts: Sequence[str]) -> tuple[Measure, int]:
    """Leaves of documents of a language."""
    tokenizer, spec = tokenizers.load(row), tokenizers.resolve(row)
    work = Work(Case("code", row, "text", {"language": language}), spec, lambda: tokenizer, corpus_of(()), 1)
    first = CodePass.start(work)
    passes = (CodePass(work, language, first.lex, first.segmenter).read(corpus_of((text,))) for text in texts)
    counts = np.array([one.counts.sums.sum(axis=0) for one in passes])

    def measured(chosen: Integers, keys: Sequence[bytes]) -> Sequence[Measurement]:
        return list(code_metrics.measure(CodeCounts(by_group(counts, chosen, keys))))

    return measured, len(texts)


def of_noise(row: Tokenizer, texts: Sequence[str]) -> tuple[Measure, int]:
    """Extracts with noise, each counted as a document."""
    rows = []
    for text in texts:
        one = NoiseCounts()
        extract = text[:EXTRACT_BYTES].encode()[:EXTRACT_BYTES].decode(errors="ignore")
        one.add(row, [Extract(extract, 0, True)], 0)
        rows.append(np.append(one.texts[0], one.sums[0].ravel()))
    counts, shape = np.array(rows), NoiseCounts().sums.shape

    def measured(chosen: Integers, keys: Sequence[bytes]) -> Sequence[Measurement]:
        sums = by_group(counts, chosen, keys)
        return list(noise.measure(NoiseCounts(sums[:, :2], sums[:, 2:].reshape(shape))))

    return measured, len(texts)
