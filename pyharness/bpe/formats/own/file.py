"""Our own model files, ``format: pyharness-bpe``: one JSON object that says everything a :class:`BpeModel` does.

Byte strings are written in the byte alphabet of GPT-2 (``Ġthe`` is `` the``): one character per byte, so they can be
read, searched and compared with a tokenizer.json; base64 could not, and takes longer to load. Ids are integers.

- ``format``, ``version``, ``digest``, ``written_by``: :mod:`pyharness.vocabularies.own_file`. The version is 1,
  or 2 where unused tokens merge, which readers of 1 would write.
- ``tokens``: output id -> bytes as decoded; null where no token has the id.
- ``kinds``: kind (``special``, ``added``, ``byte_fallback``, ``unknown``, ``unused``) -> output ids. Others are normal.
- ``added``: tokens that are found in the text before merging, as in tokenizer.json.
- ``alphabet``: base symbol -> internal id.
- ``merges``: ``rules``, the left, right and result id of every rule, end to end, in rank order; or ``ranks``, internal
  id -> rank, -1 for what no merge gives. ``strings`` and ``base`` (internal id -> string before decoding, and the base
  symbols it starts from) only where they do not follow from the bytes of the tokens.
- ``scaffold``: of Scaffold-BPE, internal id -> bytes of the tokens that are merged but never written, and the
  demolition rule; what they are written as follows from the rules. Internal ids number the normal and the scaffold
  tokens in rank order. Elsewhere it is null, and internal ids are output ids.
- ``dialect``: the engine that an expression as ``splitter`` was written for; left out where that is ``regex``.
- ``origin``: where the model comes from; decides nothing.

All other members are fields of :class:`BpeModel`; a file with any further member is refused.
"""

from __future__ import annotations

from pathlib import Path

from pyharness.bpe.analysis.unused_pieces import merging_unused
from pyharness.bpe.formats.own.reading import model_of_content
from pyharness.bpe.formats.own.writing import content_of_model
from pyharness.bpe.model.check import check_model
from pyharness.bpe.model.model import BpeModel
from pyharness.system import atomic_file
from pyharness.vocabularies import own_file
from pyharness.vocabularies.files import vocabulary_file

FORMAT = "pyharness-bpe"
VERSION = 2


def save(model: BpeModel, path: str | Path) -> None:
    """Write a model file, whole or not at all. What is there is replaced; links, devices and pipes stay.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> save(model_of_training(trained, "gpt2"), "model.json")
    >>> BpeTokenizer(load("model.json")).encode("hugs").tolist()
    [257, 115]

    Raises:
        InputError: the model contradicts itself, or the file cannot be written.
    """
    atomic_file.write(Path(path), save_bytes(model, str(path)), overwrite=True)


def load(path: str | Path) -> BpeModel:
    """Read a model file of our own; :func:`pyharness.bpe.import_model` reads those of others, too.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> save(model_of_training(trained, "gpt2"), "model.json")
    >>> load("model.json").vocabulary[257]
    b'hug'

    Raises:
        InputError: the file is damaged, of a newer version, or no model file.
    """
    return load_bytes(vocabulary_file.read(Path(path)), str(path))


def save_bytes(model: BpeModel, label: str = "the model") -> bytes:
    """Content of the file of a model; ``label`` is what errors call it."""
    check_model(model, label)
    return own_file.write(FORMAT, 2 if merging_unused(model).any() else 1, content_of_model(model), label)


def load_bytes(data: bytes, label: str) -> BpeModel:
    """Model of the content of a file; ``label`` is what errors call it."""
    model = model_of_content(own_file.read(FORMAT, VERSION, data, label, "pyharness.bpe.import_model"), label)
    check_model(model, label)
    return model
