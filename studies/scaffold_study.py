"""Scaffold-BPE beside plain BPE of the same size on one English text: what the paper claims, with intervals.

    PYHARNESS_DATA=... python studies/scaffold_study.py --output study

writes study.json and study.md. The text is the English of the data folder, repeated documents left out; one document
in ten is held out. Both algorithms are trained on the same pieces by the library, and their tokens are counted per
group of documents, so every difference gets the paired interval of the library (delete-a-group jackknife, 32 groups).
Two kinds of interval:

- ``documents``: the two tokenizers as they are, other documents of the kind;
- ``retrained``: each group is left out of the training text and of the text that is read, and both are trained again,
  so that the choice of either counts. Wide, on the safe side: merges near a tie change places with 3 % of the text, and
  the jackknife takes that for variance.

A claim is confirmed or refuted when the interval of the difference excludes 0, by each kind of interval apart. Entropy
and redundancy grow with the text, so that their difference may have another sign on more of it: there, the difference
must have one sign on about 1/8, 1/4, 1/2 and all of the text, too. The documents are pieces of the same books and
articles: held out are other passages, not other works, and the intervals speak of such passages.

Paper: arXiv 2404.17808. Its figures are on other data (the Pile): the direction is what is compared.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from grouped_text import Documents, Encoded, GroupedPieces
from pyharness import bpe
from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.training.trained_model import model_of_training
from pyharness.features.training import replaced_tokens
from pyharness.metrics import corpus_metrics
from pyharness.metrics.counting.state import CorpusState, measure
from pyharness.statistics import jackknife
from pyharness.statistics.jackknife import GROUPS
from pyharness.system.environment import version_of
from pyharness.types import Measurement

TEXTS = (
    "path:{data}/corpora/english/books.jsonl.xz",
    "path:{data}/corpora/english/enwiki_xml_sample.xml.xz?split=paragraph",
    "path:{data}/corpora/english/tinyshakespeare.txt.xz?split=paragraph",
    "path:{data}/corpora/english/wikitext2_valid.jsonl.xz",
    "parallel:{data}/corpora/parallel/libreoffice_help.jsonl.xz?languages=en&reference=en",
    "parallel:{data}/corpora/parallel/xquad.jsonl.xz?languages=en&reference=en",
)
METRICS = ("bytes_per_token", "shannon_entropy", "redundancy", "renyi_entropy_2.5", "renyi_efficiency")
PARTS = ("training", "held_out")


@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says of Scaffold-BPE against BPE, at a vocabulary of 32K on the Pile."""

    metric: str
    sign: int  # of scaffold - plain
    plain: float | None
    scaffold: float | None

    def verdict(self, interval: tuple[float, float] | None, curve: Sequence[float]) -> str:
        """Decide by an interval of the difference, and by the differences on nested parts of the text, if it grows."""
        if interval is None:
            return "not resolved: no interval"
        if interval[0] <= 0 <= interval[1]:
            return "not resolved: interval includes 0"
        if curve and min(curve) <= 0 <= max(curve):
            return "not resolved: the sign changes with the size of the text"
        return "confirmed" if np.sign(interval[0]) == self.sign else "refuted"


CLAIMS = {
    claim.metric: claim
    for claim in (
        Claim("bytes_per_token", +1, 3.879, 3.889),
        Claim("shannon_entropy", +1, 11.2382, 11.2443),
        Claim("redundancy", -1, 0.2491, 0.2487),
        Claim("replaced_token_frequency", +1, None, None),
    )
}
PAPER_REPLACED = {32768: 0.7640, 65536: 0.6858, 131072: 0.5899}  # growth of the mean frequency
PAPER_SHARE = 0.0607  # of a BPE vocabulary of 32K


def values(plain: CorpusState, scaffold: CorpusState) -> dict[str, tuple[Measurement, Measurement]]:
    """Every metric of both; the frequency of replaced tokens compares the two already, so its first side is 0."""
    known = corpus_metrics()
    of_plain, of_scaffold = (measure(state, [known[name] for name in METRICS]) for state in (plain, scaffold))
    pairs = {a.metric: (a, b) for a, b in zip(of_plain, of_scaffold, strict=True)}
    for one in replaced_tokens.measure(plain, scaffold):
        if one.metric == "replaced_token_frequency" and one.value is not None:  # None: no replaced token in the text
            zero = Measurement(one.metric, 0.0, replicates=tuple(None if r is None else 0.0 for r in one.replicates))
            pairs[one.metric] = zero, one
    return pairs


# ---------------------------------------------------------------------------------------------- one size


