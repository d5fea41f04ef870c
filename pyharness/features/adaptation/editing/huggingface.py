"""Adds tokens to a tokenizer.json, or removes some: edits the text of the file, so that the rest keeps its bytes.

``model.vocab`` and ``model.merges`` change. Where ids have moved, so do the ids in other sections; where an id is
reused, its old added token is removed. Of added tokens that ``model.vocab`` lacks, ``tokenizers`` ignores the written
ids: it numbers them, from the number of entries on. Where that would move one, all are written into ``model.vocab``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pyharness.features.adaptation.editing.json_text import (
    GAP,
    STRING,
    Edit,
    Items,
    Span,
    beginning,
    bytes_of,
    elements,
    last_matches,
    matches,
    members,
    quoted,
    text_of,
)
from pyharness.features.adaptation.id_maps import IdMap, check_absent, check_map, check_new, moved, refuse_removal
from pyharness.types import InputError
from pyharness.vocabularies.files.byte_alphabet import in_letters
from pyharness.vocabularies.huggingface.file import HuggingFaceFile, library_ids, read_file
from pyharness.vocabularies.huggingface.traits import is_byte_level, writes_bytes

_ENTRY = re.compile(f"({STRING})({GAP}:{GAP})(-?[0-9]+)", re.DOTALL)
_MERGE = re.compile(rf"{STRING}|(\[{GAP}){STRING}({GAP},{GAP}){STRING}({GAP}\])", re.DOTALL)


def extend_file(
    data: bytes, tokens: Sequence[tuple[int, bytes]], rules: Sequence[tuple[bytes, bytes]], label: str
) -> bytes:
    """Add tokens and the rules that make them.

    Args:
        data: a tokenizer.json of a BPE model.
        tokens: ids and strings (in the form of ``MergeModel.data``). An added token loses its id to a new one.
        rules: pairs of such strings by rank, after the rules of the file.
        label: name of the file in errors.

    Raises:
        InputError: the file is damaged or no BPE model; a string or rule already exists; a part of a rule is missing;
        an id is taken; a token that the file needs would be removed.
    """
    edited = _EditedFile(data, label)
    check_new(tokens, label)
    strings = {
        string: edited.spelled(string) for string in {*dict(tokens).values(), *(part for r in rules for part in r)}
    }
    vocab = edited.without({token for token, _ in tokens})
    check_absent([strings[string] for _, string in tokens], {**edited.added, **vocab}, label)
    new = {strings[string]: token for token, string in tokens}
    pairs = [(strings[left], strings[right]) for left, right in rules]
    edited.check_rules(pairs, vocab, new)
    return edited.write(vocab | new, pairs)


def prune_file(data: bytes, ids: IdMap, label: str) -> bytes:
    """Remove the tokens that a map leaves out, with every rule that uses or makes one, and renumber the others.

    Raises:
        InputError: the file is damaged or no BPE model; the map is of another file, changes the order of ids, or
        removes an added token or one that the file names.
    """
    edited = _EditedFile(data, label)
    edited.move(ids)
    new = ids.new.tolist()
    return edited.write({token: new[number] for token, number in edited.file.vocab.items() if new[number] >= 0})


@lru_cache(maxsize=1)  # extensions of one file to several sizes are consecutive
def _read(data: bytes, label: str) -> tuple[HuggingFaceFile, str, dict[str, Span], dict[str, Span]]:
    """Parse a file; return it with its text, and the spans of its members and of its model's."""
    file, text = read_file(data, label), text_of(data, label)
    if file.model_type != "BPE":
        raise InputError(f"{label} is a {file.model_type} model, not BPE: it has no merges")
    root = members(text, beginning(text))
    return file, text, root, members(text, root["model"][0])


