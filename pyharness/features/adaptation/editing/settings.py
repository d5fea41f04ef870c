"""Settings files next to a tokenizer file, copied with new ids; and programs that know the file by its digest."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyharness.features.adaptation.editing.json_text import (
    STRING,
    Edit,
    beginning,
    bytes_of,
    elements,
    keyed_items,
    text_of,
)
from pyharness.features.adaptation.id_maps import IdMap, id_of_key, moved
from pyharness.types import InputError
from pyharness.vocabularies.encodings import KNOWN_FILES
from pyharness.vocabularies.files import vocabulary_file
from pyharness.vocabularies.files.json_file import parse_json

SETTINGS = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "chat_template.json",
            "chat_template.jinja", "generation_config.json")  # fmt: skip
# Keys of settings whose values are ids: numbers, lists of numbers, or objects that map names to ids. Only the objects
# of Whisper and SeamlessM4T count: label_to_id numbers classes, and vocoder_lang_code_to_id has another vocabulary.
_NAMES_IDS = re.compile(
    r"\w+_token_ids?|\w+_token_index|(begin_)?suppress_tokens|(bad|force)_words_ids|(lang|task)_to_id"
    r"|text_decoder_lang_to_code_id"
)
_AMBIGUOUS = ("forced_decoder_ids", "sequence_bias")  # ids mixed with other numbers
_KEY = re.compile(STRING)
_ADDED = "added_tokens.json"  # an object of ids by content
_TEMPLATES = ("chat_template", "template")  # a single template, or one of several named ones
_LISTS = ("additional_special_tokens", "extra_special_tokens")
_VOCABULARIES = ("tokenizer.json", "tokenizer.model*", "tekken.json", "*.tiktoken", "vocab.json", "merges.txt",
                 "vocab.txt")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Settings:
    """Files to write next to an edited one, by name, and the names of files that describe the old one."""

    files: Mapping[str, bytes]
    left_out: tuple[str, ...]


def read_settings(file: Path, ids: IdMap, new: Collection[int], gone: Collection[str] = ()) -> Settings:
    """Read the settings next to a tokenizer file, with the ids of the edited file.

    Only ids change, and removed tokens (-1) leave the lists that contain them.

    Args:
        file: the original file.
        ids: its new ids.
        new: ids of new tokens.
        gone: contents of removed added tokens; the settings may name others.

    Raises:
        InputError: a file is damaged, needs a removed token, names a new id as another token's, or has ids that cannot
            be mapped: mixed with other numbers, or not in the tokenizer file.
    """
    files = {name: path.read_bytes() for name in SETTINGS if (path := file.parent / name).is_file()}
    # A model has one file of ranks: another next to it is another tokenizer's.
    names = [name for name in _VOCABULARIES if name != f"*{file.suffix}"]
    left_out = {path.name for name in names for path in file.parent.glob(name) if path.name != file.name}
    return Settings(edited_settings(files, ids, new, gone), tuple(sorted(left_out)))


def edited_settings(
    files: Mapping[str, bytes],
    ids: IdMap,
    new: Collection[int],
    gone: Collection[str] = (),
    *,
    others: Collection[str] = (),
) -> dict[str, bytes]:
    """Return files by name with new ids, as :func:`read_settings`, without empty ones.

    ``others``: keys of objects with ids of other vocabularies, which stay.

    Raises:
        InputError: as :func:`read_settings`.
    """
    without = _gone(files, ids).union(gone)
    return {
        name: _edit(data, name, _Moves(ids, frozenset(new), without, frozenset(others)))
        for name, data in files.items() if data
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Moves:
    """New ids and removals of the tokens that settings may name."""

    ids: IdMap
    new: frozenset[int]
    gone: frozenset[str]
    others: frozenset[str]

    @property
    def any(self) -> bool:
        """Whether a token has moved or is removed."""
        return not (self.ids.new == range(len(self.ids))).all()

    @property
    def shift(self) -> bool:
        """Whether a token has moved."""
        new = self.ids.new
        return bool(((new >= 0) & (new != range(len(new)))).any())


def _gone(files: Mapping[str, bytes], ids: IdMap) -> frozenset[str]:
    """Return the contents of removed added tokens, as far as the settings have them."""
    tokens: dict[str, Any] = {}
    if data := files.get("tokenizer_config.json"):
        listed = parse_json(data, "tokenizer_config.json").get("added_tokens_decoder")
        tokens |= listed if isinstance(listed, dict) else {}
    contents = {key: token.get("content") for key, token in tokens.items() if isinstance(token, dict)}
    if data := files.get(_ADDED):
        contents |= {str(number): content for content, number in parse_json(data, _ADDED).items()}
    return frozenset(content for key, content in contents.items() if isinstance(content, str) and _is_gone(key, ids))


def _is_gone(key: str, ids: IdMap) -> bool:
    token = id_of_key(key)
    return token is not None and token < len(ids) and bool(ids.new[token] < 0)


def _edit(data: bytes, name: str, moves: _Moves) -> bytes:
    if name.endswith(".jinja"):
        _check_template(data.decode(errors="replace"), name, moves.gone)
        return data
    parse_json(data, name)
    text = text_of(data, name)
    edits = _Edits(text, name, moves)
    try:
        outer = beginning(text)
        edited = bytes_of(text, (edits.of_added(outer),) if name == _ADDED else edits.of_object(outer))
    except RecursionError:
        raise InputError(f"{name} is nested too deeply to be edited") from None
    parse_json(edited, f"{name}, edited")
    return edited


def _check_template(text: str, name: str, gone: Collection[str]) -> None:
    if named := [content for content in gone if content in text]:
        raise InputError(f"{name}: the chat template needs {min(named)!r}, which would be gone; keep that token")


@dataclass(frozen=True, slots=True)
class _Edits:
    """Edits of one JSON file."""

    text: str
    name: str
    moves: _Moves

    def of_object(self, start: int) -> Iterator[Edit]:
        """Yield the edits of an object and all its members."""
        items, values = keyed_items(self.text, start)
        for (key, value), (_, end) in zip(values, items.spans, strict=True):
            yield from self._of_member(key, value, end)

    def of_added(self, start: int) -> Edit:
        """Return the edit of an object with tokens as keys and ids as values."""
        items, values = keyed_items(self.text, start)
        texts: list[str | None] = []
        for (content, value), (first, end) in zip(values, items.spans, strict=True):
            number = json.loads(self.text[value:end])
            if content in self.moves.gone or type(number) is not int:
                texts.append(None if content in self.moves.gone else self.text[first:end])
                continue
            self._check_free(number, content, of_token=True)
            texts.append(f"{self.text[first:value]}{moved(self.moves.ids, number, content, self.name)}")
        return items.edited(texts)

    def _of_member(self, key: str, value: int, end: int) -> Iterator[Edit]:
        opening = self.text[value]
        if key == "added_tokens_decoder" and opening == "{":
            yield self._of_tokens(value)
        elif _NAMES_IDS.fullmatch(key):
            yield from self._of_ids(key, value, end)
        elif key in _LISTS and opening == "[":
            yield self._of_list(value)
        elif opening == "{":
            yield from () if key in self.moves.others else self.of_object(value)
        elif key in _AMBIGUOUS and opening == "[" and elements(self.text, value).spans and self.moves.any:
            raise InputError(f"{self.name} has {key}, whose ids look like other numbers; remove it first")
        elif opening == "[":
            for start, stop in elements(self.text, value).spans:
                yield from self._of_member(key, start, stop)
        elif opening == '"':
            self._check_text(key, json.loads(self.text[value:end]))

    def _check_text(self, key: str, content: str) -> None:
        if key in _TEMPLATES:
            _check_template(content, self.name, self.moves.gone)
        elif content in self.moves.gone and (key.endswith("_token") or key == "content"):
            raise InputError(f"{self.name}: {key} is {content!r}, which would be gone; keep that token")

    def _of_tokens(self, start: int) -> Edit:
        """Return the edit of an object with ids as keys."""
        items, values = keyed_items(self.text, start)
        texts: list[str | None] = []
        for (key, _), item in zip(values, items.texts(), strict=True):
            number = id_of_key(key)
            if number is None:
                raise InputError(f"{self.name} has the key {key[:20]!r} in added_tokens_decoder, which is not an id")
            if _is_gone(key, self.moves.ids) or item is None:
                texts.append(None)
                continue
            self._check_free(number, "added_tokens_decoder", of_token=True)
            now = moved(self.moves.ids, number, key, self.name)
            texts.append(item if now == number else _KEY.sub(f'"{now}"', item, count=1))
        return items.edited(texts)

    def _check_free(self, number: int, key: str, *, of_token: bool = False) -> None:
        if number in self.moves.new and (number >= len(self.moves.ids) or self.moves.ids.new[number] < 0):
            raise InputError(f"{self.name} has id {number} in {key}, which would be a new token's; take it out")
        if of_token and number >= len(self.moves.ids) and self.moves.shift:
            raise InputError(f"{self.name} has id {number} in {key}, which the tokenizer file does not have")

    def _of_ids(self, key: str, value: int, end: int) -> Iterator[Edit]:
        """Yield the edits of ids in a value: a number, or numbers in lists or objects."""
        if self.text[value] == "[":
            for start, stop in elements(self.text, value).spans:
                yield from self._of_ids(key, start, stop)
        elif self.text[value] == "{":
            items, values = keyed_items(self.text, value)
            for (_, start), (_, stop) in zip(values, items.spans, strict=True):
                yield from self._of_ids(key, start, stop)
        elif type(number := json.loads(self.text[value:end])) is int:
            self._check_free(number, key)
            yield (value, end), str(moved(self.moves.ids, number, key, self.name))

    def _of_list(self, start: int) -> Edit:
        """Return the edit of a list of special tokens, as texts or objects."""
        items = elements(self.text, start)
        tokens = [json.loads(self.text[slice(*span)]) for span in items.spans]
        contents = [token.get("content") if isinstance(token, dict) else token for token in tokens]
        leaves = [isinstance(content, str) and content in self.moves.gone for content in contents]
        kept = (None if leaving else item for leaving, item in zip(leaves, items.texts(), strict=True))
        return items.edited(kept)


def known_by_digest(kind: vocabulary_file.Kind, digest: str) -> str | None:
    """Return a note on a program that may fail on an edited file of a kind: it checks digests, or relies on ids.

    None for a kind without one. ``digest``: SHA-256 of the original.

    Source: ``get_vocab_base_pre`` of convert_hf_to_gguf.py; ``expected_hash`` of tiktoken's load.py.
    """
    if kind == "rank_file":
        names = [name for name, file in KNOWN_FILES.items() if file.digest == digest]
        return (
            f"tiktoken checks {names[0] if names else 'its encodings'} by the SHA-256 of the file (expected_hash): "
            "make an Encoding of the new file, with the split pattern and the special tokens, which are not in it"
        )
    if kind == "huggingface":
        return (
            "convert_hf_to_gguf.py (GGUF) knows how a tokenizer splits by a digest of the ids of one text: where it "
            "does not recognise the pre-tokenizer, add the digest that it shows next to the original's"
        )
    if kind == "sentencepiece":
        return (
            "programs that convert a SentencePiece model number their added tokens after its last piece: "
            "those ids change with the number of pieces"
        )
    return None