@dataclass(frozen=True, slots=True)
class Setting:
    """A pattern and a vocabulary size."""

    pattern: str
    vocab_size: int
    documents: Documents
    grouped: GroupedPieces

    def trained(self, without: int | None = None) -> tuple[Encoded, Encoded]:
        """Plain BPE and Scaffold-BPE on the training text, without one group of it."""
        pieces = self.grouped.training(without)
        plain = bpe.train(pieces, self.vocab_size)
        scaffold = bpe.train(pieces, self.vocab_size, scaffold=True)
        if not (plain.complete and scaffold.complete):
            raise SystemExit(f"the text has no {self.vocab_size:,} tokens by pattern {self.pattern}: give more text")
        return Encoded.of(plain, self.grouped.pieces), Encoded.of(scaffold, self.grouped.pieces)

    def verify(self, pair: tuple[Encoded, Encoded]) -> None:
        """Compare the counts of a group of held-out documents with what the tokenizers themselves write."""
        group, texts = next((g, texts) for g, texts in enumerate(self.documents.parts["held_out"]) if texts)
        for one, state in zip(pair, self.states(pair, "held_out"), strict=True):
            tokenizer = BpeTokenizer(model_of_training(one.trained, self.pattern))
            written = np.bincount(tokenizer.encode_batch(texts).ids, minlength=tokenizer.id_limit)
            if not np.array_equal(written, state.histogram[group][one.facts.counted]):
                raise AssertionError("the tokenizer writes other tokens than were counted")

    def states(self, pair: tuple[Encoded, Encoded], part: str) -> tuple[CorpusState, CorpusState]:
        """Both encodings of a part."""
        plain, scaffold = (one.state(self.grouped.counts[part], self.documents.sizes(part)) for one in pair)
        return plain, scaffold

    def without_each_group(self) -> Iterator[dict[str, dict[str, tuple[float, float]]]]:
        """Values after each group is left out of everything: of what is trained on, and of what is read."""
        for group in range(GROUPS):
            pair = self.trained(group)
            figures: dict[str, dict[str, tuple[float, float]]] = {"shares": {"shares": shares(pair)}}
            for part in PARTS:
                states = self.states(pair, part)
                for state in states:
                    state.histogram[group] = 0
                    for sums in state.counters.values():
                        sums[group] = 0
                figures[part] = {name: (a.value, b.value) for name, (a, b) in values(*states).items()}  # type: ignore[misc]
            yield figures


def shares(pair: tuple[Encoded, Encoded]) -> tuple[float, float]:
    """|S| / |V|, and the share of plain BPE's V that Scaffold-BPE replaces: what 6.07 % of the paper is."""
    plain, scaffold = (one.facts.vocabulary for one in pair)
    assert plain is not None and scaffold is not None  # noqa: PT018 - both were made above
    replaced = replaced_tokens.Replacement.of(plain, scaffold)
    size = pair[1].facts.vocab_size
    return int(pair[1].trained.scaffold.sum()) / size, len(replaced.left) / size


def study(setting: Setting) -> dict[str, Any]:
    """Everything about one setting, as JSON values."""
    pair = setting.trained()
    setting.verify(pair)
    again = list(setting.without_each_group())
    figures: dict[str, Any] = {"pattern": setting.pattern, "vocab_size": setting.vocab_size}
    names = ("scaffold_share", "replaced_token_share")
    for index, (name, value) in enumerate(zip(names, shares(pair), strict=True)):
        figures[name] = {
            "value": value,
            "retrained": jackknife.interval(value, [one["shares"]["shares"][index] for one in again]),
        }
    for part in PARTS:
        measured = values(*setting.states(pair, part))
        figures[part] = {
            name: row(a, b, [one[part].get(name) for one in again], CLAIMS.get(name))
            for name, (a, b) in measured.items()
        }
    return figures


def row(
    plain: Measurement, scaffold: Measurement, again: Sequence[tuple[float, float] | None], claim: Claim | None
) -> dict[str, Any]:
    """Both values and the intervals of their difference."""
    assert plain.value is not None and scaffold.value is not None  # noqa: PT018 - the texts are not empty
    difference = scaffold.value - plain.value
    intervals = {
        "documents": jackknife.paired_interval(plain, scaffold),
        # Not corrected to one size: what another training changes does not go with the size of what it lacks.
        "retrained": jackknife.interval(difference, [pair and pair[1] - pair[0] for pair in again]),
    }
    steps = zip(plain.curve, scaffold.curve, strict=True)
    curve = [0.0 if before is None or after is None else after - before for before, after in steps]
    figures = {"plain": plain.value, "scaffold": scaffold.value, "difference": difference, **intervals, "curve": curve}
    return figures | ({"claim": {kind: claim.verdict(one, curve) for kind, one in intervals.items()}} if claim else {})


# ---------------------------------------------------------------------------------------------- output


