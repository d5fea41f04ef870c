"""Our own trainers: plain BPE and Scaffold-BPE over bytes or characters."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from pyharness.bpe.formats.own_file import save_bytes
from pyharness.bpe.model.text_splitter import TextSplitter
from pyharness.bpe.training.piece_counter import PieceCounter
from pyharness.bpe.training.piece_symbols import in_forms, of_characters
from pyharness.bpe.training.trained_model import model_of_training
from pyharness.bpe.training.trainer import TrainedBpe, WeightedPieces, train
from pyharness.features.training.trainers import TrainedTokenizer, TrainingRequest
from pyharness.features.training.trainers.declarations import BpeOptions, OwnOptions, ScaffoldOptions, too_small
from pyharness.features.training.trainers.feeding import Feed, read_in_batches
from pyharness.types import InputError, TieRule

PATTERN = "gpt2"
MODEL = "model.json"
TRACE = "scaffold-trace.jsonl"
_NEWER = ("max_token_characters", "limit_alphabet", "continuing_subword_prefix", "end_of_word_suffix")  # noted if given


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
    _check(options)
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
        raise too_small(options.vocab_size, options, base, options.symbols)
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
            **_count_left_out(spelled, pieces, options.limit_alphabet),
            "scaffold_tokens": (left := int(trained.scaffold.sum())),
        },
        summary={"scaffold": f"{left:,} tokens that only lead to others"} if scaffold else {},
    )


def _check(options: OwnOptions) -> None:
    if options.symbols == "bytes":
        if options.limit_alphabet is not None:
            raise InputError("symbols='bytes' keeps all 256: leave limit_alphabet out, or set symbols='characters'")
        if options.vocab_size < 256 + len(options.added):
            raise too_small(options.vocab_size, options, 256)
    elif options.limit_alphabet is not None and options.limit_alphabet < len(set(options.initial_alphabet)):
        raise InputError(
            f"limit_alphabet={options.limit_alphabet} is less than the {len(set(options.initial_alphabet))} characters "
            "of initial_alphabet: raise it, or name fewer characters"
        )


def _count_left_out(spelled: WeightedPieces, pieces: WeightedPieces, limit: int | None) -> dict[str, int]:
    """Count the characters of the text, with repetitions, that limit_alphabet left out; nothing without a limit."""
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
    """Return one JSON object per line, in ASCII: JSON escapes what a terminal would act on; ``hex`` has the bytes."""
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


def _notes(options: OwnOptions, unknown: str | None, trained: TrainedBpe, splitter: TextSplitter) -> tuple[str, ...]:
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
