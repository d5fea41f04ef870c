"""Trainers: from text to the files of a tokenizer. One plug-in module per library, found by name.

Importing this package imports none of the libraries. A module ends in ``TRAINERS = (TrainerSpec(...),)``.

>>> request = TrainingRequest(texts=lambda: ["to be or not to be"], vocab_size=260)
>>> train("bpe", request).merges
4
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from numpy.typing import NDArray

from pyharness.bpe.model.model import BpeModel, DemolitionRule
from pyharness.bpe.training.trainer import TieRule
from pyharness.plugins import registry
from pyharness.types import InputError, TrainingProgress

Symbols: TypeAlias = Literal["bytes", "characters"]
Array: TypeAlias = NDArray[Any]
BIGGEST_VOCABULARY = (1 << 31) - 1
BIGGEST_NUMBER = (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRequest:
    """A text and the settings of a training. A trainer refuses those it cannot honour; see ``TrainerSpec.options``."""

    texts: Callable[[], Iterable[str]]  # starts a new pass over the text; documents without lone surrogates
    # Ids in all: the alphabet, special tokens and an unknown token are among them. 0: not said, which trainers allow
    # that change a tokenizer or are not ``TrainerSpec.sized``.
    vocab_size: int = 0
    pattern: str | None = None  # name or expression for TextSplitter; None: the trainer's own
    min_frequency: int | None = None  # pairs that occur less often are not merged; None: 1, or 2 where a base goes on
    max_token_length: int | None = None  # in bytes of text; SentencePiece: in characters
    max_token_characters: int | None = None  # in characters, those that start in a token
    special: tuple[str, ...] = ()  # ours: the last ids; libraries: the first, after those of their own
    unknown: str | None = None  # a further special token: it stands for characters that have no token
    symbols: Symbols = "bytes"
    initial_alphabet: str = ""  # characters that are in the vocabulary whether they occur or not
    limit_alphabet: int | None = None  # most characters of the alphabet; the rarest are left out of the text
    continuing_subword_prefix: str = ""  # of symbols that do not start a piece, such as ##
    end_of_word_suffix: str = ""  # of symbols that end a piece, such as </w>
    tie_rule: TieRule = "smallest_ids"
    demolition: DemolitionRule = "eq6"
    trace: bool = False  # record every demotion and promotion in a file of its own
    byte_fallback: bool = True  # bytes stand for characters that have no token
    # Share of the text whose characters get a token. None: all; where a base goes on, none get one.
    character_coverage: float | None = None
    sentences: int = 0  # train on a random sample of this many lines; 0: on all
    base: str | None = None  # the tokenizer that is changed: a file, or ``file:PATH?pattern=...`` of a rank file
    tokens: int | None = None  # strings that the base gains
    share: float | None = None  # of the base's tokens that can go, those that go: 0 to 1
    reuse: str | None = None  # expression: reserved and unused tokens that match give their ids, and gaps are filled
    multiple_of: int = 1  # what the number of ids is rounded up to; ids behind the last token have none
    deny: str | None = None  # expression: no token is made in whose text it is found
    scripts: tuple[str, ...] = ()  # Unicode's names: their tokens go first
    whole_pieces: bool | None = None  # a piece that is a token of the base is not merged; None: as the base has it
    cascade: bool = True  # False: old rules do not merge on what a new one makes of a string that the base has
    auxiliary_size: int | None = None  # symbols and tokens of the other training; None: 64,000
    balance: bool = False  # each corpus counts as if it had as many tokens of the base as the one with most
    rounds: int = 5  # of training a model and adding what it finds easy
    epsilon: float = 0.3  # nats: what is easy is below
    per_round: int = 3000  # groups whose beginnings are added
    order: int = 5  # of the n-gram that is the model
    signal: Literal["entropy", "nll"] = "entropy"  # of the model: of its prediction, or of the token that came
    strict: bool = False  # in a group every token is easier than the one before, not only no harder
    row_quantile: float | None = None  # easy is also below this quantile of the document: 0 to 1
    selection: Literal["count", "shuffle"] = "count"  # of groups: the most frequent, or any
    seed: int = 0  # of the shuffle
    parts: Callable[[], Iterable[Iterable[str]]] | None = None  # the texts again, corpus by corpus
    learnt: Mapping[str, Array] | None = None  # by a training that differs in ``TrainerSpec.sizes`` alone
    threads: int = 1
    source: Callable[[], Mapping[str, Any]] = dict  # where the text comes from, asked after it was read: JSON values
    text_bytes: int | None = None  # size of the text, if known: for the estimate of the time left
    progress: Callable[[TrainingProgress], None] | None = None

    @property
    def added(self) -> tuple[str, ...]:
        """Special tokens and the unknown token, in the order of their ids."""
        return (*self.special, *(() if self.unknown is None else (self.unknown,)))


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedTokenizer:
    """The files and figures of a training."""

    files: Mapping[str, bytes]  # name -> content; the first is the tokenizer, what ``file:`` loads; may be empty
    vocab_size: int  # ids in all, as in the request
    merges: int | None  # None: not a tokenizer of merges
    complete: bool  # False: there was nothing left to merge before the vocabulary had its size
    seconds: Mapping[str, float]  # by phase
    notes: tuple[str, ...] = ()  # facts without which a figure of this is misread
    model: BpeModel | None = None  # what the first file says, where it is one of our own
    details: Mapping[str, Any] = field(default_factory=dict)  # counts, JSON values: distinct_pieces, scaffold_tokens
    loading: Mapping[str, str] = field(default_factory=dict)  # options of ``file:`` that the first file needs
    learnt: Mapping[str, Array] | None = None  # spares trainings that differ in ``TrainerSpec.sizes`` alone the text


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerSpec:
    """A trainer as data, known without importing its library."""

    name: str
    train: Callable[[TrainingRequest], TrainedTokenizer]  # call it through ``train()``, which checks the request
    summary: str
    algorithm: Literal["bpe", "scaffold-bpe", "wordpiece", "unigram", "words", "characters", "curriculum"]
    library: str  # the distribution that trains
    patterns: tuple[str, ...] | None = None  # split patterns it can use, the default first; None: any; (): its own
    options: frozenset[str] = frozenset()  # fields of TrainingRequest it honours besides those that all do
    deterministic: bool = True  # the same text, options and number of threads give the same files
    depends_on_threads: bool = False  # another number of threads gives other tokens, not only sooner
    loadable: bool = True  # its first file can be loaded as ``file:``
    extra: str | None = None  # the pip extra that provides the library
    # Of a trainer that changes the tokenizer which ``base`` names: SHA-256 of all that it reads of that.
    base_digest: Callable[[str], str] | None = None
    sized: bool = True  # vocab_size must be given, unless it adapts
    sizes: frozenset[str] = frozenset()  # options that say how much of one training is taken, and nothing else
    refuse: Callable[[TrainingRequest], None] | None = None  # raises ``InputError`` before any text is read

    @property
    def adapts(self) -> bool:
        """Whether it changes a tokenizer; ``vocab_size`` may be left out, then."""
        return self.base_digest is not None


ALWAYS = frozenset({
    "texts", "vocab_size", "pattern", "threads", "source", "text_bytes", "progress", "parts", "learnt",
})  # fmt: skip


def specs() -> Mapping[str, TrainerSpec]:
    """Known trainers, ours and those of installed plug-ins, by name."""
    return registry.discover(sys.modules[__name__], "TRAINERS")


def resolve(name: str) -> TrainerSpec:
    """Look a trainer up; an unknown one raises ``InputError`` with the closest names."""
    return registry.pick("trainer", name, specs())


def train(trainer: str | TrainerSpec, request: TrainingRequest) -> TrainedTokenizer:
    """Check a request and train.

    Trainers of our own can be interrupted. Libraries look for no signal while they train: Ctrl-C raises
    ``KeyboardInterrupt`` when they are done, which may take minutes. ``pyharness train`` and ``run`` end them at once.

    Raises:
        InputError: the trainer is unknown, cannot do what is asked, or the text does not allow it.
    """
    spec = resolve(trainer) if isinstance(trainer, str) else trainer
    check(spec, request)
    return spec.train(request)


def check(spec: TrainerSpec, request: TrainingRequest) -> None:
    """Refuse what a trainer cannot honour, before any text is read."""
    if spec.adapts and request.base is None:
        raise InputError(f"trainer {spec.name!r} changes a tokenizer, and none is named: give base=FILE")
    _check_numbers(request, needs_size=spec.sized and not spec.adapts)
    _check_texts(request)
    for option in dataclasses.fields(request):
        if option.name in ALWAYS | spec.options:
            continue
        if getattr(request, option.name) != option.default:
            able = ", ".join(sorted(name for name, other in specs().items() if option.name in other.options))
            raise InputError(f"trainer {spec.name!r} has no option {option.name!r}; trainers with it: {able or 'none'}")
    if request.pattern is not None and spec.patterns is not None and request.pattern not in spec.patterns:
        known = f"it trains on {' or '.join(spec.patterns)}" if spec.patterns else "it splits by rules of its own"
        raise InputError(f"trainer {spec.name!r} cannot split by {request.pattern!r}: {known}")
    if spec.refuse is not None:
        spec.refuse(request)


def _check_numbers(request: TrainingRequest, *, needs_size: bool) -> None:
    if not needs_size <= request.vocab_size <= BIGGEST_VOCABULARY:
        raise InputError(f"vocab_size is {request.vocab_size}; it must be in 1..{BIGGEST_VOCABULARY:,}")
    for name in ("min_frequency", "max_token_length", "max_token_characters", "limit_alphabet", "sentences", "tokens",
                 "multiple_of", "auxiliary_size"):  # fmt: skip
        value, least = getattr(request, name), 0 if name == "sentences" else 1
        most = BIGGEST_VOCABULARY if name == "tokens" else BIGGEST_NUMBER
        if value is not None and not least <= value <= most:
            raise InputError(f"{name} is {value:,}; it must be in {least}..{most:,}")
    most = 4 * (os.cpu_count() or 1)
    if not 1 <= request.threads <= max(most, 64):
        raise InputError(f"threads is {request.threads}; it must be in 1..{max(most, 64)}")


def _check_texts(request: TrainingRequest) -> None:
    special = request.added
    affixes = request.continuing_subword_prefix, request.end_of_word_suffix
    for text in (*special, request.pattern or "", request.initial_alphabet, *affixes):
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InputError(f"{text!r} is not Unicode text; write it in UTF-8") from None
    if request.pattern == "":
        raise InputError("the split pattern is empty; the pattern 'none' leaves text whole")
    if "" in special:
        raise InputError("a special token is empty; give it a name such as <|endoftext|>")
    twice = [token for index, token in enumerate(special) if token in special[:index]]
    if twice:
        raise InputError(f"special token {twice[0]!r} is given twice; give it once")