class _EditedFile:
    """A tokenizer.json and the edits of its text."""

    def __init__(self, data: bytes, label: str) -> None:
        self.file, self.text, self._root, self._model = _read(data, label)
        self.label = label
        self.added = {token.content: token.id for token in self.file.added}
        self._named = [*processor_ids(self.text, self._root, label), *padding_id(self.text, self._root)]
        self._edits: list[Edit] = []

    def spelled(self, string: bytes) -> str:
        """Return a string of the model in the file's spelling."""
        file = self.file
        if file.model.get("continuing_subword_prefix") or file.model.get("end_of_word_suffix"):
            raise InputError(f"{self.label}: symbols carry a prefix or a suffix; such a model cannot be extended")
        if is_byte_level(file) and not writes_bytes(file.content.get("normalizer")):
            return in_letters(string)
        try:
            return string.decode()
        except UnicodeDecodeError:
            raise InputError(f"{self.label}: the new token {string!r} is not UTF-8, and the model's are") from None

    def without(self, reused: set[int]) -> dict[str, int]:
        """Return the vocabulary without the added tokens of these ids; also remove these from the added tokens."""
        vocab = dict(self.file.vocab)
        gone = {content for content, token in self.added.items() if token in reused}
        if taken := [token for token, number in vocab.items() if number in reused and token not in gone]:
            raise InputError(f"{self.label}: id {vocab[taken[0]]} belongs to {taken[0]!r}, which is not an added token")
        if gone:
            self._check_unneeded(gone)
            items = self._added_items()
            kept = (
                None if token.content in gone else item
                for token, item in zip(self.file.added, items.texts(), strict=True)
            )
            self._edits.append(items.edited(kept))
        self.added = {content: token for content, token in self.added.items() if content not in gone}
        return {token: number for token, number in vocab.items() if token not in gone}

    def _check_unneeded(self, gone: set[str]) -> None:
        for name in self._named:
            if name.token in gone or name.id in {self.added[content] for content in gone}:
                refuse_removal(name.id, name.what, self.label)
        joins = self._joins()
        if needed := gone & {self.file.model.get("unk_token"), *(part for join in joins for part in join)}:
            raise InputError(f"{self.label}: the model needs {min(needed)!r}; its id cannot be used again")

    def _joins(self) -> list[tuple[str, str, str]]:
        prefix = len(self.file.model.get("continuing_subword_prefix") or "")
        return [(left, right, left + right[prefix:]) for left, right in self.file.merges]

    def check_rules(self, pairs: Sequence[tuple[str, str]], *vocabs: Mapping[str, int]) -> None:
        """Refuse rules that already exist, and those that take or make a token which is in none of the vocabularies.

        Raises:
            InputError: there is such a rule.
        """
        makes_old = any(left + right in self.file.vocab for left, right in pairs)
        seen = set(self.file.merges) if makes_old else set()  # rules of the file make only tokens of the file
        for left, right in pairs:
            if (left, right) in seen:
                raise InputError(f"{self.label}: the rule {left!r} + {right!r} is there already, or comes twice")
            for token in (left, right, left + right):
                if not any(token in vocab for vocab in vocabs):
                    raise InputError(f"{self.label}: the rule {left!r} + {right!r} needs the missing token {token!r}")
            seen.add((left, right))

    def move(self, ids: IdMap) -> None:
        """Renumber every id outside of the vocabulary."""
        check_map(ids, {number: token for token, number in (*self.file.vocab.items(), *self.added.items())}, self.label)
        for content, token in self.added.items():
            self.added[content] = moved(ids, token, f"the added token {content!r}", self.label)
        unknown = self.file.model.get("unk_token")
        if isinstance(unknown, str) and unknown in self.file.vocab:
            moved(ids, self.file.vocab[unknown], f"the unknown token {unknown!r}", self.label)
        for (start, _), number in zip(
            self._added_items().spans if self.added else (), self.added.values(), strict=True
        ):
            self._edits.append((members(self.text, start)["id"], str(number)))
        self._edits += [(name.span, str(moved(ids, name.id, name.what, self.label))) for name in self._named]

    def _added_items(self) -> Items:
        return elements(self.text, self._root["added_tokens"][0])

    def write(self, vocab: Mapping[str, int], new_rules: Iterable[tuple[str, str]] = ()) -> bytes:
        """Return the file's bytes with another vocabulary and new rules, without rules of missing tokens."""
        vocab = vocab if vocab == self.file.vocab else self._number(vocab)
        fresh = {token: number for token, number in vocab.items() if token not in self.file.vocab}
        if self.file.merges and all(vocab.get(token) == number for token, number in self.file.vocab.items()):
            return self._append(fresh, new_rules)
        entries, spelled = matches(_ENTRY, self.text, self._model["vocab"], len(self.file.vocab))
        texts = (
            None
            if token not in vocab
            else match[0]
            if vocab[token] == number
            else f"{match[1]}{match[2]}{vocab[token]}"
            for (token, number), match in zip(self.file.vocab.items(), spelled, strict=True)
        )
        new = self._entries(fresh, spelled[-1])
        merges, written = matches(_MERGE, self.text, self._model["merges"], len(self.file.merges))
        gone = self.file.vocab.keys() - vocab.keys()
        rules = (
            None if gone and not gone.isdisjoint(join) else text
            for text, join in zip(merges.texts(), self._joins(), strict=True)
        )
        added = self._rules(new_rules, written[-1] if written else None)
        return bytes_of(self.text, [*self._edits, entries.edited(texts, new), merges.edited(rules, added, entries)])

    def _append(self, vocab: Mapping[str, int], new_rules: Iterable[tuple[str, str]]) -> bytes:
        """Return the file's bytes with appended tokens and rules; the old ones are scanned only in unusual layouts."""
        entries, spelled = last_matches(_ENTRY, self.text, self._model["vocab"], len(self.file.vocab))
        merges, written = last_matches(_MERGE, self.text, self._model["merges"], len(self.file.merges))
        new, added = self._entries(vocab, spelled[-1]), self._rules(new_rules, written[-1])
        return bytes_of(self.text, [*self._edits, entries.extended(new), merges.extended(added)])

    def _entries(self, vocab: Mapping[str, int], last: re.Match[str]) -> list[str]:
        ascii_only = self.text.isascii()
        return [f"{quoted(token, ascii_only=ascii_only)}{last[2]}{number}" for token, number in vocab.items()]

    def _rules(self, rules: Iterable[tuple[str, str]], last: re.Match[str] | None) -> list[str]:
        """Write rules in the format of the file's last."""
        ascii_only = self.text.isascii()

        def written(left: str, right: str) -> str:
            if last is None or last[1] is None:
                if " " in left + right:
                    raise InputError(
                        f"{self.label} writes rules with a space in the middle: {left!r} + {right!r} has another"
                    )
                return quoted(f"{left} {right}", ascii_only=ascii_only)
            first, second = quoted(left, ascii_only=ascii_only), quoted(right, ascii_only=ascii_only)
            return f"{last[1]}{first}{last[2]}{second}{last[3]}"

        return [written(left, right) for left, right in rules]

    def _number(self, vocab: Mapping[str, int]) -> dict[str, int]:
        """Return a vocabulary from which ``tokenizers`` gives every added token its present id."""
        if list(library_ids(vocab, self.added)) == list(self.added.values()):
            return dict(vocab)
        return {**vocab, **self.added}


