"""Our own model files, ``format: pyharness-bpe``: one JSON object that says everything a :class:`BpeModel` does.

Byte strings are written in the byte alphabet of GPT-2 (``Ġthe`` is `` the``): one character per byte, so they can be
read, searched and compared with a tokenizer.json; base64 could not, and takes longer to load. Ids are integers.

- ``format``, ``version``: ``"pyharness-bpe"``, 1; 2 where unused tokens merge, which readers of 1 would write. A reader
  refuses versions it does not know.
- ``written_by``: the pyharness that wrote the file.
- ``digest``: ``sha256:`` and the SHA-256 of all other members as JSON: keys sorted, no white space, UTF-8.
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

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyharness.bpe.analysis.unused_pieces import merging_unused
from pyharness.bpe.formats.own.reading import model_of_content
from pyharness.bpe.formats.own.writing import content_of_model
from pyharness.bpe.model.check import check_model
from pyharness.bpe.model.model import BpeModel
from pyharness.system import atomic_file
from pyharness.system.environment import version_of
from pyharness.types import InputError
from pyharness.vocabularies.files import vocabulary_file
from pyharness.vocabularies.files.json_file import parse_json

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
    written_by = version_of("pyharness")
    version = 2 if merging_unused(model).any() else 1
    content = {"format": FORMAT, "version": version, "written_by": written_by, **content_of_model(model)}
    try:
        head = {"format": FORMAT, "version": version, "digest": digest(content)}
        members = [f"{json.dumps(name)}: {_json(value)}" for name, value in {**head, **content}.items()]
        return ("{\n" + ",\n".join(members) + "\n}\n").encode()
    except (TypeError, ValueError, RecursionError) as error:  # NaN, half a surrogate pair, no JSON value
        raise InputError(f"{label} cannot be written as JSON: {error}") from None


def load_bytes(data: bytes, label: str) -> BpeModel:
    """Model of the content of a file; ``label`` is what errors call it."""
    content = parse_json(data, label)
    if content.pop("format", None) != FORMAT:
        raise InputError(f"{label} is no {FORMAT} file; pyharness.bpe.import_model reads other kinds")
    version, written_by = content.get("version"), content.get("written_by")
    if type(version) is not int or version < 1:
        raise InputError(f"{label}: version {str(version)[:40]!r} is no version of {FORMAT}")
    if version > VERSION:
        raise InputError(
            f"{label} is version {str(version)[:20]} of {FORMAT}; pyharness {version_of('pyharness')} reads versions "
            f"up to {VERSION}: install the pyharness that wrote it ({str(written_by)[:40]!r}) or a newer one"
        )
    claimed = content.pop("digest", None)
    try:
        actual = digest({"format": FORMAT, **content})
    except (ValueError, RecursionError) as error:  # NaN, half a surrogate pair, nested too deeply to be written again
        raise InputError(f"{label} has what no {FORMAT} file has: {error}") from None
    if claimed != actual:
        raise InputError(
            f"{label} is damaged or was edited: its digest is {actual}, it says {str(claimed)[:80]!r}; make it again, "
            "or take it from where it came from"
        )
    model = model_of_content(content, label)
    check_model(model, label)
    return model


def digest(content: Mapping[str, Any]) -> str:
    """Digest of a file's content, which must not have one."""
    return "sha256:" + hashlib.sha256(_json(content, sort_keys=True).encode()).hexdigest()


def _json(value: Any, *, sort_keys: bool = False) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=sort_keys)
