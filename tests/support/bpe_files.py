"""Small tokenizer files, one per way in which BPE files differ."""

from __future__ import annotations

from typing import Any

from tokenizer_files import BYTE_LEVEL, byte_level, message, rank_data, sentencepiece_data, sequence, split, tekken


def characters_file(**options: Any) -> dict[str, Any]:
    """A character-level BPE of a few rules; ``options`` go to the model and to the file."""
    pieces = ["<unk>", *"▁helowé", "he", "ll", "▁w", "hell", "hello", "▁▁", "▁he"]
    merges = [["h", "e"], ["l", "l"], ["▁", "w"], ["he", "ll"], ["hell", "o"], ["▁", "▁"], ["▁", "he"]]
    model = {"type": "BPE", "merges": merges, "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": False}
    if options.get("byte_fallback"):
        pieces += [f"<0x{byte:02X}>" for byte in range(256)]
    model |= {key: value for key, value in options.items() if key in (*model, "ignore_merges")}
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    back = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    return {
        "version": "1.0",
        "added_tokens": options.get("added_tokens", []),
        "normalizer": options.get("normalizer", {"type": "Sequence", "normalizers": [replace]}),
        "pre_tokenizer": options.get("pre_tokenizer"),
        "decoder": {"type": "Sequence", "decoders": [back, {"type": "ByteFallback"}, {"type": "Fuse"}]},
        "model": model | {"vocab": {piece: number for number, piece in enumerate(pieces)}},
    }


def words_file(**options: Any) -> dict[str, Any]:
    """Words that end in a mark, and whose later symbols start with one, as in CLIP and in the first BPE."""
    prefix, suffix = options.get("prefix", ""), options.get("suffix", "")
    letters = "helow"
    pieces = ["<unk>", *letters]
    for before, behind in ((prefix, ""), ("", suffix), (prefix, suffix)):
        pieces += [before + letter + behind for letter in letters]
    merges = [["h", f"{prefix}e"], [f"{prefix}l", f"{prefix}l"], [f"{prefix}l", f"{prefix}o{suffix}"]]
    pieces += [left + right[len(prefix) :] for left, right in merges]
    vocab = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    model = {"type": "BPE", "vocab": vocab, "merges": merges, "unk_token": options.get("unknown")}
    model |= {"continuing_subword_prefix": prefix or None, "end_of_word_suffix": suffix or None}
    return {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "decoder": {"type": "BPEDecoder", "suffix": suffix},
        "model": model,
    }


def metaspace(scheme: str, *, split: bool) -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}


def added(*contents: str, **flags: bool) -> list[dict[str, Any]]:
    default = dict.fromkeys(("special", "normalized", "lstrip", "rstrip", "single_word"), False)
    return [{"id": 15 + i, "content": content, **default, **flags} for i, content in enumerate(contents)]


def without_decoder(file: dict[str, Any]) -> dict[str, Any]:
    return {**file, "decoder": None}


def some_fallback(**options: Any) -> dict[str, Any]:
    """Most bytes of é and of 中 have a piece to fall back on, and not all."""
    file = characters_file(byte_fallback=True, **options)
    vocab = file["model"]["vocab"]
    for byte in (*range(0x30, 0x60), 0xA9, 0xB8):
        del vocab[f"<0x{byte:02X}>"]
    file["model"]["vocab"] = {piece: number for number, piece in enumerate(vocab)}
    return file


def letters(*before: dict[str, Any], pre_tokenizer: Any = None, **options: Any) -> dict[str, Any]:
    """A byte-level BPE whose normaliser writes the bytes as letters, and whose pre-tokenizer reads them."""
    file = byte_level()
    file["normalizer"] = {"type": "Sequence", "normalizers": [*before, {"type": "ByteLevel"}]}
    file["added_tokens"][1]["content"] = "ow"
    return file | {"pre_tokenizer": pre_tokenizer, "model": file["model"] | options}


def stripped(*steps: dict[str, Any]) -> dict[str, Any]:
    """A mark goes where the text starts, unless the normaliser took the start away."""
    return characters_file(
        normalizer={"type": "Sequence", "normalizers": list(steps)},
        pre_tokenizer=metaspace("first", split=False),
        added_tokens=added("ow", normalized=True),
    )


