"""The vocabulary by itself: tokens that nothing produces, tokens twice, and ids that are out of order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import AnyStr

import numpy as np

from pyharness.features.audit.checks.subjects import AuditFault, AuditSubject, CheckResult, CheckStatus, id_list, quoted
from pyharness.metrics import reachability
from pyharness.metrics.reachability import UNREACHABLE, ModelTest, PipelineTest, Verdict
from pyharness.tokenizers.families.huggingface import HuggingFaceTokenizer
from pyharness.tokenizers.families.sentencepiece import BpeSentencePiece, SentencePieceTokenizer
from pyharness.tokenizers.families.tiktoken import TiktokenTokenizer
from pyharness.types import HasMergeModel, TokenKind, counted
from pyharness.vocabularies import encodings
from pyharness.vocabularies.files import vocabulary_file
from pyharness.vocabularies.files.byte_alphabet import BYTE_ALPHABET
from pyharness.vocabularies.huggingface.traits import is_byte_level

LEAST_MISPLACED = 4  # tokens out of order that are faults in a small file, too
MOST_ORDERED = 100  # of so many tokens, one may be out of order; of more, the file has another order
LEAST_OUT = 2  # ranks out of order that are faults in a small file, too
MOST_IN_ORDER = 1000  # of so many ranks, one may be out of order
LEAST_ORDERED = 200  # tokens of which an order is one
_AGAIN = "compare the file with the publisher's, by its SHA-256 or with `pyharness diff`"
_DEAD = "drop its row from the embedding, or mend the rule: the model can never learn or read this token"
_OF_MODEL: Mapping[str, tuple[str, CheckStatus]] = {
    "dead token": (_DEAD, "fail"),
    "hidden token": (_DEAD, "warn"),
    "control name without an added token": ("add it to added_tokens, or never put it in a prompt: it is split", "warn"),
}
_CONTROL = re.compile(r"<[^<>\s]+>|\[[^\[\]\s]+\]")  # names of control tokens, from mark to mark


# ---------------------------------------------------------------------------------------------- dead tokens


def check_reachable(subject: AuditSubject, threads: int) -> CheckResult:
    """Run the self-tokenization test: tokens that no text gives, each with the argument or the ids in its place."""
    vocabulary = subject.vocabulary
    if vocabulary is None:
        return CheckResult("this library hides the bytes of its tokens", absent=True)
    tokenizer = subject.loaded
    model = reachability.examine_model(tokenizer, vocabulary, threads)
    pipeline = PipelineTest(tokenizer, vocabulary, threads)
    pipeline.run(model, np.zeros(0, np.uint32))
    of_rules = isinstance(tokenizer, HasMergeModel)
    faults = [*(_of_model(subject, model) if model is not None and of_rules else ()),
              *_of_pipeline(subject, pipeline, model, of_rules)]  # fmt: skip
    open_ = int((pipeline.verdicts == Verdict.NO_WITNESS_FOUND).sum())
    note = f"; {open_:,} are undecided" if open_ else ""
    tested = int((vocabulary.kinds == TokenKind.NORMAL).sum())
    return CheckResult(f"{tested:,} tokens{note}", faults)


def _of_model(subject: AuditSubject, model: ModelTest) -> Iterator[AuditFault]:
    """Yield tokens that the rules do not give. Only those that no rule makes are faults."""
    underivable = set(model.underivable.tolist())
    spelled = {token: _spelled(subject, token) for token in model.failed.tolist()}
    whole = dict(zip(model.failed.tolist(), model.instead, strict=True))
    groups: dict[str, list[int]] = {name: [] for name in _OF_MODEL}
    for token in whole:
        own = "dead token" if token in underivable else "hidden token"
        groups["control name without an added token" if _CONTROL.fullmatch(spelled[token]) else own].append(token)
    for name, tokens in groups.items():
        advice, status = _OF_MODEL[name]
        for token in tokens:
            why = "no rule makes it" if token in underivable else "other rules win"
            yield AuditFault(name, f"{quoted(spelled[token])} (id {token}): {why}",
                             _witness(subject, token, whole[token]), advice, status)  # fmt: skip


def _of_pipeline(
    subject: AuditSubject, pipeline: PipelineTest, model: ModelTest | None, of_rules: bool
) -> Iterator[AuditFault]:
    """Yield one warning for each reason why no text gives some tokens; published files have such tokens."""
    failed = set() if model is None or not of_rules else set(model.failed.tolist())
    for verdict in UNREACHABLE:
        tokens = [one for one in np.flatnonzero(pipeline.verdicts == verdict).tolist() if one not in failed]
        if tokens:
            argument = pipeline.arguments[tokens[0]]
            name = verdict.name.lower().replace("_", " ")
            text = f"{counted(len(tokens), 'token')} no text gives, such as {quoted(_spelled(subject, tokens[0]))}"
            yield AuditFault(name, f"{text} (id {tokens[0]}): {argument.text}", _witness(subject, tokens[0]), _DEAD,
                             "warn")  # fmt: skip


def _spelled(subject: AuditSubject, token: int) -> str:
    vocabulary = subject.vocabulary
    return "" if vocabulary is None else vocabulary[token].decode(errors="backslashreplace")


def _witness(subject: AuditSubject, token: int, instead: Sequence[int] | None = None) -> str:
    """Return the ids that the library gives for a token's own text, or the model's if that is no text."""
    vocabulary = subject.vocabulary
    try:
        text = "" if vocabulary is None else vocabulary[token].decode()
    except UnicodeDecodeError:
        return f"its bytes -> {id_list(instead or ())}"
    return f"{quoted(text)} -> {id_list(subject.ids(text))}"


# ---------------------------------------------------------------------------------------------- ids


def check_ids(subject: AuditSubject) -> CheckResult:
    """Look for tokens twice, for gaps, and for tokens whose ids are out of the order of all others."""
    vocabulary = subject.vocabulary
    if vocabulary is None:
        return CheckResult("this library hides the bytes of its tokens", absent=True)
    faults = [*_cut_off(subject), *_twice(subject), *_rules_twice(subject), *_misplaced(subject)]
    gaps = int((vocabulary.kinds == TokenKind.ABSENT).sum())
    note = f"; {gaps:,} ids have no token" if gaps else ""
    return CheckResult(f"{len(vocabulary) - gaps:,} ids{note}", faults)


def _cut_off(subject: AuditSubject) -> Iterator[AuditFault]:
    if isinstance(subject.home, TiktokenTokenizer) and subject.path is not None:
        ranks = f"{len(subject.home.ranks.ranks):,} ranks are read"
        for note in encodings.part_of(vocabulary_file.read(subject.path), subject.digest):
            yield AuditFault("ranks cut off", note, ranks, _AGAIN)


def _twice(subject: AuditSubject) -> Iterator[AuditFault]:
    """Yield the first token that two ids of a model of bytes spell; pieces may differ only by their marks."""
    home, vocabulary = subject.home, subject.vocabulary
    if vocabulary is None or not (
        isinstance(home, TiktokenTokenizer) or (isinstance(home, HuggingFaceTokenizer) and is_byte_level(home.file))
    ):
        return
    if isinstance(home, HuggingFaceTokenizer) and home.file.model.get("end_of_word_suffix"):
        return
    owners: dict[bytes, int] = {}
    for token, (string, kind) in enumerate(zip(vocabulary.strings(), vocabulary.kinds.tolist(), strict=True)):
        if kind == TokenKind.NORMAL and owners.setdefault(string, token) != token:
            text = f"ids {owners[string]} and {token} are both {quoted(string)}"
            witness = _witness(subject, token)
            yield AuditFault("one token, two ids", text, witness, f"only one of them is ever given; {_AGAIN}", "warn")
            return


def _rules_twice(subject: AuditSubject) -> Iterator[AuditFault]:
    """Yield merge rules that a file has twice: ids depend on which place a program reads."""
    home = subject.home
    rules = home.file.merges if isinstance(home, HuggingFaceTokenizer) else ()
    last = {rule: number for number, rule in enumerate(rules)}
    for number, rule in enumerate(rules):
        if last[rule] != number:
            text = f"rules {number:,} and {last[rule]:,}, from 0 on, are both {' + '.join(map(quoted, rule))}"
            advice = f"remove one of them: other programs may take the first; {_AGAIN}"
            yield AuditFault("rule twice", text, f"the library takes rule {last[rule]:,}", advice)


def _misplaced(subject: AuditSubject) -> Iterator[AuditFault]:
    order = _order(subject)
    misplaced = out_of_place(order) if len(order) >= LEAST_ORDERED else []
    if 0 < len(misplaced) <= max(LEAST_MISPLACED, len(order) // MOST_ORDERED):
        for token in misplaced:
            text = f"{quoted(_spelled(subject, token))} has id {token}, out of the order of {len(order):,} others"
            yield AuditFault("id out of order", text, _witness(subject, token), f"ids may be swapped; {_AGAIN}")
    home = subject.home
    if isinstance(home, TiktokenTokenizer):
        yield from _out_of_rank(home.ranks.ranks)
    elif isinstance(home, BpeSentencePiece):
        model = home.model
        runs = frozenset(piece for piece in model.pieces if not piece.strip("▁"))  # pieces that no rule has made
        # By the order of scores: those of an extension may be far below the others.
        yield from _out_of_rank({model.pieces[token]: rank for rank, token in enumerate(order)}, runs)


def out_of_place(ids: Sequence[int]) -> list[int]:
    """Return ids that do not lie between their neighbours, where these ascend.

    Files may have several ascending blocks: where a block ends, no id is out of place.

    >>> out_of_place([1, 5, 3, 4, 2, 6]), out_of_place([7, 8, 9, 1, 2, 3])
    ([5, 2], [])
    """
    around = zip([-1, *ids], ids, [*ids[1:], 1 << 62], strict=False)
    return [here for before, here, after in around if before < after and not before < here < after]


def _order(subject: AuditSubject) -> Sequence[int]:
    """Return ids in the order that made them: bytes, then results of rules."""
    home = subject.home
    ids: list[int] = []
    if isinstance(home, HuggingFaceTokenizer) and home.file.model_type == "BPE":
        file = home.file
        letters = [file.vocab[one] for one in sorted(BYTE_ALPHABET.values()) if one in file.vocab]
        last = reversed(dict.fromkeys(reversed(file.merges)))  # of equal rules, the library takes the last
        prefix = len(file.model.get("continuing_subword_prefix") or "")
        ids = [*(letters if is_byte_level(file) else ()),
               *(file.vocab[left + right[prefix:]] for left, right in last)]  # fmt: skip
    elif isinstance(home, SentencePieceTokenizer):
        normal = [(score, token) for token, (score, kind) in enumerate(
            zip(home.model.scores, home.model.types, strict=True)) if kind.name == "NORMAL"]  # fmt: skip
        ids = [token for _, token in sorted(normal, key=lambda one: (-one[0], one[1]))]
    return list(dict.fromkeys(ids))


def _out_of_rank(ranks: Mapping[AnyStr, int], given: frozenset[AnyStr] = frozenset()) -> Iterator[AuditFault]:
    """Yield tokens that lower ranks do not leave as two parts: training makes each of two, but for those given."""
    made = ((token, rank) for token, rank in ranks.items() if len(token) > 1 and token not in given)
    wrong = [token for token, rank in made if len(parts_below(ranks, token, rank)) != 2]
    if 0 < len(wrong) <= max(LEAST_OUT, len(ranks) // MOST_IN_ORDER):
        for token in wrong:
            parts = parts_below(ranks, token, ranks[token])
            text = f"{quoted(token)} has rank {ranks[token]}, and lower ranks leave {len(parts)} parts"
            witness = " + ".join(map(quoted, parts))
            yield AuditFault("rank out of order", text, witness, f"ranks may be swapped; {_AGAIN}")


def parts_below(ranks: Mapping[AnyStr, int], token: AnyStr, limit: int) -> list[AnyStr]:
    """Merge the bytes or characters of a token by ranks below a limit, the lowest first, and return what is left.

    >>> parts_below({b"a": 0, b"b": 1, b"ab": 2, b"abb": 3}, b"abb", 3)
    [b'ab', b'b']
    """
    parts = [token[at : at + 1] for at in range(len(token))]
    while True:
        merges = [(ranks.get(left + right, limit), at) for at, (left, right) in enumerate(pairwise(parts))]
        rank, at = min(merges, default=(limit, 0))
        if rank >= limit:
            return parts
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
