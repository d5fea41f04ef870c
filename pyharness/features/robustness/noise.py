"""The benchmark ``noise``: tokens, ids and round trips of a text's own extracts, with noise and without.

An extract is the beginning of a text, up to 2 KiB. The sample takes the texts with the smallest digests, as many
extracts as fit 512 KiB. Each row has the same extracts and the same noise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyharness import corpora
from pyharness.benchmarks import Benchmark, Findings, Pace, Work
from pyharness.corpora.streaming import batches
from pyharness.features.robustness.noises import KINDS, NFD, spoiled
from pyharness.metrics.counting.sampling import DocumentSample
from pyharness.metrics.counting.state_arrays import taken
from pyharness.statistics import jackknife
from pyharness.statistics.jackknife import GROUPS, Undefined, group_of
from pyharness.types import (
    PERCENT,
    Case,
    CaseResult,
    Column,
    Format,
    InputError,
    Measurement,
    Metric,
    Note,
    State,
    Table,
    Tally,
    Tokenizer,
    counted,
    digest_of,
)

EXTRACT_BYTES = 2 << 10
SAMPLE_BYTES = 512 << 10
_SUMS = ("changed", "tokens", "noisy tokens", "ids kept", "round trips")
_AT_ONCE = 64  # extracts
# Measured: docs/measuring.md "Code and noise".
_FEW = "too few samples gave a CI to say how often it holds"
_WIDE = {("noise_ids_kept", "homoglyphs"): "CIs are too wide: they hold in 98 % of samples of books"}
_NARROW = {("noise_ids_kept", "case"): "CIs of differences hold too seldom: in 89 % of samples of lines of FLORES"}


class Extract(NamedTuple):
    """The beginning of a text, the group of its document, and whether the text is the document's first."""

    text: str
    group: int
    opens: bool


