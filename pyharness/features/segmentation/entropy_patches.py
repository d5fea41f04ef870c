"""``patches:entropy``: the predictor of the next byte, and the threshold of a patch with its calibration.

``corpus=`` trains a symbol model of bytes when the row is prepared, and caches it. Its default is ``order=5``: a lower
order gives so many bytes the same entropy that some targets are out of reach. ``model=`` is the file of such a model,
or the folder of a causal language model over bytes. The threshold for a ``target=`` is cached, too, keyed by everything
that affects it. That of a symbol model is found when the row is prepared; that of a language model, by the first case.
"""

from __future__ import annotations

import dataclasses
import math
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from pyharness import corpora
from pyharness.corpora.streaming import BATCH_SIZE, batches
from pyharness.corpora.texts import Text
from pyharness.features.language_models import folder
from pyharness.features.segmentation.byte_entropies import (
    BYTES,
    MODES,
    THRESHOLD,
    BytePredictor,
    CausalPredictor,
    PatchRule,
    SymbolPredictor,
    patch_starts,
)
from pyharness.features.segmentation.calibration import LEAST_SHARED, Calibrated, CalibrationText, calibrate
from pyharness.features.segmentation.symbol_models import HIGHEST_ORDER, SymbolModel
from pyharness.features.segmentation.text_bytes import laid_out, segments_of_starts
from pyharness.features.training import trained_cache
from pyharness.features.training.recipe import code_digest, keys_file, text_of
from pyharness.features.training.trainers import Array, TrainedTokenizer
from pyharness.features.training.trainers.feeding import Phases
from pyharness.plugins.specification import check_options
from pyharness.system import folders
from pyharness.system.environment import version_of
from pyharness.tokenizers.segmenting import row_of_units, whole_number
from pyharness.types import Digest, HasSegments, InputError, Segments, Tally, TokenizerSpec, TrainingProgress

NAME = "patches:entropy"
OPTIONS = (
    "model", "corpus", "order", "offset", "mode", "threshold", "threshold_add", "max_patch_length", "target",
    "calibration",
)  # fmt: skip
FILE = "bytes.symbols"
LARGEST = 1 << 31


@dataclass(slots=True)
class EntropyPatches:
    """Segmenter that cuts text where the next byte is hard to predict."""

    predictor: BytePredictor
    rule: PatchRule
    settings: Mapping[str, Any] = field(default_factory=dict)  # for the record
    calibrated_on: frozenset[Digest] = frozenset()  # its texts, documents and works, which are not measured
    notes: tuple[str, ...] = ()
    is_causal: bool = True

    def segment_batch(self, texts: Sequence[str], threads: int = 1) -> Segments:
        """Cut documents."""
        data, offsets = laid_out(texts)
        entropies = self.predictor.entropies(data, offsets, threads)
        return segments_of_starts(patch_starts(entropies, offsets, self.rule), offsets)

    def check_unseen(self, text: str, digests: Iterable[Digest]) -> None:
        """Raise ``InputError`` for a text of the calibration of at least ``LEAST_SHARED`` characters."""
        if len(text) >= LEAST_SHARED and not self.calibrated_on.isdisjoint(digests):
            raise InputError(
                f"the threshold was calibrated on a document that is measured ({text[:40]!r}...); give other text with "
                "calibration=, such as another shard: of the corpus"
            )


