"""Reachability: tokens that can never be produced. The Self-Tokenization Test in three layers (arXiv 2512.03989).

1. the merge graph: ids that no sequence of rules builds from base symbols;
2. the model: ids whose own base symbols encode to something else, whole-piece shortcuts off;
3. the pipeline: ids that no text makes the whole tokenizer emit, with an argument for each. An id without an argument,
   and without a text that disproves it, stays open.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from pyharness import bpe
from pyharness.metrics.arguments import Arguments
from pyharness.metrics.arguments.argument import Argument, Kind
from pyharness.metrics.arguments.contexts import ContextSearch
from pyharness.types import HasMergeModel, HasModelEncoder, Ids, Metric, Tokenizer, TokenKind, Vocabulary
from pyharness.vocabularies.stages import HasStages

# Version 2 of the contexts of a token: every left with every right, then those from the search for arguments.
CONTEXTS_VERSION = 2
LEFT = ("", " ", "a", "1", "\n")
RIGHT = ("", " ", *string.ascii_letters, "1", "!", "\n", *"яωع中の")
FIRST = (("", ""), (" ", ""), ("a", ""), ("1", ""), ("", "a"), ("", "e"), ("", "1"))  # most ids are decided with these
CHECKED = ("", " ", "a", "1", "!", "\n")  # contexts for ids with an argument, to detect a wrong argument
ROUNDS, TRIED_AT_ONCE = 24, 48  # of the search: rounds, and texts for each id in a round
BATCH = 8192


class Verdict(IntEnum):
    """The verdict on one id in the pipeline."""

    REACHABLE = 0  # from its own text alone
    CONTEXT_ONLY = 1  # only with a neighbour
    SEEN_IN_CORPUS = 2  # in no tried context, but in running text
    MERGE_UNREACHABLE = 3
    SHADOWED_BY_ADDED = 4
    NORMALIZATION_UNREACHABLE = 5
    PRETOKENIZER_UNREACHABLE = 6
    NO_WITNESS_FOUND = 7  # no verdict
    UNDECODABLE = 8  # its bytes alone are not text
    SPECIAL = 9
    ADDED = 10
    BYTE_FALLBACK = 11
    EMPTY = 12
    ABSENT = 13
    UNUSED = 14


UNREACHABLE = (
    Verdict.MERGE_UNREACHABLE,
    Verdict.SHADOWED_BY_ADDED,
    Verdict.NORMALIZATION_UNREACHABLE,
    Verdict.PRETOKENIZER_UNREACHABLE,
)
PROVEN: Mapping[Kind, Verdict] = {
    "merges_alone": Verdict.MERGE_UNREACHABLE,
    "better_path": Verdict.MERGE_UNREACHABLE,
    "longer_than_words": Verdict.MERGE_UNREACHABLE,
    "added_token_inside": Verdict.SHADOWED_BY_ADDED,
    "normal_form": Verdict.NORMALIZATION_UNREACHABLE,
    "character_never_made": Verdict.NORMALIZATION_UNREACHABLE,
    "string_replaced": Verdict.NORMALIZATION_UNREACHABLE,
    "ideograph_alone": Verdict.NORMALIZATION_UNREACHABLE,
    "always_cut": Verdict.PRETOKENIZER_UNREACHABLE,
}
_KINDS = {
    TokenKind.SPECIAL: Verdict.SPECIAL,
    TokenKind.UNKNOWN: Verdict.SPECIAL,
    TokenKind.ADDED: Verdict.ADDED,
    TokenKind.BYTE_FALLBACK: Verdict.BYTE_FALLBACK,
    TokenKind.ABSENT: Verdict.ABSENT,
    TokenKind.UNUSED: Verdict.UNUSED,
}


@dataclass(frozen=True, slots=True)
class ModelTest:
    """Layers 1 and 2."""

    tested: int
    underivable: Ids  # layer 1; empty for models without rules
    failed: Ids  # layer 2
    instead: tuple[tuple[int, ...], ...]  # the model's encoding of each failed id
    graph: bpe.MergeGraph | None = None
    parts: NDArray[np.uint32] | None = None  # [n, 2], NEVER for an id that no merge makes


def examine_model(tokenizer: Tokenizer, vocabulary: Vocabulary, threads: int = 1) -> ModelTest | None:
    """Run layers 1 and 2; return None if the library exposes neither rules nor its model's encoder."""
    if isinstance(tokenizer, HasMergeModel):
        model = tokenizer.merge_model()
        result = bpe.self_tokenization(model, threads)
        instead = tuple(tuple(result.witnesses.document(i).tolist()) for i in range(len(result.failed)))
        underivable = result.failed[result.verdict[result.failed] == bpe.ModelVerdict.UNDERIVABLE]
        graph = bpe.merge_graph(model)
        return ModelTest(int(model.tested.sum()), underivable, result.failed, instead, graph, result.parts)
    if isinstance(tokenizer, HasModelEncoder):
        return _test_with_encoder(tokenizer, vocabulary)
    return None


