"""Our own trainers: plain BPE and Scaffold-BPE over bytes or characters."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from pyharness.bpe.formats.own_file import save_bytes
from pyharness.bpe.model.model import DemolitionRule
from pyharness.bpe.model.text_splitter import TextSplitter
from pyharness.bpe.training.piece_counter import PieceCounter
from pyharness.bpe.training.piece_symbols import in_forms, of_characters
from pyharness.bpe.training.trained_model import model_of_training
from pyharness.bpe.training.trainer import TieRule, TrainedBpe, WeightedPieces, train
from pyharness.trainers import TrainedTokenizer, TrainerSpec, TrainingRequest
from pyharness.trainers.feeding import Feed, read_in_batches
from pyharness.trainers.options import MinFrequency, Sized, SpecialTokens, Split, option
from pyharness.types import InputError

PATTERN = "gpt2"
MODEL = "model.json"
TRACE = "scaffold-trace.jsonl"
_NEWER = ("max_token_characters", "limit_alphabet", "continuing_subword_prefix", "end_of_word_suffix")  # noted if given


@dataclass(frozen=True, kw_only=True)
class Symbols(SpecialTokens):
    """Tokens are built from bytes or from characters."""

    symbols: Literal["bytes", "characters"] = option("What is merged", default="bytes")
    initial_alphabet: str = option("Over characters: these get a token in any case", default="")


@dataclass(frozen=True, kw_only=True)
class Unknown(SpecialTokens):
    """One token stands for symbols without a token."""

    unknown: str | None = option(
        "Over characters: the special token for a character without a token; it comes after the others",
        default=None, instead="such characters are left out",
    )  # fmt: skip

    @property
    def added(self) -> tuple[str, ...]:
        """Special tokens and the unknown token, in the order of their ids."""
        return (*self.special, *(() if self.unknown is None else (self.unknown,)))


@dataclass(frozen=True, kw_only=True)
class OwnOptions(MinFrequency, Symbols, Split, Sized):
    """Options of both of our trainers."""

    limit_alphabet: int | None = option(
        "Over characters: keep the N most frequent ones; the others have no token and are left out of the text",
        default=None, instead="all",
    )  # fmt: skip
    max_token_length: int | None = option("Longest token, in bytes", default=None, instead="any")
    max_token_characters: int | None = option("Longest token, in characters", default=None, instead="any")


@dataclass(frozen=True, kw_only=True)
class BpeOptions(Unknown, OwnOptions):
    """Options of plain BPE."""

    continuing_subword_prefix: str = option(
        "Written before every symbol that does not start a piece, such as ##", default=""
    )
    end_of_word_suffix: str = option(
        "Written behind the last symbol of a piece, such as </w>, so that it gets tokens of its own", default=""
    )
    tie_rule: TieRule = option(
        "Which of equally frequent pairs is merged first: as tokenizers (which numbers bytes in another order), "
        "minbpe, by bytes, or as SentencePiece",
        default="smallest_ids",
    )

    def smallest(self) -> Self:
        """Return the options with as many ids as one letter needs."""
        initial = 0 if self.symbols == "bytes" else len(self.initial_alphabet)
        return dataclasses.replace(self, vocab_size=257 + len(self.added) + initial)


@dataclass(frozen=True, kw_only=True)
class ScaffoldOptions(OwnOptions):
    """Options of Scaffold-BPE."""

    demolition: DemolitionRule = option("How tokens that left are written: eq6, the paper's, or shortest",
                                        default="eq6")  # fmt: skip
    trace: bool = option("Also write every demotion and promotion, as JSON lines", default=False)


_PLAIN, _SCAFFOLD = BpeOptions(vocab_size=1), ScaffoldOptions(vocab_size=1)  # defaults for the other's options


def train_bpe(request: TrainingRequest[BpeOptions]) -> TrainedTokenizer:
    """Train plain BPE."""
    return _train(request, request.options, _SCAFFOLD, scaffold=False)


def train_scaffold(request: TrainingRequest[ScaffoldOptions]) -> TrainedTokenizer:
    """Train Scaffold-BPE (arXiv 2404.17808)."""
    return _train(request, _PLAIN, request.options, scaffold=True)


def _train(
    request: TrainingRequest[OwnOptions], plain: BpeOptions, scaffolds: ScaffoldOptions, *, scaffold: bool
) -> TrainedTokenizer:
    options = request.options
    _check(options, plain.unknown)
    splitter = TextSplitter(options.pattern or PATTERN)
    feed = Feed(request)
    phases = feed.phases
    counted = PieceCounter(splitter)
    read_in_batches(feed, counted.add)
    with phases.timed("counting"):
        spelled = counted.pieces()
        pieces = _symbols(spelled, options, plain)
    base = len(pieces.data_offsets) - 1
    size = options.vocab_size - len(options.added)
    if size < base:
        raise too_small(options.vocab_size, options, base)
    with phases.timed("merging"):
        merged = phases.gauge("merging", "tokens", size, base)
        trained = train(
            pieces, size, scaffold=scaffold, tie_rule=plain.tie_rule, min_frequency=options.min_frequency or 1,
            max_token_length=options.max_token_length, max_token_characters=options.max_token_characters,
            keep_events=scaffolds.trace,
            progress=merged if request.progress else None,
        )  # fmt: skip
        merged(trained.vocab_size)
    with phases.timed("writing"):
        model = model_of_training(
            trained, splitter, special=options.added, unknown=plain.unknown, demolition=scaffolds.demolition,
            origin=_origin(feed, splitter, pieces, plain.tie_rule),
        )  # fmt: skip
        files = {MODEL: save_bytes(model)}
        if scaffolds.trace:
            files[TRACE] = _trace(trained)
    return TrainedTokenizer(
        files=files,
        model=model,
        vocab_size=trained.vocab_size + len(options.added),
        merges=len(trained.rules),
        complete=trained.complete,
        seconds=phases.seconds,
        notes=_notes(options, plain.unknown, trained, splitter),
        details={
            "documents": feed.documents,
            "bytes": feed.bytes,
            "distinct_pieces": len(pieces.weights),
            "alphabet": base,
            **_left_out(spelled, pieces, options.limit_alphabet),
            "scaffold_tokens": (left := int(trained.scaffold.sum())),
        },
        summary={"scaffold": f"{left:,} tokens that only lead to others"} if scaffold else {},
    )


def _check(options: OwnOptions, unknown: str | None) -> None:
    if options.symbols == "bytes":
        if unknown is not None:
            raise InputError("every byte has a token: an unknown token is for symbols 'characters'")
        if options.initial_alphabet:
            raise InputError("every byte is in the alphabet already: an initial alphabet is for symbols 'characters'")
        if options.limit_alphabet is not None:
            raise InputError("every byte stays in the alphabet: limit_alphabet is for symbols 'characters'")
        if options.vocab_size < 256 + len(options.added):
            raise too_small(options.vocab_size, options, 256)
    elif options.limit_alphabet is not None and options.limit_alphabet < len(set(options.initial_alphabet)):
        raise InputError(
            f"limit_alphabet is {options.limit_alphabet}, and the initial alphabet has "
            f"{len(set(options.initial_alphabet))} characters: raise the one or leave out some of the others"
        )


def too_small(size: int, options: Symbols, alphabet: int) -> InputError:
    """Return the error for a vocabulary without room for its alphabet."""
    special = f" and {len(options.added)} special tokens" if options.added else ""
    advice = "" if options.symbols == "bytes" else ", or train on bytes, whose alphabet is 256"
    return InputError(
        f"a vocabulary of {size:,} has no room for the alphabet of {alphabet:,} {options.symbols}{special}; ask for at "
        f"least {alphabet + len(options.added):,}{advice}"
    )


def _left_out(spelled: WeightedPieces, pieces: WeightedPieces, limit: int | None) -> dict[str, int]:
    """Count the characters of the text, with repetitions, that limit_alphabet left out."""
    if limit is None:
        return {}
    starts = np.zeros(len(spelled.symbols) + 1, np.int64)
    np.cumsum((spelled.symbols & 0xC0) != 0x80, out=starts[1:])
    lost = np.diff(starts[spelled.offsets]) - np.diff(pieces.offsets)
    return {"characters_left_out": int((lost.astype(np.uint64) * pieces.weights).sum())}


def _symbols(pieces: WeightedPieces, options: OwnOptions, plain: BpeOptions) -> WeightedPieces:
    """Return pieces in the requested symbols; they come as bytes."""
    by_characters = options.symbols == "characters"
    if by_characters:
        pieces = of_characters(pieces, options.initial_alphabet)
    return in_forms(
        pieces, prefix=plain.continuing_subword_prefix, suffix=plain.end_of_word_suffix,
        limit=options.limit_alphabet, initial=options.initial_alphabet,
        every_form=not by_characters,  # so that text of any bytes has symbols
    )  # fmt: skip


def _trace(trained: TrainedBpe) -> bytes:
    """Return one JSON object per line; JSON or hex escapes text that a terminal or a spreadsheet would act on."""
    lines = []
    for number, event in enumerate(trained.events):
        token = trained[event.token]
        row = {
            "event": number,
            "kind": event.kind,
            "token": event.token,
            "text": token.decode(errors="backslashreplace"),
            "hex": token.hex(),
            "rules": event.rules,
            "frequency": event.frequency,
            "head": event.head,
        }
        lines.append(json.dumps(row) + "\n")
    return "".join(lines).encode()


def _origin(feed: Feed, splitter: TextSplitter, pieces: WeightedPieces, tie_rule: TieRule) -> dict[str, Any]:
    options = feed.request.options
    return {
        "trained_on": {**feed.request.source(), "documents": feed.documents, "bytes": feed.bytes},
        "pattern": splitter.name,
        "symbols": options.symbols,
        "tie_rule": tie_rule,
        "min_frequency": options.min_frequency or 1,
        "max_token_length": options.max_token_length,
        **{name: value for name in _NEWER if (value := getattr(options, name, None))},
        "distinct_pieces": len(pieces.weights),
    }


def _notes(
    options: OwnOptions, unknown: str | None, trained: TrainedBpe, splitter: TextSplitter
) -> tuple[str, ...]:  # fmt: skip
    notes = []
    if not trained.complete:
        limits = f" at least {options.min_frequency} times" if (options.min_frequency or 1) > 1 else ""
        length = f" within {options.max_token_length} bytes" if options.max_token_length else ""
        length += f" within {options.max_token_characters} characters" if options.max_token_characters else ""
        notes.append(
            f"stopped after {len(trained.rules):,} merges: no pair occurs{limits}{length} any more; the vocabulary has "
            f"{trained.vocab_size + len(options.added):,} ids, not {options.vocab_size:,}"
        )
    if options.symbols == "characters" and unknown is None:
        notes.append("without an unknown token, characters outside the alphabet are left out when encoding")
    if splitter.engine == "regex":
        notes.append(f"split by the package regex, which is slower than compiled patterns: {splitter.reason}")
    return tuple(notes)


TRAINERS = (
    TrainerSpec(
        name="bpe",
        train=train_bpe,
        options=BpeOptions,
        summary="byte-pair encoding, exact counts, four tie rules",
        algorithm="bpe",
        library="pyharness",
        not_exported=None,
    ),
    TrainerSpec(
        name="scaffold-bpe",
        train=train_scaffold,
        options=ScaffoldOptions,
        summary="Scaffold-BPE (arXiv 2404.17808): tokens that only lead to longer ones leave the vocabulary",
        algorithm="scaffold-bpe",
        library="pyharness",
        not_exported="no other library can express Scaffold-BPE",
    ),
)