@dataclass(frozen=True, slots=True)
class EntropyRow:
    """Checked options of a row."""

    rule: PatchRule
    model: str | None
    corpus: str | None
    order: int
    offset: int | None
    target: float | None  # bytes per patch
    calibration: str | None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> EntropyRow:
        """Read options, and check everything that needs no text."""
        check_options(NAME, options, OPTIONS)
        model, corpus = options.get("model"), options.get("corpus")
        if (model is None) == (corpus is None):
            raise InputError(
                f"{NAME} needs either corpus=, which a model of bytes is trained on, or model=, the file of a symbol "
                f"model or the folder of a causal model of bytes: {NAME}?corpus=sample:prose"
            )
        _only(options, "order", corpus is not None, "corpus=")
        _only(options, "offset", model is not None, "model=")
        _only(options, "threshold", "target" not in options, "a threshold, not with target=")
        for one, other in (("target", "calibration"), ("calibration", "target")):
            _only(options, one, other in options, f"{other}=")
        row = cls(
            _rule(options), model, corpus, whole_number(NAME, options, "order", HIGHEST_ORDER, HIGHEST_ORDER),
            whole_number(NAME, options, "offset", 0, LARGEST, 0) if "offset" in options else None, _target(options),
            options.get("calibration"),
        )  # fmt: skip
        for text in (corpus, row.calibration):
            if text is not None:
                Text.of(text.split("|"))
        return row

    @property
    def recipe(self) -> dict[str, Any]:
        """Return everything that affects the symbol model, except the present content of the corpus."""
        versions, code = {"pyharness": version_of("pyharness")}, code_digest(SymbolModel.__module__)
        return {"trainer": "symbols", "corpus": self.corpus, "order": self.order, "versions": versions, "code": code}


def _rule(options: Mapping[str, str]) -> PatchRule:
    mode = options.get("mode", MODES[0])
    if mode not in MODES:
        raise InputError(f"{NAME}: mode={mode} is not known; known: {', '.join(MODES)}")
    _only(options, "threshold_add", mode == "combined", "mode=combined")
    longest = whole_number(NAME, options, "max_patch_length", 1, LARGEST) if "max_patch_length" in options else None
    return PatchRule(mode, _number(options, "threshold", THRESHOLD), _number(options, "threshold_add", 0.0), longest)


def _target(options: Mapping[str, str]) -> float | None:
    target = _number(options, "target", 4.5) if "target" in options else None
    if target is not None and target < 1:
        raise InputError(f"{NAME}: target={target:g} bytes: a patch has 1 or more")
    return target


def _number(options: Mapping[str, str], key: str, default: float) -> float:
    try:
        number = float(options.get(key, default))
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or abs(number) > 1e30:
        raise InputError(f"{NAME}: {key}={options[key]} is not a number, such as {default:g}")
    return number


def _only(options: Mapping[str, str], key: str, allowed: bool, needs: str) -> None:
    if key in options and not allowed:
        raise InputError(f"{NAME}: {key}= goes with {needs}")


def expand(name: str, options: Mapping[str, str]) -> TokenizerSpec:
    """Describe the row; its symbol model exists only after ``prepare``."""
    row = EntropyRow.of(options)
    if row.model is not None:
        return row_of_units(name, lambda _: _load(row, None), f"patches by entropy, of {row.model}")
    kept = trained_cache.RecipeFolder.of(row.recipe).find()
    path = None if kept is None else kept.path
    spec = row_of_units(name, lambda spec: _of_cache(spec, row, path), f"patches by entropy, of {row.corpus}")
    if kept is None or row.corpus is None:
        return spec
    return dataclasses.replace(spec, revision=kept.digest, trained_on=keys_file(row.corpus, kept.digest))


def prepare(options: Mapping[str, str], progress: Callable[[TrainingProgress], None] | None = None) -> None:
    """Train a row's symbol model and find its threshold, unless the cache has those of the present texts.

    A language model is only checked: the first case finds its threshold. A target that no threshold reaches fails the
    row's cases, not the run.
    """
    row = EntropyRow.of(options)
    _load.cache_clear()
    if row.corpus is not None:
        _train(row, row.corpus, progress)
    elif _file(row) is None:
        folder.check(str(row.model))
        return
    kept = trained_cache.RecipeFolder.of(row.recipe).find()
    predictor = _predictor(row, None if kept is None else kept.path)
    if row.target is not None and row.calibration is not None:
        text = _calibration(row.calibration)
        Phases(progress).gauge("finding the threshold", "bytes")
        with suppress(InputError):
            _threshold(predictor, row.rule, row.target, text)


def prepared(options: Mapping[str, str]) -> bool:
    """Whether the cache has the row's symbol model; True for a row with ``model=``."""
    row = EntropyRow.of(options)
    return row.corpus is None or trained_cache.RecipeFolder.of(row.recipe).find() is not None


