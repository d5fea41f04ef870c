"""``pyharness adapt embed``: from a model and a new vocabulary to a folder with the adapted model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from pyharness import tokenizers
from pyharness.bpe import BpeModel, BpeTokenizer
from pyharness.features.adaptation import id_maps
from pyharness.features.adaptation.id_maps import id_of_key
from pyharness.features.adaptation.surgery.checkpoint import adapted_files, kept_files, tokenizer_files
from pyharness.features.adaptation.surgery.initialisation import Method, PlanRequest, plan_of_map, plan_of_tokenizers
from pyharness.features.adaptation.surgery.matrices import VocabularyMatrices
from pyharness.features.adaptation.surgery.plan import PLAN_FILE, EmbeddingPlan
from pyharness.features.language_models.folder import ModelFolder, find
from pyharness.features.training.trainers.feeding import Phases
from pyharness.system import atomic_file, folders
from pyharness.system.folders import check_apart, check_new_folder, write_folder
from pyharness.types import FileContent, InputError, TrainingProgress
from pyharness.vocabularies.files import vocabulary_file


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingRequest:
    """A model, and the source of its new rows: another tokenizer, a map of ids, or a plan."""

    model: str
    tokenizer: str | None = None  # file or folder; with a map or a plan, only copied next to the weights
    old_tokenizer: str | None = None  # None: that of the model's folder
    id_map: Path | None = None
    ids: int | None = None  # number of new ids, of a map
    plan: Path | None = None
    method: Method = "fvt"
    named: Sequence[tuple[str, str]] = ()  # new tokens and the old tokens whose rows they get: texts or ids
    tensors: Sequence[str] = ()
    multiple_of: int = 1
    seed: int = 0
    progress: Callable[[TrainingProgress], None] | None = field(default=None, compare=False)  # called now and then


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, with its model and matrices."""

    folder: ModelFolder
    matrices: VocabularyMatrices
    plan: EmbeddingPlan


@dataclass(frozen=True, slots=True)
class Embedded:
    """An adapted model."""

    files: Sequence[str]
    left_out: Sequence[str]  # files of the model's folder without a successor


def plan_embedding(request: EmbeddingRequest, out: Path | None = None, force: bool = False) -> Planned:
    """Find the matrices of a model, and make or read the plan of its rows.

    Args:
        request: the model, and the source of its new rows.
        out: the output folder, if any: checked before any computation.
        force: whether to replace an earlier output folder.

    Raises:
        InputError: an input is unusable, or the output folder cannot be made.
        Unsupported: no matrices are named, and torch or transformers is not installed.
    """
    if request.tokenizer is None and request.id_map is None and request.plan is None:
        raise InputError("name what the new ids come from: --tokenizer, --map or --plan")
    if request.id_map is not None and request.plan is not None:
        raise InputError("--map and --plan exclude each other; give one")
    folder = find(request.model)
    if folder is None:
        raise InputError(f"language model {request.model!r} is not here; name its folder")
    folder.check_layers()
    if out is not None:
        _check_folder(out, request, folder.path, force)
    matrices = VocabularyMatrices.of(folder, request.tensors)
    if request.plan is not None:
        return Planned(folder, matrices, _read_plan(request, request.plan))
    if request.id_map is not None:
        return Planned(folder, matrices, _plan_of_map(request, request.id_map, folder, matrices.rows))
    return Planned(folder, matrices, _plan_of_tokenizers(request, folder, matrices.rows))


def write_plan(planned: Planned, path: Path) -> None:
    """Write a plan to a new file.

    Raises:
        InputError: the file exists, or cannot be written.
    """
    atomic_file.write(path, planned.plan.as_json().decode(), advice="choose another file for the plan")