def _test_with_encoder(tokenizer: HasModelEncoder, vocabulary: Vocabulary) -> ModelTest:
    filled = np.diff(vocabulary.offsets) > 0
    tested = np.flatnonzero((vocabulary.kinds == TokenKind.NORMAL) & filled).astype(np.uint32)
    tokens = tokenizer.encode_model(tested)
    lengths = np.diff(tokens.offsets)
    first = np.append(tokens.ids, np.uint32(0))[np.minimum(tokens.offsets[:-1], len(tokens.ids))]
    wrong = np.flatnonzero((lengths != 1) | (first != tested))
    instead = tuple(tuple(tokens.document(int(i)).tolist()) for i in wrong)
    return ModelTest(len(tested), np.zeros(0, np.uint32), tested[wrong], instead)


@dataclass(slots=True)
class PipelineTest:
    """Layer 3: a verdict for every id, arguments for ids that no text gives, witnesses for ids that need context."""

    tokenizer: Tokenizer
    vocabulary: Vocabulary
    threads: int = 1
    only: frozenset[int] | None = None  # ids under test: the others have no valid verdict; None: all
    verdicts: NDArray[np.uint8] = field(init=False)
    texts: dict[int, str] = field(init=False)  # ids still without a witness -> their text
    arguments: dict[int, Argument] = field(init=False)
    witnesses: dict[int, str] = field(init=False)  # texts that give ids which their own text does not give
    unexaminable: list[str] = field(init=False)  # stages without arguments; empty unless an id stays open

    def __post_init__(self) -> None:
        """Exclude the ids that are not under test."""
        self.verdicts = np.full(len(self.vocabulary), Verdict.NO_WITNESS_FOUND, np.uint8)
        self.texts, self.arguments, self.witnesses, self.unexaminable = {}, {}, {}, []
        strings = self.vocabulary.strings()
        for token, kind in enumerate(self.vocabulary.kinds.tolist()):
            if self.only is not None and token not in self.only:
                continue
            if kind in _KINDS:
                self.verdicts[token] = _KINDS[TokenKind(kind)]
                continue
            data = strings[token]
            try:
                self.texts[token] = data.decode()
            except UnicodeDecodeError:
                self.verdicts[token] = Verdict.UNDECODABLE
            if not data:
                self.verdicts[token] = Verdict.EMPTY
                del self.texts[token]

    def run(self, model: ModelTest | None, seen: Ids) -> None:
        """Search for a witness or an argument for every id; ``seen`` are ids in running text.

        A witness removes an argument. Ids with an argument are tried in a few contexts, too.
        """
        for left, right in FIRST:
            self._try_beside(left, right)
        arguments = self._arguments(model)
        if arguments is not None:
            self._argue(arguments, frozenset(seen.tolist()))
        for left, right in ((left, right) for right in RIGHT for left in LEFT):
            self._try_beside(left, right, argued=left in CHECKED and right in CHECKED)
        self._search(arguments)
        self._add_seen(seen)
        for token, argument in self.arguments.items():
            self.verdicts[token] = PROVEN[argument.kind]
        if arguments is not None and (self.verdicts == Verdict.NO_WITNESS_FOUND).any():
            self.unexaminable = arguments.unexaminable

    def _arguments(self, model: ModelTest | None) -> Arguments | None:
        if not isinstance(self.tokenizer, HasStages):
            return None
        instead = dict(zip(model.failed.tolist(), model.instead, strict=True)) if model is not None else {}
        return Arguments(self.tokenizer.stages(), instead.get)

    def _argue(self, arguments: Arguments, seen: frozenset[int]) -> None:
        undecodable = np.flatnonzero(self.verdicts == Verdict.UNDECODABLE).tolist()
        for token in (*self.texts, *undecodable):
            argument = None if token in seen else arguments.of(token)
            if argument is not None:
                self.arguments[token] = argument

    def _try_beside(self, left: str, right: str, *, argued: bool = True) -> None:
        """Try the text of every open id between two others; ids with an argument only if ``argued``."""
        wanted = [token for token in self.texts if argued or token not in self.arguments]
        alone = not left and not right
        for token, text in self._find_emitted([(token, left + self.texts[token] + right) for token in wanted]):
            self.verdicts[token] = Verdict.REACHABLE if alone else Verdict.CONTEXT_ONLY
            self._close(token, "" if alone else text)

    def _search(self, arguments: Arguments | None) -> None:
        """Try the texts from the search for arguments, for ids with neither an argument nor a witness."""
        wanted = [token for token in self.texts if token not in self.arguments]
        if not wanted:
            return
        search = ContextSearch(self.vocabulary, arguments.splitting if arguments else None)
        forms = {token: arguments.stages.forms(token) if arguments else () for token in wanted}
        texts = {token: search.texts(self.texts[token], forms[token]) for token in wanted}
        for _ in range(ROUNDS):
            batch = [(token, text) for token in texts for text in islice(texts[token], TRIED_AT_ONCE)]
            for token, text in self._find_emitted(batch):
                self.verdicts[token] = Verdict.CONTEXT_ONLY
                self._close(token, text)
                del texts[token]
            if not batch:
                break

    def _add_seen(self, seen: Ids) -> None:
        open_questions = np.isin(self.verdicts, (Verdict.NO_WITNESS_FOUND, Verdict.UNDECODABLE))
        met = seen[open_questions[seen]]
        self.verdicts[met] = Verdict.SEEN_IN_CORPUS
        for token in met.tolist():
            self._close(token, "")

    def _close(self, token: int, witness: str) -> None:
        self.texts.pop(token, None)
        self.arguments.pop(token, None)
        if witness:
            self.witnesses[token] = witness

    def _find_emitted(self, wanted: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """Yield those of some ids that the text paired with them gives, each once."""
        seen: set[int] = set()
        for start in range(0, len(wanted), BATCH):
            part = wanted[start : start + BATCH]
            tokens = self.tokenizer.encode_batch([text for _, text in part], self.threads)
            owners = np.repeat(np.arange(len(part)), np.diff(tokens.offsets))
            expected = np.array([token for token, _ in part], np.uint32)
            for index in np.unique(owners[tokens.ids == expected[owners]]).tolist():
                token, text = part[index]
                if token not in seen:
                    seen.add(token)
                    yield token, text


def scaffold_like(parts: NDArray[np.uint32], lengths: NDArray[np.int64], emitted: NDArray[np.uint64]) -> int:
    """Count merged tokens that are mostly scaffolding: emitted in less than a tenth of all their uses.

    A token is used when it is emitted, and in every use of a token that is merged from it. ``parts`` [n, 2] as
    ``bpe.self_tokenization`` gives them, ``lengths`` [n] bytes of the tokens, ``emitted`` [n] their counts on a corpus.
    """
    uses, pairs = emitted.tolist(), parts.tolist()
    merged = np.flatnonzero(parts[:, 0] != bpe.NEVER)
    # longest first: uses flow down to the parts
    for token in merged[np.argsort(-lengths[merged], kind="stable")].tolist():
        left, right = pairs[token]
        uses[left] += uses[token]
        uses[right] += uses[token]
    used = np.array(uses, np.int64)[merged]
    return int(((emitted[merged] < 0.1 * used) & (used > 0)).sum())


REPORTED = (
    Metric("stt_tested", "token", "none", "ids that layers 1 and 2 of the self-tokenization test examine"),
    Metric("unreachable_graph", "token", "lower", "layer 1: ids no sequence of merge rules makes", exact=True),
    Metric(
        "unreachable_model",
        "token",
        "lower",
        "layer 2: ids whose own symbols encode to something else",
        primary=True,
        exact=True,
    ),
    Metric(
        "unreachable_pipeline",
        "token",
        "lower",
        "layer 3: ids no text makes the tokenizer emit, with an argument for each",
        exact=True,
    ),
    Metric("no_witness_found", "token", "none", "layer 3: ids without a witness and without an argument"),
    Metric("undecodable", "token", "none", "ids whose bytes alone are not text, and which no corpus had"),
    Metric("unused_on_corpus", "token", "lower", "ids of V never emitted on the corpus given for witnesses"),
    Metric("merge_depth_max", "merge", "none", "largest depth of a token in the merge graph"),
    Metric("merge_depth_mean", "merge", "none", "mean depth of the tokens that rules make"),
    Metric("leaf_tokens", "token", "none", "tokens that no rule uses"),
    Metric("duplicate_derivations", "token", "none", "tokens that more than one rule makes"),
    Metric("orphan_rules", "rule", "lower", "rules with a part that cannot be made", exact=True),
    Metric("long_tokens", "token", "none", "tokens of more than 64 bytes"),
    Metric("scaffold_like", "token", "none", "tokens that are emitted in under 10 % of their uses"),
)
