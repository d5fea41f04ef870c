"""Importers of tokenizer files under atheris: a file gives a model that works, or an InputError, and nothing else.

``python fuzz_importers.py KIND [libFuzzer options] CORPUS``; ``--kinds`` lists the kinds, ``--seeds KIND FOLDER``
writes the files to start from.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

import atheris

sys.path[:0] = [str(Path(__file__).parents[1] / "support"), str(Path(__file__).parent)]

from pyharness.vocabularies.files import vocabulary_file  # noqa: E402

# An id of 2^24 is allowed and makes arrays of that length: a second for every such input.
vocabulary_file.BIGGEST_ID = 1 << 14

from mutators import Mutation, json_mutation, line_mutation, message_mutation, model_file_mutation, mutator  # noqa: E402

import bpe_models  # noqa: E402
import tokenizer_files  # noqa: E402
from pyharness.bpe.encoding.tokenizer import BpeTokenizer  # noqa: E402
from pyharness.bpe.formats.imports import import_model  # noqa: E402
from pyharness.bpe.formats.own_file import load_bytes, save_bytes  # noqa: E402
from pyharness.features.curriculum import model as curriculum_model  # noqa: E402
from pyharness.features.curriculum.model import CurriculumModel  # noqa: E402
from pyharness.features.curriculum.tokenizer import CurriculumTokenizer  # noqa: E402
from pyharness.features.paper_trainers import event_model  # noqa: E402
from pyharness.features.paper_trainers.event_model import BYTES, NEVER, PICKY, Event, EventModel  # noqa: E402
from pyharness.features.paper_trainers.event_tokenizer import EventTokenizer  # noqa: E402
from pyharness.types import InputError  # noqa: E402
from pyharness.vocabularies import minbpe_file, sentencepiece_file  # noqa: E402
from pyharness.vocabularies.huggingface import traits as huggingface_traits  # noqa: E402
from pyharness.vocabularies.huggingface import vocabulary as huggingface_vocabulary  # noqa: E402
from pyharness.vocabularies.huggingface.file import read_file  # noqa: E402

TEXTS = ["Hello world, it's 12\n\n  <|endoftext|>   he", "e\u0301 ▁中\x00\U0001f1ea\u0130", " ", ""]


@dataclass(frozen=True)
class Kind:
    run: Callable[[bytes], None]
    seeds: Callable[[], Mapping[str, bytes]]
    mutation: Mutation


def use(data: bytes, **known: Any) -> None:
    """Import a file, encode and decode with it, write it as our own file and read that."""
    model = import_model(data, label="input", **known)
    tokenizer = BpeTokenizer(model)
    found = tokenizer.encode_batch(TEXTS)
    assert found.ids.size == 0 or int(found.ids.max()) < model.id_limit
    for index, text in enumerate(TEXTS):
        tokenizer_files.check_round_trip(tokenizer, text, tokenizer.decode(found.document(index)))
    again = BpeTokenizer(load_bytes(save_bytes(model), "our own")).encode_batch(TEXTS, 2)
    assert found.ids.tolist() == again.ids.tolist(), "another model came back from our own file"


def use_own(form: Any, kind: Any, data: bytes) -> None:
    """Read a model of a module, encode and decode with its tokenizer, write its file and read that."""
    model = form.load_bytes(data, "input")
    tokenizer = kind(model)
    found = tokenizer.encode_batch(TEXTS)
    for index, text in enumerate(TEXTS):
        tokenizer_files.check_round_trip(tokenizer, text, tokenizer.decode(found.document(index)))
    again = kind(form.load_bytes(form.save_bytes(model), "our own")).encode_batch(TEXTS, 2)
    assert found.ids.tolist() == again.ids.tolist(), "another model came back from our own file"


def use_tokenizer_json(data: bytes) -> None:
    file = read_file(data, "input")  # models that are not BPE, too
    huggingface_vocabulary.vocabulary(file)
    huggingface_traits.round_trip(file)
    huggingface_traits.notes(file)
    use(data)


def use_sentencepiece(data: bytes) -> None:
    sentencepiece_file.vocabulary(sentencepiece_file.read_model(data, "input"))
    use(data)


# ------------------------------------------------------------------------------------------ files to start from


def tokenizer_jsons() -> dict[str, bytes]:
    byte_level = tokenizer_files.byte_level()
    normalised = byte_level | {
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]}
    }
    split = {"type": "Split", "pattern": {"Regex": r"\p{N}{1,3}"}, "behavior": "Isolated", "invert": False}
    steps = {"type": "Sequence", "pretokenizers": [split, byte_level["pre_tokenizer"]]}
    affixes = {"continuing_subword_prefix": "@", "end_of_word_suffix": "$"}
    found = {
        "byte_level": byte_level,
        "normalised": normalised,
        "split": byte_level | {"pre_tokenizer": steps},
        "affixes": byte_level | {"model": byte_level["model"] | affixes | {"merges": []}},
        "characters": characters(),
    }
    return {name: json.dumps(content).encode() for name, content in found.items()}


def characters() -> dict[str, Any]:
    """A tokenizer.json as those of converted SentencePiece models are."""
    vocab = {"<unk>": 0, **{f"<0x{byte:02X}>": byte + 1 for byte in range(256)}}
    for token in ("▁", *"helow", "he", "ll", "▁w", "llo"):
        vocab[token] = len(vocab)
    merges = [["h", "e"], ["l", "l"], ["▁", "w"], ["ll", "o"]]
    model = {"type": "BPE", "vocab": vocab, "merges": merges, "unk_token": "<unk>", "fuse_unk": True}
    space = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    back = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    return {
        "added_tokens": [{"id": 0, "content": "<unk>", "special": True, "normalized": False}],
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, space]},
        "pre_tokenizer": None,
        "decoder": {"type": "Sequence", "decoders": [back, {"type": "ByteFallback"}, {"type": "Fuse"}, strip]},
        "model": model | {"byte_fallback": True},
    }


def sentencepiece_models() -> dict[str, bytes]:
    return {
        f"type_{kind}_{fallback}": tokenizer_files.sentencepiece_data(kind, byte_fallback=fallback)
        for kind in (1, 2)
        for fallback in (False, True)
    }


def own_files() -> dict[str, bytes]:
    models = {
        "bpe": bpe_models.trained_model("gpt2"),
        "scaffold": bpe_models.trained_model("gpt2", scaffold=True),
        "characters": bpe_models.character_model(),
        "sentencepiece": import_model(tokenizer_files.sentencepiece_data(2, byte_fallback=True)),
        "ranks": import_model(tokenizer_files.rank_data(), pattern="gpt2"),
        "fallback": import_model(json.dumps(characters()).encode()),
    }
    return {name: save_bytes(model) for name, model in models.items()}


def event_files() -> dict[str, bytes]:
    he, hel = 256, 257
    events = Event((104, 101), (he,)), Event((he, 108), (hel,)), Event((he,), (104, 101))
    model = EventModel(
        algorithm=PICKY, strings=(*BYTES, b"he", b"hel"), ids=(*range(256), NEVER, 256), events=events, splitter="gpt2",
        special={"<|endoftext|>": 257},
    )  # fmt: skip
    return {"picky": event_model.save_bytes(model)}


def curriculum_files() -> dict[str, bytes]:
    alphabet = tuple(bytes([byte]) for byte in range(256))
    grown = CurriculumModel(strings=(*alphabet, b"he", b"hel", b"lo"), sizes=(256, 258, 259), special=("<s>",))
    letters = CurriculumModel(
        strings=(b"h", b"e", "中".encode(), b"he"), symbols="characters", sizes=(3, 4), unknown="<unk>"
    )
    return {"bytes": curriculum_model.save_bytes(grown), "characters": curriculum_model.save_bytes(letters)}


KINDS: Mapping[str, Kind] = {
    "tokenizer_json": Kind(use_tokenizer_json, tokenizer_jsons, json_mutation),
    "rank_file": Kind(
        lambda data: use(data, pattern="gpt2"), lambda: {"ranks": tokenizer_files.rank_data()}, line_mutation
    ),
    "tekken": Kind(use, lambda: {"tekken": json.dumps(tokenizer_files.tekken()).encode()}, json_mutation),
    "sentencepiece": Kind(use_sentencepiece, sentencepiece_models, message_mutation),
    "minbpe": Kind(
        use,
        lambda: {"minbpe": minbpe_file.write_minbpe(r"\w+|\W+", {"<s>": 300}, [(104, 101), (256, 108), (257, 257)])},
        line_mutation,
    ),
    "model_file": Kind(use, own_files, model_file_mutation),
    "curriculum": Kind(partial(use_own, curriculum_model, CurriculumTokenizer), curriculum_files, model_file_mutation),
    "events": Kind(partial(use_own, event_model, EventTokenizer), event_files, model_file_mutation),
}


def instrument() -> None:
    """Count what runs in the package; not by its imports, as editable installs have a loader of their own."""
    seen = set()
    for function in gc.get_objects():
        ours = isinstance(function, FunctionType) and (function.__module__ or "").startswith("pyharness.")
        if ours and function.__code__ not in seen:
            seen.add(atheris.instrument_func(function).__code__)


def main() -> None:
    if sys.argv[1] == "--kinds":
        sys.stdout.write(" ".join(KINDS))
        return
    if sys.argv[1] == "--seeds":
        for name, data in KINDS[sys.argv[2]].seeds().items():
            (Path(sys.argv[3]) / name).write_bytes(data)
        return
    kind = KINDS[sys.argv.pop(1)]
    instrument()

    def run(data: bytes) -> None:
        try:
            kind.run(data)
        except InputError:
            return

    atheris.Setup(sys.argv, run, custom_mutator=mutator(kind.mutation))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