def embed(request: EmbeddingRequest, planned: Planned, out: Path, *, force: bool = False) -> Embedded:
    """Write a model whose vocabulary follows a plan: its folder appears whole or not at all.

    ``force``: whether to replace an earlier output folder.

    Raises:
        InputError: the tokenizer or the model does not fit the plan, a file is unusable, or the folder cannot be made.
    """
    folder, plan = planned.folder, planned.plan
    _check_folder(out, request, folder.path, force)
    files: dict[str, FileContent] = {**kept_files(folder)}
    if request.tokenizer is not None:
        tokenizer = folders.expanded(request.tokenizer.partition("?")[0])
        if plan.new.sha256 is not None and plan.new.sha256 != _digest(request.tokenizer):
            raise InputError(f"the plan was made for another tokenizer than {request.tokenizer!r}; make one for it")
        if plan.new.sha256 is None:
            _check_ids(request.tokenizer, plan.new.ids)
        files |= tokenizer_files(tokenizer, folder, plan)
    _hash(request, folder)  # compared in the next line
    files |= adapted_files(folder, plan, planned.matrices, Phases(request.progress))
    write_folder(out, files, overwrite=force)
    return Embedded(sorted(files), sorted({path.name for path in folder.path.iterdir()} - set(files)))


def _check_ids(tokenizer: str, known: int) -> None:
    """Refuse a tokenizer with more ids than the map or plan has."""
    try:
        ids = tokenizers.load(f"file:{tokenizer}").id_limit
    except InputError:
        return  # an unreadable file is copied unchanged
    if ids > known:
        raise InputError(
            f"{tokenizer!r} has {ids:,} ids, and the map leads to {known:,}: leave --map out, and tokens that it does "
            "not know get rows, too; or say with --ids how many there are"
        )


def _check_folder(out: Path, request: EmbeddingRequest, model: Path, force: bool) -> None:
    """Refuse a folder that cannot be made, or that overlaps an input."""
    check_new_folder(out, PLAN_FILE, force)
    named = (request.tokenizer, request.old_tokenizer)
    tokenizers_read = [vocabulary_file.find(name.partition("?")[0]) for name in named if name is not None]
    others = [path for path in (request.id_map, request.plan) if path is not None]
    check_apart(out, (model, *model.iterdir(), *tokenizers_read, *others))


def _read_plan(request: EmbeddingRequest, path: Path) -> EmbeddingPlan:
    if request.named or request.multiple_of != 1 or request.ids is not None:
        raise InputError("a plan fixes the rows itself; leave --row, --multiple-of and --ids out")
    return EmbeddingPlan.of_json(vocabulary_file.read(path), str(path))


def _plan_of_map(request: EmbeddingRequest, path: Path, folder: ModelFolder, rows: int) -> EmbeddingPlan:
    if request.named:
        raise InputError("--row names tokens, which a map of ids does not have; map the ids instead")
    ids = id_maps.load(vocabulary_file.read(path), str(path), rows, request.ids)
    return plan_of_map(ids, _request(request, folder, rows, {}))


def _plan_of_tokenizers(request: EmbeddingRequest, folder: ModelFolder, rows: int) -> EmbeddingPlan:
    if request.ids is not None:
        raise InputError("--ids is for a map of ids; a tokenizer has a number of its own")
    names = request.old_tokenizer or str(folder.path), request.tokenizer or ""
    old, new = map(_model, names)
    named = {_id(new, token): _id(old, source) for token, source in request.named}
    digests = _digest(names[0]), _digest(names[1])
    return plan_of_tokenizers(old, new, _request(request, folder, rows, named), digests)


def _request(request: EmbeddingRequest, folder: ModelFolder, rows: int, named: Mapping[int, int]) -> PlanRequest:
    return PlanRequest(
        rows=rows,
        checkpoint=_hash(request, folder),
        method=request.method,
        named=named,
        multiple_of=request.multiple_of,
        seed=request.seed,
    )


def _hash(request: EmbeddingRequest, folder: ModelFolder) -> str:
    return folder.digest(Phases(request.progress).gauge("hashing", "bytes", folder.size()))


def _model(name: str) -> BpeModel:
    return cast(BpeTokenizer, tokenizers.load(f"native+file:{name}")).model


def _digest(name: str) -> str:
    return vocabulary_file.digest(vocabulary_file.find(name.partition("?")[0]))


def _id(model: BpeModel, name: str) -> int:
    token = BpeTokenizer(model).token_to_id(name)
    if token is None:
        token = id_of_key(name)
    if token is None:
        raise InputError(f"--row names {name[:60]!r}, which is not a token of {model.origin.get('file', 'its file')}")
    return token