def unused(*pieces: str, byte_fallback: bool = False) -> bytes:
    """A SentencePiece model some of whose pieces are of the type UNUSED, a field that comes last in each."""
    data = sentencepiece_data(2, byte_fallback=byte_fallback)
    for piece in pieces:
        start = message(1, piece.encode()) + b"\x15"
        at = data.index(start) + len(start) + 5
        assert data[at] == 1
        data = data[:at] + b"\x05" + data[at + 1 :]
    return data


FILES: dict[str, Any] = {
    "byte level": byte_level(),
    "byte level, NFC": byte_level() | {"normalizer": {"type": "NFC"}},
    "byte level, lower case": byte_level() | {"normalizer": {"type": "Lowercase"}},
    "byte level, space before": byte_level()
    | {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}},
    "byte level, twice": byte_level() | {"pre_tokenizer": sequence(BYTE_LEVEL, BYTE_LEVEL)},
    "ranks": rank_data(),
    "tekken": tekken(),
    "sentencepiece": sentencepiece_data(2, byte_fallback=False),
    "sentencepiece, byte fallback": sentencepiece_data(2, byte_fallback=True),
    "characters": characters_file(),
    "characters, no fusing": characters_file(fuse_unk=False),
    "characters, nothing for the unknown": characters_file(unk_token=None),
    "characters, byte fallback": characters_file(byte_fallback=True),
    "characters, whole pieces": characters_file(ignore_merges=True, pre_tokenizer=metaspace("always", split=True)),
    "metaspace, first": characters_file(
        normalizer=None, pre_tokenizer=metaspace("first", split=False), added_tokens=added("ow")
    ),
    "metaspace, split": characters_file(normalizer=None, pre_tokenizer=metaspace("always", split=True)),
    "metaspace, never": characters_file(normalizer=None, pre_tokenizer=metaspace("never", split=True)),
    "prepend": characters_file(
        normalizer={
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            ],
        },
        added_tokens=added("ow"),
    ),
    "characters, some fallback": some_fallback(),
    "characters, some fallback, no fusing": some_fallback(fuse_unk=False),
    "characters, some fallback, nothing for the unknown": some_fallback(unk_token=None),
    "letters": letters(),
    "letters, lower case and NFC": letters({"type": "NFC"}, {"type": "Lowercase"}),
    "letters, split": letters(pre_tokenizer=split("Ġ?[a-z]+|[^a-z]")),
    "letters, whole pieces": letters(pre_tokenizer=split("Ġ?[a-z]+"), ignore_merges=True),
    "letters of letters": letters(pre_tokenizer=BYTE_LEVEL | {"use_regex": True}),
    "metaspace, first, stripped": stripped({"type": "Strip", "strip_left": True, "strip_right": True}),
    "metaspace, first, no accents": stripped({"type": "NFD"}, {"type": "StripAccents"}),
    "metaspace, first, replaced": stripped({"type": "Replace", "pattern": {"Regex": "^[ h]+"}, "content": ""}),
    "metaspace, first, something before": stripped({"type": "Prepend", "prepend": "w"}),
    "metaspace, first, of several": stripped({"type": "Strip", "strip_left": True, "strip_right": False})
    | {"pre_tokenizer": sequence(split("e"), metaspace("first", split=True))},
    "sentencepiece, unused pieces": unused("he", "▁", "hell"),
    "sentencepiece, unused pieces, byte fallback": unused("ll", "h", "▁w", byte_fallback=True),
    "words with a suffix": words_file(suffix="</w>", unknown="<unk>"),
    "words with a prefix": words_file(prefix="##"),
    "words with both": words_file(prefix="##", suffix="</w>", unknown="<unk>"),
    "no decoder, byte level": without_decoder(byte_level()),
    "no decoder, byte level, split by the library": without_decoder(
        byte_level() | {"pre_tokenizer": sequence({"type": "Digits", "individual_digits": True}, BYTE_LEVEL)}
    ),
    "no decoder, characters": without_decoder(characters_file(added_tokens=added("ow", special=True))),
    "no decoder, byte fallback": without_decoder(characters_file(byte_fallback=True)),
    "no decoder, words with both": without_decoder(words_file(prefix="##", suffix="</w>", unknown="<unk>")),
    "byte fallback alone": characters_file(byte_fallback=True) | {"decoder": {"type": "ByteFallback"}},
    "a decoder of no steps": characters_file() | {"decoder": {"type": "Sequence", "decoders": []}},
}