@dataclass(frozen=True, slots=True)
class NamedId:
    """An id in the file, the place of its digits, and the token that the file gives for it."""

    id: int
    span: Span
    token: str | None
    what: str  # names the id, in messages


def processor_ids(text: str, root: Mapping[str, Span], label: str) -> Iterator[NamedId]:
    """Yield the ids that the post-processor adds around a text.

    Raises:
        InputError: an expected id is missing.
    """
    start, end = root.get("post_processor", (0, 0))
    if text[start:end] in ("", "null"):
        return
    try:
        yield from _of_processor(text, start)
    except (KeyError, ValueError, IndexError, TypeError):
        raise InputError(f"{label}: the post-processor has no ids where it should: {text[start:end][:60]!r}") from None


def padding_id(text: str, root: Mapping[str, Span]) -> Iterator[NamedId]:
    """Yield the id of padding."""
    start, _ = root.get("padding", (0, 0))
    if text[start : start + 1] != "{":
        return
    inner = members(text, start)
    if "pad_id" in inner and type(number := _value(text, inner["pad_id"])) is int:
        token = _value(text, inner["pad_token"]) if "pad_token" in inner else None
        yield NamedId(number, inner["pad_id"], token, "the padding")


def _of_processor(text: str, start: int) -> Iterator[NamedId]:
    inner = members(text, start)
    kind = _value(text, inner["type"])
    if kind == "Sequence":
        for processor, _ in elements(text, inner["processors"][0]).spans:
            yield from _of_processor(text, processor)
    elif kind == "TemplateProcessing":
        for content, (token, _) in members(text, inner["special_tokens"][0]).items():
            for span in elements(text, members(text, token)["ids"][0]).spans:
                yield NamedId(int(_value(text, span)), span, content, f"{content!r} of the post-processor")
    elif kind in ("BertProcessing", "RobertaProcessing"):
        for key in ("sep", "cls"):
            name, number = elements(text, inner[key][0]).spans
            token = _value(text, name)
            yield NamedId(int(_value(text, number)), number, token, f"{key!r} of the post-processor")


def _value(text: str, span: Span) -> Any:
    return json.loads(text[slice(*span)])
