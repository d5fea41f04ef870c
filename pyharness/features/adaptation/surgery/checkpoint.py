"""The files of an adapted checkpoint: weights by a plan, the new tokenizer, and other files of the model's folder.

Large files are streamed; tensors without a row per id keep their bytes.

Only a folder's own files are copied, up to a size limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pyharness.corpora.document_keys import TRAINED_ON
from pyharness.features.adaptation.editing.settings import SETTINGS, edited_settings
from pyharness.features.adaptation.surgery.matrices import VocabularyMatrices, others, with_rows, written
from pyharness.features.adaptation.surgery.plan import PLAN_FILE, EmbeddingPlan
from pyharness.features.adaptation.surgery.rows import BLOCK, PlannedRows, StoredMatrix, fill, rows_of
from pyharness.features.language_models.folder import CONFIG, INDEX, WEIGHTS, ModelFolder
from pyharness.features.language_models.weights_file import StoredTensor, WeightsFile, header_of
from pyharness.features.training.trainers.feeding import Phases
from pyharness.system import bounded_file
from pyharness.types import FileContent, InputError, Streamed
from pyharness.vocabularies.files import vocabulary_file
from pyharness.vocabularies.files.json_file import parse_json
from pyharness.vocabularies.files.vocabulary_file import Kind

GENERATION = "generation_config.json"
VOCABULARIES = (
    "tokenizer.json", "tokenizer.model", "tekken.json", "model.json", "*.tiktoken", "vocab.json", "merges.txt",
    "vocab.txt",
)  # fmt: skip
_USUAL: Mapping[Kind, str] = {  # file name in transformers, by kind
    "huggingface": "tokenizer.json",
    "sentencepiece": "tokenizer.model",
    "tekken": "tekken.json",
}
_KEPT = ("LICENSE*", "NOTICE*", "USE_POLICY*", "*processor_config.json")


def adapted_files(
    folder: ModelFolder, plan: EmbeddingPlan, matrices: VocabularyMatrices, phases: Phases | None = None
) -> dict[str, FileContent]:
    """Return configurations, weights, their index and the plan of the adapted model, by file name.

    Shards keep their boundaries. The plan is next to the weights. ``phases`` gets the progress of the files.

    Raises:
        InputError: the plan is for another checkpoint or number of rows, or it removes a token that the configuration
            names; a file of the model is damaged, or a link out of its folder. While a file is streamed: its source has
            become shorter.
    """
    if plan.checkpoint != folder.digest():
        raise InputError(
            f"the plan was made for another checkpoint (sha256 {plan.checkpoint[:16]}...), and {folder.name!r} is "
            f"{folder.digest()[:16]}...; make a plan for it"
        )
    if plan.rows != matrices.rows:
        raise InputError(f"the plan is for matrices of {plan.rows:,} rows, and there are {matrices.rows:,}")
    settings = {CONFIG: written(with_rows(folder.config, matrices.places, len(plan)))}
    if (folder.path / GENERATION).is_file():
        settings[GENERATION] = vocabulary_file.read(own(folder.path / GENERATION))
    inner = others(folder.config, matrices.places)
    files: dict[str, FileContent] = {**edited_settings(settings, plan.ids, plan.added, others=inner)}
    files[PLAN_FILE] = plan.as_json()
    sources = [WeightsFile.read(path) for path in folder.weights]
    _check_once(sources)
    if WEIGHTS not in (source.path.name for source in sources):
        files[INDEX] = written(_index(folder.path / INDEX, sources, plan, matrices))
    told = phases or Phases(None)
    streams = {source.path.name: _stream(source, plan, matrices, told) for source in sources}
    return files | _report(streams, told)


def _check_once(sources: list[WeightsFile]) -> None:
    """Refuse a tensor in two shards: it is unclear which one counts, and both would be written."""
    places: dict[str, Path] = {}
    for source in sources:
        for name in source.tensors:
            if name in places:
                files = f"{places[name].name} and {source.path.name}"
                raise InputError(f"{source.path.parent}: {files} both have the tensor {name[:80]!r}; keep one of them")
            places[name] = source.path


def _index(path: Path, sources: list[WeightsFile], plan: EmbeddingPlan, matrices: VocabularyMatrices) -> dict[str, Any]:
    """Return the index of shards, with the totals of the new matrices."""
    index = parse_json(vocabulary_file.read(path), str(path))
    shards = {source.path.name: source.tensors for source in sources}
    for name, shard in index["weight_map"].items():
        if name not in shards[shard]:
            raise InputError(f"{path} is broken: {shard} has no tensor {name[:80]!r}")
    metadata = index.get("metadata")
    if isinstance(metadata, dict):
        pairs = [
            (tensor, _after(tensor, plan))
            for tensors in shards.values() for tensor in tensors.values() if tensor.name in matrices.roles
        ]  # fmt: skip
        grown = {
            "total_size": sum(after.size - before.size for before, after in pairs),
            "total_parameters": sum(after.numbers - before.numbers for before, after in pairs),
        }
        totals = {key: metadata[key] + grown[key] for key in grown if type(metadata.get(key)) is int}
        index["metadata"] = {**metadata, **totals}
    return index


def _after(tensor: StoredTensor, plan: EmbeddingPlan) -> StoredTensor:
    """Return a vocabulary matrix with the size of all rows of the plan, at the same start."""
    size = len(plan) * (tensor.size // rows_of(tensor))
    shape = (1, len(plan)) if tensor.shape[0] == 1 and len(tensor.shape) == 2 else (len(plan), *tensor.shape[1:])
    return replace(tensor, shape=shape, end=tensor.start + size)


def _stream(source: WeightsFile, plan: EmbeddingPlan, matrices: VocabularyMatrices, phases: Phases) -> Streamed:
    tensors = [_after(one, plan) if one.name in matrices.roles else one for one in source.tensors.values()]
    header = header_of([(one.name, one.dtype, one.shape, one.size) for one in tensors], source.metadata)

    def chunks() -> Iterator[bytes]:
        yield header
        with source.path.open("rb", buffering=0) as file:
            handle = file.fileno()
            for tensor in source.tensors.values():
                if tensor.name in matrices.roles:
                    role = matrices.roles[tensor.name]
                    yield from PlannedRows(plan, StoredMatrix(handle, tensor), role, phases).blocks()
                else:
                    for start in range(tensor.start, tensor.end, BLOCK):
                        block = bytearray(min(BLOCK, tensor.end - start))
                        fill(handle, start, memoryview(block), tensor.name)
                        yield bytes(block)

    return Streamed(len(header) + sum(one.size for one in tensors), chunks)


def _report(streams: Mapping[str, Streamed], phases: Phases) -> dict[str, FileContent]:
    """Wrap streams so that they report their joint progress."""
    total, position = sum(stream.size for stream in streams.values()), 0

    def counted(stream: Streamed) -> Iterator[bytes]:
        nonlocal position
        report = phases.gauge("writing", "bytes", total, position)
        for chunk in stream.chunks():
            yield chunk
            position += len(chunk)
            report(position)

    return {name: Streamed(stream.size, partial(counted, stream)) for name, stream in streams.items()}


def kept_files(folder: ModelFolder) -> dict[str, Streamed]:
    """Return licences, notices, policies of use and the settings of inputs other than text, by name; no empty files.

    Raises:
        InputError: a file is a link out of the folder, or too large.
    """
    paths = {path for pattern in _KEPT for path in folder.path.glob(pattern) if path.is_file()}
    return {path.name: copied(path) for path in sorted(paths) if path.stat().st_size}


def tokenizer_files(tokenizer: Path, folder: ModelFolder, plan: EmbeddingPlan) -> dict[str, bytes]:
    """Return the files of the new tokenizer, by name: a file under its usual name, or those of a folder.

    Settings that it lacks come from the model, with their new ids.

    Raises:
        InputError: a file cannot be read, is damaged or a link out of its folder, or needs a removed token.
    """
    if tokenizer.is_dir():
        paths = [path for pattern in (*VOCABULARIES, *SETTINGS) for path in sorted(tokenizer.glob(pattern))]
        files = {path.name: vocabulary_file.read(own(path)) for path in paths}
    else:
        data = vocabulary_file.read(tokenizer)
        files = {_USUAL.get(vocabulary_file.detect(data, str(tokenizer)), tokenizer.name): data}
    if (text := (tokenizer if tokenizer.is_dir() else tokenizer.parent) / TRAINED_ON).is_file():
        files[TRAINED_ON] = vocabulary_file.read(own(text))
    beside = {name: folder.path / name for name in SETTINGS if name not in files}
    settings = {name: vocabulary_file.read(own(path)) for name, path in beside.items() if path.is_file()}
    return files | edited_settings(settings, plan.ids, plan.added)


LARGEST_BESIDE = 16 << 20  # bytes of a licence or of settings; published ones have 50 kB
_BLOCK = 1 << 20  # bytes per read


def own(path: Path) -> Path:
    """Return a file of a folder, unless it is a link out of the folder.

    By a link, the author of the folder could have any file of its user copied. In the cache of the Hub every file of a
    snapshot is a link to ``blobs`` next to ``snapshots``: these count as the folder's own.

    Raises:
        InputError: the link leads elsewhere.
    """
    folder, target = path.parent.resolve(), path.resolve()
    held = [folder, *([folder.parents[1] / "blobs"] if folder.parent.name == "snapshots" else [])]
    if not any(target.is_relative_to(one) for one in held):
        raise InputError(
            f"{path} is a link out of its folder, to {target}: it is not copied; put the file itself there"
        )
    return path


def copied(path: Path) -> Streamed:
    """Return a file unchanged, streamed while it is written.

    A file that has become shorter meanwhile gives fewer bytes than announced; the writer of the folder refuses that.

    Raises:
        InputError: the file is not the folder's own, or too large. While it is streamed: it is unreadable.
    """
    size = own(path).stat().st_size
    if size > LARGEST_BESIDE:
        raise InputError(f"{path} has {size:,} bytes; a copied file has at most {LARGEST_BESIDE:,}: move it away")
    return Streamed(size, lambda: _blocks(path, size))


def _blocks(path: Path, size: int) -> Iterator[bytes]:
    try:
        with bounded_file.opened(path) as file:
            while size > 0 and (block := file.read(min(_BLOCK, size))):
                size -= len(block)
                yield block
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