def _train(row: EntropyRow, corpus: str, progress: Callable[[TrainingProgress], None] | None) -> None:
    digest, _ = text_of(corpus, progress)
    with trained_cache.locked(row.recipe) as place:
        kept = place.find()
        if kept is None or kept.path is None or kept.digest != digest:
            documents = Text.of(corpus.split("|")).documents()
            model = SymbolModel.train(map(laid_out, batches(documents, size=BATCH_SIZE)), BYTES, row.order)
            with tempfile.TemporaryDirectory() as folder:
                model.save(Path(folder) / FILE)
                files = {FILE: (Path(folder) / FILE).read_bytes()}
            trained = TrainedTokenizer(files=files, vocab_size=BYTES, merges=None, complete=True, seconds={})
            place.keep(digest, trained)


def _of_cache(spec: TokenizerSpec, row: EntropyRow, path: Path | None) -> HasSegments:
    if path is None:
        raise InputError(
            f"the model of {spec.name!r} has not been trained yet: 'pyharness run' trains it, or tokenizers.obtain()"
        )
    return _load(row, path)


@lru_cache(maxsize=1)
def _load(row: EntropyRow, path: Path | None) -> EntropyPatches:
    """Load the model and find the threshold, if it is not cached: once for all cases of a row."""
    predictor = _predictor(row, path)
    about = {**dataclasses.asdict(row.rule), "target": row.target, "model": predictor.digest}
    if row.target is None or row.calibration is None:
        return EntropyPatches(predictor, row.rule, about)
    text = _calibration(row.calibration)
    threshold = _threshold(predictor, row.rule, row.target, text)
    same = ("Its threshold was found on the text that its model was trained on.",)
    notes = same if row.calibration == row.corpus else ()
    statistics = {key: getattr(threshold, key) for key in ("mean", "deviation", "largest", "bytes")}
    about |= {"threshold": threshold.rule.threshold, "calibration": {"corpus": row.calibration, **statistics}}
    return EntropyPatches(predictor, threshold.rule, about, text.known_by, notes)


def _threshold(predictor: BytePredictor, rule: PatchRule, target: float, text: CalibrationText) -> Calibrated:
    """Return the rule with the threshold for patches of ``target`` bytes on a text, cached if possible.

    Raises:
        InputError: no threshold reaches the target; this result is cached, too.
    """
    recipe = {
        "trainer": "threshold",
        "model": predictor.digest,
        "rule": dataclasses.asdict(rule),
        "target": target,
        "text": text.digest,
        "versions": {"pyharness": version_of("pyharness")},
        "code": code_digest(calibrate.__module__),
    }
    with trained_cache.locked(recipe) as place:
        kept = place.find()
        if kept is not None and kept.refused is not None:
            raise InputError(kept.refused)
        arrays = place.learnt(text.digest, None)
        if arrays is not None:
            return _of_arrays(arrays, rule)
        try:
            calibrated = calibrate(text.predicted(predictor), rule, target)
        except InputError as error:
            place.refuse(text.digest, str(error))
            raise
        place.keep_learnt(text.digest, _arrays(calibrated), None)
        return calibrated


def _arrays(found: Calibrated) -> dict[str, Array]:
    figures = np.array([found.rule.threshold, found.mean, found.deviation])
    return {"figures": figures, "sizes": np.array([found.largest, found.bytes], np.int64)}


def _of_arrays(arrays: Any, rule: PatchRule) -> Calibrated:
    threshold, mean, deviation = arrays["figures"].tolist()
    largest, size = arrays["sizes"].tolist()
    return Calibrated(dataclasses.replace(rule, threshold=threshold), mean, deviation, largest, size)


def _calibration(corpus: str) -> CalibrationText:
    read = (corpora.read(one, Tally()) for one in Text.of(corpus.split("|")).corpora)
    return CalibrationText.read(chain.from_iterable(read))


def _predictor(row: EntropyRow, path: Path | None) -> BytePredictor:
    file = path or _file(row)
    if file is None:
        return CausalPredictor.load(str(row.model), row.offset)
    return SymbolPredictor.of(SymbolModel.load(file, BYTES))


def _file(row: EntropyRow) -> Path | None:
    """Return the symbol model file of ``model=``; None for anything else."""
    path = folders.expanded(str(row.model))
    return path if path.is_file() else None
