"""Trainers: from text to the files of a tokenizer.

``declarations`` lists ours, with their options. Importing this package imports no module that trains. A plug-in has
``TRAINERS = (TrainerSpec(...),)``.

>>> request = TrainingRequest(texts=lambda: ["to be or not to be"], options=options_of("bpe", vocab_size=260))
>>> train("bpe", request).merges
4
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from pyharness.features.training.trainers.options import Options as Options
from pyharness.features.training.trainers.options import declared
from pyharness.features.training.trainers.options import option as option
from pyharness.plugins import registry
from pyharness.types import InputError, TrainingProgress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyharness.bpe.model.model import BpeModel

GROUP = "pyharness.trainers"  # of plug-ins: this package by its public name
OF_DATA = "pyharness.streams"  # of trainings on other data
Array: TypeAlias = "NDArray[Any]"
O = TypeVar("O", bound=Options)  # noqa: E741 -- of a trainer
O_co = TypeVar("O_co", bound=Options, covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRequest(Generic[O_co]):
    """A text and what to train on it."""

    texts: Callable[[], Iterable[str]]  # starts a new pass over the text; documents without lone surrogates
    options: O_co
    parts: Callable[[], Iterable[Iterable[str]]] | None = None  # the texts again, corpus by corpus
    learnt: Mapping[str, Array] | None = None  # from a training that differs in ``TrainerSpec.sizes`` alone
    threads: int = 1
    source: Callable[[], Mapping[str, Any]] = dict  # origin of the text, JSON values: called after reading
    text_bytes: int | None = None  # size of the text, if known: for the estimate of the time left
    progress: Callable[[TrainingProgress], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedTokenizer:
    """The files and figures of a training."""

    files: Mapping[str, bytes]  # name -> content; the first is the tokenizer, what ``file:`` loads; may be empty
    vocab_size: int  # ids in all, with alphabet and special tokens; fewer than requested if not complete
    merges: int | None  # None: the tokenizer has no merges
    complete: bool  # False: the text gave no more tokens before the vocabulary was full
    seconds: Mapping[str, float]  # by phase
    notes: tuple[str, ...] = ()  # facts without which a reader misreads a figure
    model: BpeModel | None = None  # the model of the first file, if it is one of our own
    details: Mapping[str, Any] = field(default_factory=dict)  # counts, JSON values: distinct_pieces, scaffold_tokens
    summary: Mapping[str, str] = field(default_factory=dict)  # further lines of the summary for people, by title
    loading: Mapping[str, str] = field(default_factory=dict)  # options of ``file:`` that the first file needs
    learnt: Mapping[str, Array] | None = None  # lets trainings that differ in ``TrainerSpec.sizes`` alone skip the text


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerSpec(Generic[O]):
    """A trainer as data, known without importing its library."""

    name: str
    # A function, or "module:function", which is imported only to train. ``train()`` calls it and checks the request.
    train: Callable[[TrainingRequest[O]], TrainedTokenizer] | str
    options: type[O]
    summary: str
    algorithm: str
    library: str  # the distribution that trains
    deterministic: bool = True  # the same text, options and number of threads give the same files
    depends_on_threads: bool = False  # another number of threads gives other tokens, not only another speed
    loadable: bool = True  # its first file can be loaded as ``file:``
    extra: str | None = None  # the pip extra that provides the library
    # For a trainer that changes the tokenizer of its option ``base``: SHA-256 of everything it reads of that tokenizer.
    base_digest: Callable[[str], str] | str | None = None
    not_exported: str | None = "it writes the file of its own library"  # why; None: the model goes into other formats
    place: int = 1  # where it is listed

    @property
    def module(self) -> str:
        """Name of the module that trains."""
        return self.train.partition(":")[0] if isinstance(self.train, str) else self.train.__module__

    @property
    def adapts(self) -> bool:
        """Whether the trainer changes an existing tokenizer."""
        return self.base_digest is not None

    @property
    def sizes(self) -> frozenset[str]:
        """Options that only say how much of one training to keep."""
        return frozenset(one.name for one in declared(self.options).values() if one.is_size)


@dataclass(frozen=True, slots=True)
class Training(Generic[O]):
    """A training on data other than text."""

    name: str  # its name for ``pyharness train``
    summary: str
    options: type[O]
    # (corpora, options, folder, force) -> lines of the summary: title and text; or "module:function"
    train: Callable[[Sequence[str], O, Path, bool], Sequence[tuple[str, str]]] | str


def trainings() -> Mapping[str, Training[Any]]:
    """Return the trainings on other data by name."""
    return registry.offered(OF_DATA, "TRAININGS")


def specs() -> Mapping[str, TrainerSpec[Any]]:
    """Return the known trainers by name: ours and those of installed plug-ins."""
    return registry.offered(GROUP, "TRAINERS")


def resolve(name: str) -> TrainerSpec[Any]:
    """Look a trainer up; raise ``InputError`` for an unknown name, with the closest names."""
    return registry.pick("trainer", name, specs())


def options_of(trainer: str | TrainerSpec[Any], **values: Any) -> Any:
    """Return the options of a trainer that have these values.

    Raises:
        InputError: the trainer is unknown, has no such option or lacks one, or a value is impossible.
    """
    spec = resolve(trainer) if isinstance(trainer, str) else trainer
    refuse_others(spec, values)
    for one in declared(spec.options).values():
        if one.required and one.name not in values:
            raise InputError(f"trainer {spec.name!r} needs {one.name}: give {one.name}={one.example or one.metavar}")
    return spec.options(**values)


def refuse_others(spec: TrainerSpec[Any], names: Iterable[str]) -> None:
    """Refuse names of options that a trainer does not have."""
    for name in names:
        if name not in declared(spec.options):
            able = ", ".join(sorted(other.name for other in specs().values() if name in declared(other.options)))
            raise InputError(f"trainer {spec.name!r} has no option {name!r}; trainers with it: {able or 'none'}")


def train(trainer: str | TrainerSpec[Any], request: TrainingRequest[Any]) -> TrainedTokenizer:
    """Train a tokenizer as the request says.

    Our own trainers can be interrupted. Libraries ignore signals while they train: Ctrl-C raises
    ``KeyboardInterrupt`` when they are done, which may take minutes. ``pyharness train`` and ``run`` end them at once.

    Raises:
        InputError: the trainer is unknown, cannot do this, or the text does not allow it.
        TypeError: the options are another trainer's, or the trainer returned something else than files.
        ValueError: the trainer returned no file to load, or one whose name is no plain one.
    """
    spec = resolve(trainer) if isinstance(trainer, str) else trainer
    check(spec, request)
    trained = registry.loaded(spec.train)(request)
    if not isinstance(trained, TrainedTokenizer):
        raise TypeError(f"it returned {type(trained).__name__}, not TrainedTokenizer")
    if spec.loadable and not trained.files:
        raise ValueError("it gave no file that can be loaded")
    for name, content in trained.files.items():
        if Path(name).name != name or name == "..":
            raise ValueError(f"it gave a file {name!r}: the name must be a plain one, without a folder")
        if not isinstance(content, bytes):
            raise TypeError(f"its file {name!r} holds {type(content).__name__}, not bytes")
    return trained


def check(spec: TrainerSpec[Any], request: TrainingRequest[Any]) -> None:
    """Check what holds for every trainer.

    The options have checked themselves.

    Raises:
        InputError: the number of threads is out of range.
        TypeError: the options are another trainer's.
    """
    if not isinstance(request.options, spec.options):
        raise TypeError(f"trainer {spec.name!r} takes {spec.options.__name__}, not {type(request.options).__name__}")
    most = max(4 * (os.cpu_count() or 1), 64)
    if not 1 <= request.threads <= most:
        raise InputError(f"threads is {request.threads}; it must be in 1..{most}")
