"""From corpora to a folder with a tokenizer: the command ``pyharness train``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyharness import tokenizers
from pyharness.corpora.document_keys import TRAINED_ON, serialise
from pyharness.corpora.options import size
from pyharness.corpora.streaming import batches
from pyharness.corpora.texts import Text
from pyharness.features.training import rows, trainers
from pyharness.features.training.recipe import file_of
from pyharness.features.training.trainers import TrainedTokenizer, TrainerSpec, TrainingRequest
from pyharness.features.training.trainers.feeding import Phases
from pyharness.features.training.trainers.options import declared
from pyharness.plugins.specification import TOKENIZER
from pyharness.running.workers.checks import said_by
from pyharness.system import lifeline
from pyharness.system.environment import cores, version_of
from pyharness.system.folders import check_new_folder, write_folder
from pyharness.types import InputError, Tally, TrainingProgress, digest_of

RECORD = "training.json"
EXPORTS = {"tokenizer.json": "tokenizer.json", "tiktoken": "ranks.tiktoken", "minbpe": "minbpe.model"}
JUDGED_BYTES = 2_000_000  # of the training text: sentencepiece takes 2 s for that much
JUDGED_DOCUMENTS = 256  # at a time


@dataclass(frozen=True, slots=True)
class TrainingFiles:
    """The files that a training writes to its folder."""

    specification: str  # the tokenizer's name for ``pyharness run -t`` and ``encode``
    tally: Tally
    files: tuple[str, ...]
    refused: tuple[str, ...]  # why an export is missing
    loading: Mapping[str, str] = field(default_factory=dict)  # name of an exported file -> how its library loads it


def requested(
    trainer: TrainerSpec[Any], corpora: Sequence[str], given: Mapping[str, Any], *, max_bytes: str | None = None,
    threads: int | None = None, progress: Callable[[TrainingProgress], None] | None = None,
) -> tuple[Text, TrainingRequest[Any]]:  # fmt: skip
    """Return the named text, and the request to a trainer; read no text.

    Raises:
        InputError: an option, a corpus or the base is invalid.
    """
    base = {"base": file_of(given["base"])} if trainer.adapts and "base" in given else {}
    options = trainers.options_of(trainer, **{**given, **base})
    text = Text.of(corpora, size("--max-bytes", max_bytes) if max_bytes else None)
    return text, TrainingRequest(
        texts=text.documents, options=options, parts=text.parts if len(corpora) > 1 else None, source=text.source,
        text_bytes=text.max_bytes, progress=progress, threads=cores() if threads is None else threads,
    )  # fmt: skip


def check(
    trainer: TrainerSpec[Any], request: TrainingRequest[Any], folder: Path, exports: Sequence[str], force: bool
) -> None:
    """Refuse what is impossible, before any text is read.

    Raises:
        InputError: the request, the folder or an export is impossible.
        TypeError: the options are another trainer's.
    """
    trainers.check(trainer, request)
    if "?" in str(folder):
        raise InputError(f"{str(folder)!r} has a '?', which begins the options of a tokenizer; choose another folder")
    check_new_folder(folder, RECORD, force)
    if exports and trainer.not_exported:
        able = ", ".join(one.name for one in trainers.specs().values() if not one.not_exported)
        raise InputError(f"trainer {trainer.name!r} has no --export: {trainer.not_exported}; trainers with it: {able}")
    if exports:  # on one letter: a format that cannot take these options says so now, not in an hour
        tiny = TrainingRequest(texts=lambda: ["a"], options=request.options.smallest())
        _, refused = _export(trained_by(trainer, tiny), exports)
        if refused:
            raise InputError(refused[0])


def trained_by(trainer: TrainerSpec[Any], request: TrainingRequest[Any]) -> TrainedTokenizer:
    """Train; what the code of a trainer raises is told in a line that names the trainer.

    Raises:
        InputError: the trainer refuses, fails, or gives a first file that does not load.
    """
    try:
        trained = trainers.train(trainer, request)
    except (InputError, OSError, MemoryError, KeyboardInterrupt, lifeline.Ended):
        raise
    except BaseException as error:  # a panic in Rust arrives as a BaseException
        raise InputError(f"trainer {trainer.name!r} failed: {said_by(error)}") from error
    if trainer.loadable and trained.model is None:  # a model of our own has been read already
        rows.first_loaded(trainer, trained)
    return trained


def keep(
    trainer: TrainerSpec[Any], request: TrainingRequest[Any], trained: TrainedTokenizer, text: Text, folder: Path,
    exports: Sequence[str] = (), *, force: bool = False,
) -> TrainingFiles:  # fmt: skip
    """Write the folder of a training: whole or not at all. An export that cannot hold the model is left out.

    Raises:
        InputError: the folder cannot be written, or is there and ``force`` does not allow to replace it.
    """
    exported, refused = _export(trained, exports)
    origin = {RECORD: _record(trainer, request, trained, text), TRAINED_ON: serialise(text.keys)}
    files = {**trained.files, **exported, **origin}
    check_new_folder(folder, RECORD, force)  # again: another process may have made it during the training
    write_folder(folder, files, overwrite=force)
    first = folder / next(iter(trained.files), RECORD)
    loading = {EXPORTS[kind]: _loading(trained, kind, folder) for kind in exports if EXPORTS[kind] in exported}
    specification = TOKENIZER.write("file", str(first), trained.loading)
    return TrainingFiles(specification, text.tally, tuple(files), tuple(refused), loading)


def _export(trained: TrainedTokenizer, kinds: Sequence[str]) -> tuple[dict[str, bytes], list[str]]:
    files: dict[str, bytes] = {}
    refused: list[str] = []
    if not kinds:
        return files, refused
    if trained.model is None:
        return files, [f"--export {kind}: this trainer gives no model that could be exported" for kind in kinds]
    from pyharness.bpe.formats.exports import export_model

    for kind in kinds:
        try:
            files[EXPORTS[kind]] = export_model(trained.model, kind)  # type: ignore[arg-type]
        except InputError as error:
            refused.append(f"--export {kind}: {error}")
    return files, refused


def _loading(trained: TrainedTokenizer, kind: str, folder: Path) -> str:
    from pyharness.bpe.formats.exports import loading_line

    assert trained.model is not None  # noqa: S101 -- it was exported
    return loading_line(trained.model, kind, folder / EXPORTS[kind])  # type: ignore[arg-type]


def _record(trainer: TrainerSpec[Any], request: TrainingRequest[Any], trained: TrainedTokenizer, text: Text) -> bytes:
    options = {name: getattr(request.options, name) for name in sorted(declared(trainer.options))}
    content = {
        "trainer": trainer.name,
        "library": {trainer.library: version_of(trainer.library)},
        # Two options that most trainers have come first, and are named for the other trainers, too.
        "options": {"vocab_size": 0, "pattern": None, **options, "threads": request.threads},
        "text": {**text.source(), "documents": text.tally.documents, "bytes": text.tally.bytes},
        "vocab_size": trained.vocab_size,
        "merges": trained.merges,
        "complete": trained.complete,
        "seconds": {name: round(seconds, 4) for name, seconds in trained.seconds.items()},
        "details": dict(trained.details),
        "notes": list(trained.notes),
    }
    return (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode()


def bytes_per_token(specification: str, text: Text) -> tuple[float, int]:
    """Return bytes per token on the start of the training text, and the bytes of that start."""
    tokenizer = tokenizers.load(specification)
    size = count = 0
    for batch in batches(front(text.documents(), JUDGED_BYTES), count=JUDGED_DOCUMENTS):
        size += sum(len(document.encode()) for document in batch)
        count += len(tokenizer.encode_batch(batch).ids)
    return size / max(count, 1), size


def front(documents: Iterable[str], size: int) -> Iterator[str]:
    """Yield documents up to the one that reaches ``size`` bytes."""
    for document in documents:
        yield document
        size -= len(document.encode())
        if size <= 0:
            return


@dataclass(slots=True)
class HeldOut:
    """Text to judge a training on, and the digests of its documents: ``apart`` refuses a corpus with any of them."""

    text: Text
    allow: bool = False  # whether documents may also be in the corpus
    digests: set[bytes] = field(default_factory=set)
    bytes: int = 0  # of the text

    @classmethod
    def read(cls, text: Text, *, allow: bool, progress: Callable[[TrainingProgress], None] | None = None) -> HeldOut:
        """Read the text once; ``progress`` gets the amount read.

        Raises:
            InputError: it is empty, or cannot be read.
        """
        held = cls(text, allow)
        report = Phases(progress).gauge("reading held-out text", "bytes")
        for document in text.documents():
            held.digests.add(digest_of(document))
            held.bytes += len(document.encode())
            report(held.bytes)
        if not held.digests:
            raise InputError("the held-out text is empty: there is nothing to judge on")
        return held

    def apart(self, texts: Iterable[str]) -> Iterator[str]:
        """Yield the texts of the corpus.

        Raises:
            InputError: after the last text: documents are both held out and in the corpus, and ``allow`` is not set.
        """
        shared = count = 0
        for text in texts:
            count += 1
            shared += digest_of(text) in self.digests
            yield text
        if shared and not self.allow:
            raise InputError(
                f"{shared:,} of {count:,} documents of the corpus are held out, too: what is learnt from them cannot "
                "be judged on them; leave them out of one, such as with shard:0/5:..., or give --allow-overlap"
            )
