"""Do BPE, WordPiece and Unigram of one size give the same tokens?

    PYHARNESS_DATA=... PYTHONPATH=studies python -m claims.likeness

All learn from the same words (letters only, as they stand, a space before each), so that none differs by how text is
split. BPE and WordPiece count words. Unigram reads lines, and its figures depend on how words lie in them: its strings
are chosen from those that go on in two ways somewhere, and a word with nothing but spaces behind it goes on in one. It
reads documents as they stand, with what is between words; strings of anything but letters are not counted then. For
comparison, ``Unigram of marked words`` reads words with a dot for whatever but a space stands behind one, ``Unigram of
lists`` a single line in which all copies of a word stand side by side. A token is its string and whether it starts a
word. Two figures for each pair: the share of strings that both
have among those that either has (Jaccard), and the share of the tokens of held-out words that both write (the sum of
the smaller frequency). "They look similar" is taken to be confirmed where at least half of the strings are shared,
refuted where the whole interval is below. Every training is repeated without each of 16 parts of the text, so intervals
have the choice of tokens in them. ``BPE halves``: two BPE of disjoint halves of the text, for comparison.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, combinations, pairwise

import numpy as np

from claims.texts import Text
from claims.verdicts import Claim, Interval, Row, run, shown, within
from pyharness import bpe
from pyharness.features.training import trainers
from pyharness.metrics.counting.words import words
from pyharness.statistics import jackknife
from pyharness.statistics.jackknife import GROUPS

SIZE = 8192
PARTS = 16
AT_LEAST = 0.5
BYTES = 1_500_000  # of documents that are learnt from, and that are measured
START = "▁"
NAMES = {"BPE": "bpe", "WordPiece": "wordpiece", "likelihood": "wordpiece-likelihood", "Unigram": "unigram"}
MARKED, LISTED = "Unigram of marked words", "Unigram of lists"
Cut = Callable[[list[str]], list[list[str]]]
Words = Mapping[str, int]
Trained = tuple[frozenset[str], Cut]  # strings, and what it writes for words


def read(text: Text, limit: int) -> list[list[str]]:
    """Documents of every part, of about ``limit`` bytes from all over the text."""
    parts: list[list[str]] = [[] for _ in range(PARTS)]
    step = max(round(int(text.sizes.sum()) / limit), 1)
    for document, group in zip(text.documents[::step], text.groups[::step].tolist(), strict=True):
        parts[group * PARTS // GROUPS].append(document)
    return parts


def counted(documents: list[str]) -> Counter[str]:
    """Words of letters."""
    return Counter(word for document in documents for word, _, _ in words(document) if word.isalpha())


def marked(documents: list[str]) -> list[str]:
    """Words of letters of every document, a dot behind each that has something else than a space behind it.

    >>> marked(["One, two 3 (three)"])
    ['One. two three.']
    """
    return [
        " ".join(word + "." * (not document[end : end + 1].isspace() and end < len(document)) for word, end in found)
        for document in documents
        for found in [[(word, end) for word, _, end in words(document) if word.isalpha()]]
    ]


def side_by_side(weights: Words) -> list[str]:
    """One line, in which all copies of a word follow each other."""
    return [" ".join(word for word, count in sorted(weights.items()) for _ in range(count))]


def trained(kind: str, documents: list[str], size: int) -> Trained:
    """Train on the words of documents; Unigram on the documents."""
    weights = counted(documents)
    if kind == "bpe":
        pieces = bpe.WeightedPieces.of_characters({f" {word}": count for word, count in weights.items()})
        return _bpe(bpe.model_of_training(bpe.train(pieces, size), "none"))
    lines = documents if kind == "unigram" else side_by_side(weights)
    bare = {"byte_fallback": False} if kind == "unigram" else {}
    options = trainers.options_of(kind, vocab_size=size, **bare)
    request = trainers.TrainingRequest(texts=lambda: lines, options=options)
    content = next(iter(trainers.train(kind, request).files.values()))
    return _unigram(content) if kind == "unigram" else _word_piece(content)


def _bpe(model: bpe.BpeModel) -> Trained:
    tokenizer = bpe.BpeTokenizer(model)
    strings = [model.vocabulary[token].decode().replace(" ", START) for token in range(model.id_limit)]

    def cut(some: list[str]) -> list[list[str]]:
        tokens = tokenizer.encode_batch([f" {word}" for word in some])
        ends = tokens.offsets.tolist()
        return [[strings[token] for token in tokens.ids[a:b].tolist()] for a, b in pairwise(ends)]

    return frozenset(strings), cut


def _unigram(content: bytes) -> Trained:
    import sentencepiece

    model = sentencepiece.SentencePieceProcessor(model_proto=content)
    normal = [model.id_to_piece(token) for token in range(model.get_piece_size()) if not model.is_control(token)]
    strings = frozenset(piece for piece in normal if piece == START or piece.removeprefix(START).isalpha())
    return strings, lambda some: [model.encode(word, out_type=str) for word in some]


def _word_piece(content: bytes) -> Trained:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_buffer(content)

    def placed(string: str) -> str:
        return string[2:] if string.startswith("##") else START + string

    def cut(some: list[str]) -> list[list[str]]:
        return [[placed(string) for string in one.tokens] for one in tokenizer.encode_batch(some)]

    return frozenset(map(placed, tokenizer.get_vocab())) - {f"{START}[UNK]"}, cut


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b)


def written(cut: Cut, weights: Words) -> Counter[str]:
    """Tokens of words, each as often as it occurs."""
    counts = Counter[str]()
    for tokens, count in zip(cut(list(weights)), weights.values(), strict=True):
        for token in tokens:
            counts[token] += count
    return counts


def shared(a: Counter[str], b: Counter[str]) -> float:
    """Sum of the smaller frequency of every token.

    >>> shared(Counter("aab"), Counter("abb"))
    0.6666666666666666
    """
    return sum(min(a[token] / a.total(), b[token] / b.total()) for token in a.keys() & b.keys())


def figures(learnt: list[list[str]], held_out: list[list[str]], size: int) -> dict[tuple[str, str], list[float]]:
    """Jaccard and shared tokens of every pair, from the parts that are given."""
    everything = list(chain.from_iterable(learnt))
    made = {name: trained(kind, everything, size) for name, kind in NAMES.items()}
    halves = [trained("bpe", list(chain.from_iterable(learnt[start::2])), size) for start in (0, 1)]
    made |= {"BPE half": halves[0], "other half": halves[1]}
    layouts = {MARKED: marked(everything), LISTED: side_by_side(counted(everything))}
    made |= {name: trained("unigram", lines, size) for name, lines in layouts.items()}
    weights = counted(list(chain.from_iterable(held_out)))
    tokens = {name: written(cut, weights) for name, (_, cut) in made.items()}
    pairs = [*combinations(NAMES, 2), ("BPE half", "other half"), ("BPE", MARKED), ("BPE", LISTED), ("Unigram", LISTED)]
    return {(a, b): [jaccard(made[a][0], made[b][0]), shared(tokens[a], tokens[b])] for a, b in pairs}


def rows(text: Text, size: int = SIZE) -> Iterator[Row]:
    learnt, held_out = read(text.learnt, BYTES), read(text.measured, BYTES)
    whole = figures(learnt, held_out, size)
    again = [
        figures(learnt[:part] + learnt[part + 1 :], held_out[:part] + held_out[part + 1 :], size)
        for part in range(PARTS)
        if learnt[part] and held_out[part]
    ]
    for (a, b), values in whole.items():
        intervals: list[Interval] = [
            jackknife.interval(value, [one[a, b][index] for one in again]) for index, value in enumerate(values)
        ]
        verdict = "" if not {a, b} <= NAMES.keys() else within(intervals[0], AT_LEAST, np.inf)
        what = f"{a} and {b}, {size:,}: "
        yield Row(text.name, what + "strings shared", f"{values[0]:.3f}", shown(intervals[0], ".3f"), verdict)
        yield Row(text.name, what + "tokens shared", f"{values[1]:.3f}", shown(intervals[1], ".3f"), "")


CLAIM = Claim(
    "BPE, WordPiece and Unigram of one size give vocabularies that look alike",
    f"confirmed where at least {AT_LEAST:.0%} of the strings that either has are of both, refuted below",
    rows,
    ("English",),
)

if __name__ == "__main__":
    run(CLAIM)
