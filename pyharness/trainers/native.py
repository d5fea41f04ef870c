"""Our own trainers: plain BPE and Scaffold-BPE over bytes or characters."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from pyharness.bpe.formats.own.file import save_bytes
from pyharness.bpe.splitting.text_splitter import TextSplitter
from pyharness.bpe.training.piece_counter import PieceCounter
from pyharness.bpe.training.piece_symbols import in_forms, of_characters
from pyharness.bpe.training.trained_model import model_of_training
from pyharness.bpe.training.trainer import TrainedBpe, WeightedPieces, train
from pyharness.trainers import TrainedTokenizer, TrainerSpec, TrainingRequest
from pyharness.trainers.feeding import Feed, read_in_batches
from pyharness.types import InputError

PATTERN = "gpt2"
MODEL = "model.json"
TRACE = "scaffold-trace.jsonl"
_NEWER = ("max_token_characters", "limit_alphabet", "continuing_subword_prefix", "end_of_word_suffix")  # said if given


def train_bpe(request: TrainingRequest) -> TrainedTokenizer:
    """Train plain BPE."""
    return _train(request, scaffold=False)


def train_scaffold(request: TrainingRequest) -> TrainedTokenizer:
    """Train Scaffold-BPE (arXiv 2404.17808)."""
    return _train(request, scaffold=True)


def _train(request: TrainingRequest, *, scaffold: bool) -> TrainedTokenizer:
    _check(request)
    splitter = TextSplitter(request.pattern or PATTERN)
    feed = Feed(request)
    phases = feed.phases
    counted = PieceCounter(splitter)
    read_in_batches(feed, counted.add)
    with phases.timed("counting"):
        spelled = counted.pieces()
        pieces = _symbols(spelled, request)
    base = len(pieces.data_offsets) - 1
    size = request.vocab_size - len(request.added)
    if size < base:
        raise too_small(request, base)
    with phases.timed("merging"):
        merged = phases.gauge("merging", "tokens", size, base)
        trained = train(
            pieces, size, scaffold=scaffold, tie_rule=request.tie_rule, min_frequency=request.min_frequency or 1,
            max_token_length=request.max_token_length, max_token_characters=request.max_token_characters,
            keep_events=request.trace,
            progress=merged if request.progress else None,
        )  # fmt: skip
        merged(trained.vocab_size)
    with phases.timed("writing"):
        model = model_of_training(
            trained, splitter, special=request.added, unknown=request.unknown, demolition=request.demolition,
            origin=_origin(feed, splitter, pieces),
        )  # fmt: skip
        files = {MODEL: save_bytes(model)}
        if request.trace:
            files[TRACE] = _trace(trained)
    return TrainedTokenizer(
        files=files,
        model=model,
        vocab_size=trained.vocab_size + len(request.added),
        merges=len(trained.rules),
        complete=trained.complete,
        seconds=phases.seconds,
        notes=_notes(request, trained, splitter),
        details={
            "documents": feed.documents,
            "bytes": feed.bytes,
            "distinct_pieces": len(pieces.weights),
            "alphabet": base,
            **_left_out(spelled, pieces, request),
            "scaffold_tokens": int(trained.scaffold.sum()),
        },
    )


def _check(request: TrainingRequest) -> None:
    if request.symbols == "bytes":
        if request.unknown is not None:
            raise InputError("every byte has a token: an unknown token is for symbols 'characters'")
        if request.initial_alphabet:
            raise InputError("every byte is in the alphabet already: an initial alphabet is for symbols 'characters'")
        if request.limit_alphabet is not None:
            raise InputError("every byte stays in the alphabet: limit_alphabet is for symbols 'characters'")
        if request.vocab_size < 256 + len(request.added):
            raise too_small(request, 256)
    elif request.limit_alphabet is not None and request.limit_alphabet < len(set(request.initial_alphabet)):
        raise InputError(
            f"limit_alphabet is {request.limit_alphabet}, and the initial alphabet has "
            f"{len(set(request.initial_alphabet))} characters: raise the one or leave out some of the others"
        )


def too_small(request: TrainingRequest, alphabet: int) -> InputError:
    """Return the error for a vocabulary without room for its alphabet."""
    special = f" and {len(request.added)} special tokens" if request.added else ""
    advice = "" if request.symbols == "bytes" else ", or train on bytes, whose alphabet is 256"
    return InputError(
        f"a vocabulary of {request.vocab_size:,} has no room for the alphabet of {alphabet:,} "
        f"{request.symbols}{special}; ask for at least {alphabet + len(request.added):,}{advice}"
    )


def _left_out(spelled: WeightedPieces, pieces: WeightedPieces, request: TrainingRequest) -> dict[str, int]:
    """How many characters of the text, with repetitions, limit_alphabet left out."""
    if request.limit_alphabet is None:
        return {}
    starts = np.zeros(len(spelled.symbols) + 1, np.int64)
    np.cumsum((spelled.symbols & 0xC0) != 0x80, out=starts[1:])
    lost = np.diff(starts[spelled.offsets]) - np.diff(pieces.offsets)
    return {"characters_left_out": int((lost.astype(np.uint64) * pieces.weights).sum())}


def _symbols(pieces: WeightedPieces, request: TrainingRequest) -> WeightedPieces:
    """Pieces in the symbols that are asked for; they come as bytes."""
    by_characters = request.symbols == "characters"
    if by_characters:
        pieces = of_characters(pieces, request.initial_alphabet)
    return in_forms(
        pieces, prefix=request.continuing_subword_prefix, suffix=request.end_of_word_suffix,
        limit=request.limit_alphabet, initial=request.initial_alphabet,
        every_form=not by_characters,  # so that text of any bytes has symbols
    )  # fmt: skip


def _trace(trained: TrainedBpe) -> bytes:
    """One JSON object a line; text that a terminal or a spreadsheet would act on is escaped by JSON or is hex."""
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


def _origin(feed: Feed, splitter: TextSplitter, pieces: WeightedPieces) -> dict[str, Any]:
    request = feed.request
    return {
        "trained_on": {**request.source(), "documents": feed.documents, "bytes": feed.bytes},
        "pattern": splitter.name,
        "symbols": request.symbols,
        "tie_rule": request.tie_rule,
        "min_frequency": request.min_frequency or 1,
        "max_token_length": request.max_token_length,
        **{name: value for name in _NEWER if (value := getattr(request, name))},
        "distinct_pieces": len(pieces.weights),
    }


def _notes(request: TrainingRequest, trained: TrainedBpe, splitter: TextSplitter) -> tuple[str, ...]:
    notes = []
    if not trained.complete:
        limits = f" at least {request.min_frequency} times" if (request.min_frequency or 1) > 1 else ""
        length = f" within {request.max_token_length} bytes" if request.max_token_length else ""
        length += f" within {request.max_token_characters} characters" if request.max_token_characters else ""
        notes.append(
            f"stopped after {len(trained.rules):,} merges: no pair occurs{limits}{length} any more; the vocabulary has "
            f"{trained.vocab_size + len(request.added):,} ids, not {request.vocab_size:,}"
        )
    if request.symbols == "characters" and request.unknown is None:
        notes.append("without an unknown token, characters outside the alphabet are left out when encoding")
    if splitter.engine == "regex":
        notes.append(f"split by the package regex, which is slower than compiled patterns: {splitter.reason}")
    return tuple(notes)


_OPTIONS = frozenset({
    "min_frequency", "max_token_length", "max_token_characters", "special", "symbols", "initial_alphabet",
    "limit_alphabet",
})  # fmt: skip
TRAINERS = (
    TrainerSpec(
        name="bpe",
        train=train_bpe,
        summary="byte-pair encoding, exact counts, four tie rules",
        algorithm="bpe",
        library="pyharness",
        options=_OPTIONS | {"tie_rule", "unknown", "continuing_subword_prefix", "end_of_word_suffix"},
    ),
    TrainerSpec(
        name="scaffold-bpe",
        train=train_scaffold,
        summary="Scaffold-BPE (arXiv 2404.17808): tokens that only lead to longer ones leave the vocabulary",
        algorithm="scaffold-bpe",
        library="pyharness",
        options=_OPTIONS | {"demolition", "trace"},
    ),
)
