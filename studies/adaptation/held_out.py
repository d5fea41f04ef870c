"""Do intervals hold where the documents of a held-out text belong together: paragraphs of an article, sentences of one?

usage: PYHARNESS_DATA=DIR python studies/adaptation/held_out.py [--base FILE] [--draws 400] [--books]

Extensions for Hindi, learnt from its novels, judged on XQuAD (articles of five paragraphs) and on FLORES (articles of
about 3.5 sentences). Articles are drawn with replacement, as many as there are, which makes other texts of the kind:
the gain in bytes/token of all articles is what the interval of a draw should hold 95 % of the time. A draw is judged
with groups of articles, and with groups of documents, which is what a corpus gives that does not name its works.
``--books`` asks it of the suite adaptation-curves instead: its extensions from 1 MB of English books, 3, 10 and all,
each over the one before, judged on the books that it holds out.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyharness import suite, tokenizers
from pyharness.corpora import keyed, open_corpus
from pyharness.statistics import jackknife
from pyharness.types import Tally

Counts = NDArray[np.float64]
DATA = Path(os.environ.get("PYHARNESS_DATA", "."))
PARALLEL = DATA / "corpora" / "parallel"
LEARNT = DATA / "corpora" / "multilingual" / "hi" / "classic_novels.jsonl.xz"
SIZES = (1024, 16384)
METHODS = ("continued-bpe", "naive-extension")
AMOUNTS = ("mistral_v1", *(f"mistral_v1 en {amount} 8192" for amount in ("1 MB", "3 MB", "10 MB", "all")))


def flores() -> tuple[list[str], list[str]]:
    """Sentences, and the address that each is from."""
    with lzma.open(PARALLEL / "flores200" / "hin_Deva.txt.xz", "rt", encoding="utf-8") as lines:
        texts = [line.rstrip("\n") for line in lines]
    rows = (PARALLEL / "flores200" / "_meta.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return texts, [row.split("\t")[2] for row in rows]


def xquad() -> tuple[list[str], list[str]]:
    """Paragraphs, and the article that each is from."""
    with lzma.open(PARALLEL / "xquad.jsonl.xz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [row["text"]["hi"] for row in rows], [row["id"].split("#")[0] for row in rows]


def gain(before: Counts, after: Counts) -> tuple[float, list[float | None]]:
    """Gain in bytes/token, of tokens by group, and without each group."""
    left = [(before.sum() - one) / (after.sum() - other) - 1 if one or other else None
            for one, other in zip(before, after, strict=True)]  # fmt: skip
    return float(before.sum() / after.sum() - 1), left


def draws(before: Counts, after: Counts, works: NDArray[np.int64], count: int, *, by_work: bool) -> Iterator[bool]:
    """For each draw that has an interval, whether it holds the gain of all works."""
    generator, true = np.random.default_rng(12), before.sum() / after.sum() - 1
    members = [np.flatnonzero(works == work) for work in range(works.max() + 1)]
    for _ in range(count):
        drawn = generator.integers(0, len(members), len(members))
        chosen = np.concatenate([members[work] for work in drawn])
        groups = generator.integers(0, jackknife.GROUPS, len(drawn) if by_work else len(chosen))
        if by_work:
            groups = np.repeat(groups, [len(members[work]) for work in drawn])
        old, new = (np.bincount(groups, tokens[chosen], jackknife.GROUPS) for tokens in (before, after))
        bounds = jackknife.interval(*gain(old.astype(np.float64), new.astype(np.float64)))
        if bounds is not None:
            yield bool(bounds[0] <= true <= bounds[1])


def say(what: str, before: Counts, after: Counts, works: NDArray[np.int64], count: int) -> None:
    """A line with groups of works, and one with groups of documents."""
    for kind in ("works", "documents"):
        held = list(draws(before, after, works, count, by_work=kind == "works"))
        sys.stdout.write(f"{what}, groups of {kind}: held {np.mean(held):.1%} of {len(held)}\n")
    sys.stdout.flush()


def of_books(count: int) -> None:
    """Lines about more and more English text."""
    declared = suite.read(suite.find("adaptation-curves"))
    specs = {entry.label: entry.spec for entry in (*declared.tokenizers, *declared.corpora)}
    pieces = list(keyed(open_corpus(specs["en"]), Tally()))
    works = np.unique([piece.work for piece in pieces], return_inverse=True)[1]
    texts = [piece.text for piece in pieces]
    rows = [tokenizers.load(tokenizers.obtain(specs[label]).name) for label in AMOUNTS]
    tokens = [np.diff(row.encode_batch(texts).offsets).astype(np.float64) for row in rows]
    for label, (before, after) in zip(AMOUNTS[1:], pairwise(tokens), strict=True):
        say(f"{works.max() + 1} books, {label}", before, after, works, count)


def main() -> None:
    """A line for each text, size, counterpart and kind of group."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", default="gpt2/tokenizer.json")
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--books", action="store_true")
    given = parser.parse_args()
    if given.books:
        return of_books(given.draws)
    base = DATA / "tokenizers" / given.base
    row = "native+trained:{}?base={}&tokens={}&corpus=path:{}"
    names = {(method, size): row.format(method, base, size, LEARNT) for size in SIZES[::-1] for method in METHODS}
    rows = {key: tokenizers.load(tokenizers.obtain(name).name) for key, name in names.items()}
    rows["base", 0] = tokenizers.load(f"native+file:{base}")
    for text, (documents, articles) in (("FLORES", flores()), ("XQuAD", xquad())):
        works = np.unique(articles, return_inverse=True)[1]
        tokens = {key: np.diff(row.encode_batch(documents).offsets).astype(np.float64) for key, row in rows.items()}
        for size in SIZES:
            for other in (("base", 0), (METHODS[1], size)):
                what = f"{text}, {size:,} over {other[0]}"
                say(what, tokens[other], tokens[METHODS[0], size], works, given.draws)
    return None


if __name__ == "__main__":
    main()