@dataclass(slots=True)
class NoiseCounts:
    """Sums of extracts by group and kind of noise. Integers only; an extract that a kind leaves equal is not in its."""

    texts: NDArray[np.int64] = field(default_factory=lambda: np.zeros((GROUPS, 2), np.int64))  # documents, extracts
    sums: NDArray[np.int64] = field(default_factory=lambda: np.zeros((GROUPS, len(KINDS), len(_SUMS)), np.int64))

    def add(self, tokenizer: Tokenizer, extracts: Sequence[Extract], seed: int, threads: int = 1) -> None:
        """Spoil extracts in every way, and encode them with noise and without."""
        clean = tokenizer.encode_batch([one.text for one in extracts], threads)
        for one in extracts:
            self.texts[one.group] += one.opens, 1
        for place, kind in enumerate(KINDS):
            noisy = [spoiled(kind, one.text, digest_of(f"{seed} {one.text}")) for one in extracts]
            tokens = tokenizer.encode_batch(noisy, threads)
            for index, (one, text) in enumerate(zip(extracts, noisy, strict=True)):
                if text != one.text:
                    ids, others = clean.document(index), tokens.document(index)
                    kept = (Counter(ids.tolist()) & Counter(others.tolist())).total()
                    returned = tokenizer.decode(others) == text.encode()
                    self.sums[one.group, place] += [1, len(ids), len(others), kept, returned]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays to keep with a record."""
        return {"noise texts": self.texts.ravel(), "noise sums": self.sums.ravel()}

    @classmethod
    def of_arrays(cls, arrays: State) -> NoiseCounts:
        """Invert ``arrays``; raise ``InputError`` for arrays that contradict each other."""
        shape = (GROUPS, len(KINDS), len(_SUMS))
        texts = taken(arrays, "noise texts", 2 * GROUPS).astype(np.int64).reshape(GROUPS, 2)
        sums = taken(arrays, "noise sums", int(np.prod(shape))).astype(np.int64).reshape(shape)
        if (sums < 0).any() or (sums[..., 3] > sums[..., 1]).any() or (sums[..., 4] > sums[..., 0]).any():
            raise InputError("a state keeps more ids, or more texts, than it has")
        return cls(texts, sums)


def run(work: Work) -> Findings:
    """Read the text once, and encode a sample of it with every kind of noise."""
    tokenizer, tally = work.load(), Tally()
    sample: DocumentSample[Extract] = DocumentSample(SAMPLE_BYTES)
    for one in corpora.read(work.text, tally):
        if sample.wants(one.digest):
            start = one.text[:EXTRACT_BYTES].encode()[:EXTRACT_BYTES]
            sample.add(one.digest, len(start), Extract(start.decode(errors="ignore"), group_of(one.key), one.opens))
        work.progress(tally.bytes)
    counts = NoiseCounts()
    for extracts in batches(sample.documents(), count=_AT_ONCE):
        counts.add(tokenizer, extracts, work.case.parameters["seed"], work.threads)
    return Findings(*_findings(counts), tally=tally, state=counts.arrays())


def rederive(state: State, case: Case) -> Findings:
    """Compute every number again, from the sums by group."""
    del case
    return Findings(*_findings(NoiseCounts.of_arrays(state)))


def _findings(counts: NoiseCounts) -> tuple[tuple[Measurement, ...], Mapping[str, Any]]:
    changed = dict(zip(KINDS, counts.sums[..., 0].sum(axis=0).tolist(), strict=True))
    return tuple(measure(counts)), {"extracts": int(counts.texts[:, 1].sum()), "changed": changed}


def measure(counts: NoiseCounts) -> Iterator[Measurement]:
    """Yield every metric of every kind."""
    documents = counts.texts[:, 0].tolist()
    for name, over, under in (("noise_tokens", 2, 1), ("noise_ids_kept", 3, 1), ("noise_round_trips", 4, 0)):
        for place, kind in enumerate(KINDS):
            of = partial(_ratio, counts.sums[:, place, over], counts.sums[:, place, under])
            if name == "noise_round_trips" or kind == NFD:
                yield replace(jackknife.without_interval(name, of, _FEW), part=kind)
                continue
            one = jackknife.estimate(name, documents, of, kind)
            alone, pair = (reasons.get((name, kind)) for reasons in (_WIDE, _NARROW))
            yield replace(one, no_interval=one.no_interval or alone, no_pair=one.no_pair or pair)


def _ratio(over: NDArray[np.int64], under: NDArray[np.int64], groups: jackknife.Groups) -> float:
    if not (whole := int(under[groups].sum())):
        raise Undefined("the text has nothing that this noise changes")
    return int(over[groups].sum()) / whole


def _unchanged(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Say how many extracts a kind of noise changes, where it leaves some equal."""
    del data
    details = results[0].details
    few = [f"{kind} {count:,}" for kind, count in details.get("changed", {}).items() if count < details["extracts"]]
    if few:
        yield f"Of {counted(details['extracts'], 'extract')}, only those count that change: {', '.join(few)}."


REPORTED = (
    Metric("noise_tokens", "ratio", "lower", "tokens with noise over tokens without", primary=True,
           format=Format("{:.3f}")),
    Metric("noise_ids_kept", "share", "higher", "ids without noise that are among those with it", format=PERCENT),
    Metric("noise_round_trips", "share", "higher", "extracts with noise that come back byte by byte", format=PERCENT),
)  # fmt: skip


def _table(title: str, metric: str, *notes: Note) -> Table:
    columns = tuple(Column(metric, kind, part=kind, interval=True, optional=True) for kind in KINDS)
    needs = () if _unchanged in notes else (metric,)  # without a number, one table says why
    return Table(f"{title} under noise", columns, notes, needs=needs)


BENCHMARKS = (
    Benchmark(
        "noise",
        "tokens, ids and round trips under noise: look-alikes, hidden characters, typos, case",
        run,
        corpus="required",
        pace=Pace(3.0, 0.05),
        whole_text=True,
        parameters={"seed": 0},
        metrics=REPORTED,
        tables=(
            _table("Tokens", "noise_tokens", "Tokens with noise over tokens without.", _unchanged),
            _table("Ids kept", "noise_ids_kept", "Ids of extracts that are among those with noise, in %."),
            _table("Round trips", "noise_round_trips", "Extracts with noise that come back byte by byte, in %."),
        ),
        rederive=rederive,
    ),
)