def markdown(figures: Mapping[str, Any]) -> str:
    """Tables of a study."""
    text = figures["text"]
    lines = [
        "# Scaffold-BPE beside plain BPE of the same size",
        "",
        *(
            f"- {part.replace('_', '-')}: {text[part]['bytes']:,} bytes, {text[part]['documents']:,} documents"
            for part in PARTS
        ),
        f"- left out: {text['repeated'][0]:,} repeated documents ({text['repeated'][1]:,} bytes)",
        "- ± is half of the 95 % interval of the difference: other documents / also trained on others",
        "- held out are other passages of the same works",
        "- curve: the difference on about 1/8, 1/4, 1/2 and all of the text, of what grows with it",
        "- replaced_token_frequency: growth of the mean count of the tokens of BPE's V that Scaffold-BPE replaces",
        "- the paper's figures are of other data (the Pile, vocabulary 32K)",
    ]
    for one in figures["settings"]:
        lines += ["", f"## {one['vocab_size']:,} tokens, pattern {one['pattern']}", ""]
        lines += [_shares_line(one), ""]
        lines += ["| text | metric | BPE | Scaffold-BPE | difference | ± | curve | paper | claim |"]
        lines += ["| :-- | :-- | --: | --: | --: | --: | --: | --: | :-- |"]
        lines += [_line(part, name, about, one["vocab_size"]) for part in PARTS for name, about in one[part].items()]
    return "\n".join(lines) + "\n"


def _shares_line(one: Mapping[str, Any]) -> str:
    share, replaced = one["scaffold_share"], one["replaced_token_share"]
    paper = f" (paper, other data: {PAPER_SHARE:.2%})" if one["vocab_size"] == 32768 else ""
    return (
        f"Scaffold tokens: {share['value']:.3%} ±{_half(share['retrained']):.3%} of V (|S|/|V|); "
        f"{replaced['value']:.3%} ±{_half(replaced['retrained']):.3%} of BPE's V are replaced, being scaffold{paper}."
    )


def _line(part: str, name: str, about: Mapping[str, Any], size: int) -> str:
    claim = CLAIMS.get(name)
    paper = "" if claim is None or claim.plain is None or size != 32768 else f"{claim.plain} -> {claim.scaffold}"
    if name == "replaced_token_frequency" and size in PAPER_REPLACED:
        paper = f"{PAPER_REPLACED[size]:+.2%}"
    half = " / ".join(f"{_half(about[kind]):.2g}" for kind in ("documents", "retrained"))
    cells = (part.replace("_", "-"), name, f"{about['plain']:.6g}", f"{about['scaffold']:.6g}")
    curve = " ".join(f"{step:+.2g}" for step in about["curve"])
    return "| " + " | ".join((*cells, f"{about['difference']:+.4g}", half, curve, paper, _verdicts(about))) + " |"


def _verdicts(about: Mapping[str, Any]) -> str:
    verdicts = about.get("claim", {})
    if len(set(verdicts.values())) < 2:
        return next(iter(verdicts.values()), "")
    return f"{verdicts['documents']}; retrained: {verdicts['retrained']}"


def _half(interval: Sequence[float] | None) -> float:
    return float("nan") if interval is None else (interval[1] - interval[0]) / 2


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the text, study every setting, write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("scaffold-study"), help="without suffix")
    parser.add_argument("--sizes", type=int, nargs="+", default=[8192, 16384, 32768, 65536])
    parser.add_argument("--patterns", nargs="+", default=["single_digits", "gpt2"])
    parser.add_argument("--texts", nargs="+", help="corpora; default: the English of PYHARNESS_DATA")
    given = parser.parse_args(arguments)
    if not given.texts and "PYHARNESS_DATA" not in os.environ:
        sys.exit("set PYHARNESS_DATA to the folder of data, or give --texts")
    data = os.environ.get("PYHARNESS_DATA", "")
    documents = Documents.read(given.texts or [text.format(data=data) for text in TEXTS])
    total = partial(dict[str, int])
    text: dict[str, Any] = {
        part: total({name: int(counts.sum()) for name, counts in documents.sizes(part).items()}) for part in PARTS
    }
    text |= {"repeated": documents.repeated, "corpora": given.texts or list(TEXTS)}
    figures: dict[str, Any] = {"pyharness": version_of("pyharness"), "text": text, "settings": []}
    for pattern in given.patterns:
        grouped = GroupedPieces.of(documents, pattern)
        for size in given.sizes:
            figures["settings"].append(study(Setting(pattern, size, documents, grouped)))
            given.output.with_suffix(".json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
            given.output.with_suffix(".md").write_text(markdown(figures), encoding="utf-8")
    sys.stdout.write(markdown(figures))


if __name__ == "__main__":
    main()
