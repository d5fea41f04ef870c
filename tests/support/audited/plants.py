"""Changes planted in a tokenizer.json, of the eight kinds that ``pyharness diff`` must name.

A plant says what must be named, and a text of its own on which the library gives other ids: the test of the witness
does not depend on how it was found. ``None`` in place of a plant: the kind does not apply to the file.
"""

from __future__ import annotations

import copy
import json
import random
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyharness.vocabularies.patterns.split_patterns import GPT2_RELEASE

Content = dict[str, Any]
TRIES = 40
FLAGS = {"special": False, "normalized": False, "lstrip": False, "rstrip": False, "single_word": False}


@dataclass(frozen=True)
class Plant:
    """A file before and after a change: what names it, and stages of a witness that shows it."""

    before: Content
    after: Content
    named: str  # the kind of change
    causes: tuple[str, ...]
    name: str = ""  # of the changed thing, where there is one
    effective: bool = True  # whether the library gives other ids on some text


def ids(content: Content, text: str, control: bool = False) -> list[int]:
    """Ids of a text in the home library, read for this alone."""
    return list(library(content, control).encode(text, add_special_tokens=False).ids)


MOST_LOADED = 4
_LOADED: list[tuple[Content, Any]] = []  # the last contents, which must not be changed in place, and their libraries


def library(content: Content, control: bool = False) -> Any:
    """The content in the home library; of a large one that is asked for again, the same object."""
    loaded = next((one for known, one in _LOADED if known is content), None)
    if loaded is None:
        import tokenizers

        loaded = tokenizers.Tokenizer.from_str(json.dumps(content))
        loaded.no_padding()
        loaded.no_truncation()
        _LOADED[:] = [*_LOADED[1 - MOST_LOADED :], (content, loaded)]
    loaded.encode_special_tokens = not control
    return loaded


def kind_of(content: Content) -> str:
    model = content["model"]
    if kind := model.get("type"):
        return str(kind)
    return "BPE" if "merges" in model else "Unigram" if isinstance(model["vocab"], list) else "WordPiece"


def pairs(content: Content) -> list[tuple[str, str]]:
    halves = (merge.split(" ") if isinstance(merge, str) else merge for merge in content["model"]["merges"])
    return [(left, right) for left, right in halves]


def written(content: Content, merges: Sequence[tuple[str, str]]) -> list[Any]:
    as_strings = isinstance(content["model"]["merges"][0], str)
    return [" ".join(merge) if as_strings else list(merge) for merge in merges]


def plain(token: str) -> bool:
    return token.isascii() and token.isalpha() and token.islower()


def spelled(content: Content, token: str) -> str:
    """The text of a plain token in a WordPiece or other model."""
    return token.removeprefix("##").removesuffix("</w>").replace("▁", "")


# ---------------------------------------------------------------------------------------------- kinds


def swapped_merges(content: Content, seed: int) -> Plant | None:
    """Two rules that want the same symbol change places."""
    if kind_of(content) != "BPE":
        return None
    merges, draw = pairs(content), random.Random(seed)
    places = {merge: place for place, merge in enumerate(merges)}
    by_left: dict[str, list[tuple[str, str]]] = {}
    for merge in merges:
        by_left.setdefault(merge[0], []).append(merge)
    suffix = content["model"].get("end_of_word_suffix") or ""
    chosen = [
        (one, two)
        for one in merges[:4000]
        if plain(one[0]) and plain(one[1])
        for two in by_left.get(one[1], ())
        if plain(two[1].removesuffix(suffix)) and two != one and places[one] < 6000 > places[two]
    ]
    before = library(content)
    for one, two in draw.sample(chosen, min(TRIES, len(chosen))):
        after = copy.copy(content)
        swapped = list(merges)
        swapped[places[one]], swapped[places[two]] = two, one
        after["model"] = {**content["model"], "merges": written(content, swapped)}
        try:
            changed = library(after)
        except Exception:  # noqa: S112 -- a rule now comes before one that makes its part
            continue
        text = spelled(content, one[0] + one[1] + two[1])
        if any(before.encode(t).ids != changed.encode(t).ids for t in (text, f" {text}", f"a{text}")):
            return Plant(content, after, "rule moved", ("rules",))
    return None


def moved_ids(content: Content, seed: int) -> Plant | None:
    """Two tokens change ids."""
    model, draw = content["model"], random.Random(seed)
    taken = {token["content"] for token in content["added_tokens"]}
    if kind_of(content) == "Unigram":
        places = [
            n for n, (piece, _) in enumerate(model["vocab"]) if plain(piece.removeprefix("▁")) and piece not in taken
        ]
        one, two = draw.sample(places, 2)
        vocab: Any = list(model["vocab"])
        vocab[one], vocab[two] = vocab[two], vocab[one]
        # The score of the piece moves with it, so only the ids differ.
        return Plant(content, {**content, "model": {**model, "vocab": vocab}}, "id moved", ("id moved",))
    names = [token for token in model["vocab"] if plain(token) and 1 < len(token) < 5 and token not in taken]
    first, second = draw.sample(names, 2)
    vocab = {**model["vocab"], first: model["vocab"][second], second: model["vocab"][first]}
    return Plant(content, {**content, "model": {**model, "vocab": vocab}}, "id moved", ("id moved",), first)


def token_added(content: Content, seed: int) -> Plant | None:
    """A token with its rule, or an added token where these come after the vocabulary."""
    model, draw, kind = content["model"], random.Random(seed), kind_of(content)
    used = {*(model["vocab"].values() if kind != "Unigram" else range(len(model["vocab"])))}
    outside = [token for token in content["added_tokens"] if token["id"] not in used]
    if outside or kind != "BPE":
        if kind == "Unigram" or max(used) + 1 != len(used):
            return None
        new = max([*used, *(token["id"] for token in outside)]) + 1
        token = {"id": new, "content": f"<planted{seed}>", **FLAGS}
        after = {**content, "added_tokens": [*content["added_tokens"], token]}
        return Plant(content, after, "token added", ("added token", "token added"), token["content"])
    before, merges = library(content), pairs(content)
    names = [token for token in model["vocab"] if plain(token) and 1 < len(token) < 6]
    for _ in range(TRIES * 5):
        left, right = draw.choice(names), draw.choice(names)
        whole = left + right
        if whole in model["vocab"] or before.encode(whole).tokens != [left, right]:
            continue
        vocab = {**model["vocab"], whole: max(used) + 1}
        after = {**content, "model": {**model, "vocab": vocab, "merges": written(content, [*merges, (left, right)])}}
        return Plant(content, after, "token added", ("token added",), whole)
    return None


def token_gone(content: Content, seed: int) -> Plant | None:
    """A token that no rule needs goes with its rule; where ids would shift, the last added token goes."""
    model, draw, kind = content["model"], random.Random(seed), kind_of(content)
    if kind == "Unigram":
        return None
    used = set(model["vocab"].values())
    outside = [token for token in content["added_tokens"] if token["id"] not in used]
    if outside:
        last = max(outside, key=lambda token: token["id"])
        after = {**content, "added_tokens": [token for token in content["added_tokens"] if token is not last]}
        return Plant(content, after, "token gone", ("added token", "token gone"), last["content"])
    taken = {token["content"] for token in content["added_tokens"]}
    if kind == "WordPiece":
        names = [token for token in model["vocab"] if plain(token) and len(token) > 3 and token not in taken]
        gone = draw.choice(names)
        vocab = {token: number for token, number in model["vocab"].items() if token != gone}
        return Plant(content, {**content, "model": {**model, "vocab": vocab}}, "token gone", ("token gone",), gone)
    merges = pairs(content)
    parts = {part for merge in merges for part in merge}
    whole = [(one, two) for one, two in merges if plain(one + two) and one + two not in parts | taken]
    before = library(content)
    for left, right in draw.sample(whole, min(TRIES, len(whole))):
        gone = left + right
        if before.encode(gone).tokens != [gone] or sum(one + two == gone for one, two in merges) > 1:
            continue
        vocab = {token: number for token, number in model["vocab"].items() if token != gone}
        kept = [merge for merge in merges if "".join(merge) != gone]
        after = {**content, "model": {**model, "vocab": vocab, "merges": written(content, kept)}}
        return Plant(content, after, "token gone", ("token gone",), gone)
    return None


def _with_regex(content: Content) -> Content:
    """The same file with GPT-2's pattern written out, if a ByteLevel step has it."""
    stage = content["pre_tokenizer"]
    if not stage or stage["type"] != "ByteLevel" or stage.get("use_regex", True) is False:
        return content
    steps = [split(GPT2_RELEASE), {**stage, "use_regex": False}]
    return {**content, "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps}}


def split(expression: str) -> Content:
    return {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False}


EDITS = ((r"\p{N}{1,3}", r"\p{N}{1,2}"), (r"\p{N}{1,3}", r"\p{N}{1,4}"), (r" ?\p{N}+", r" ?\p{N}{1,2}"),
         (r"[\p{N}]", r"[\p{N}]{1,2}"), (r"\p{N}", r"\p{N}{1,2}"), (r"'ll", r"'lz"), (r"|\s+(?!\S)", ""), (r"'re|", ""),
         (r"\s*[\r\n]+|", ""), (r" ?\p{L}+", r" ?\p{L}{1,9}"))  # fmt: skip


def changed_pattern(content: Content, seed: int) -> Plant | None:
    """One alternative of a split pattern changes; without one, a step is added that cuts digits apart."""
    before = _with_regex(content)
    text = json.dumps(before["pre_tokenizer"])
    edits = [(json.dumps(old)[1:-1], json.dumps(new)[1:-1]) for old, new in EDITS]
    edits = [(old, new) for old, new in edits if old in text]
    probes = ["12345", "a12", "1a", "a  b", "we'll", "you're", "a \n\n b", "abcdefghijklmnop", "a1 23"]
    changed = [json.loads(text.replace(old, new, 1)) for old, new in edits]
    if not changed:
        digits = {"type": "Digits", "individual_digits": True}
        stage = before["pre_tokenizer"]
        changed = [{"type": "Sequence", "pretokenizers": [*([stage] if stage else []), digits]}]
    afters = [{**before, "pre_tokenizer": stage} for stage in changed]
    random.Random(seed).shuffle(afters)
    loaded = library(before)
    for after in afters:
        other = library(after)
        if any(loaded.encode(probe).ids != other.encode(probe).ids for probe in probes):
            return Plant(before, after, "split pattern", ("split pattern",))
    return None


def nfc(content: Content, seed: int) -> Plant | None:
    """NFC goes, or comes first."""
    del seed
    stage = content["normalizer"]
    steps = [] if not stage else stage["normalizers"] if stage["type"] == "Sequence" else [stage]
    rest = [step for step in steps if step["type"] != "NFC"]
    kept = rest if len(rest) < len(steps) else [{"type": "NFC"}, *steps]
    after = {**content, "normalizer": {"type": "Sequence", "normalizers": kept} if kept else None}
    texts = [unicodedata.normalize("NFD", chr(code)) for code in (*range(0xC0, 0x250), 0x1E69, 0xAC01, 0x439)]
    one, two = library(content), library(after)
    differs = any(one.encode(text, add_special_tokens=False).ids != two.encode(text, add_special_tokens=False).ids
                  for text in texts)  # fmt: skip
    return Plant(content, after, "normaliser", ("normaliser",), effective=differs)


def _flipped(content: Content, seed: int, flag: str) -> Plant | None:
    unknown = content["model"].get("unk_token")
    if kind_of(content) == "Unigram" and flag == "special":
        return None  # the library's model finds these strings itself, whatever their flag
    tokens = [token for token in content["added_tokens"] if token["content"] != unknown and token["content"].strip()]
    if not tokens:
        return None
    token = random.Random(seed).choice(tokens)
    flipped = {**token, flag: not token.get(flag, False)}
    added = [flipped if one is token else one for one in content["added_tokens"]]
    after = {**content, "added_tokens": added}
    named = "special flag" if flag == "special" else "added token flags"
    texts = around(token["content"])
    differs = False
    for control in (False, True):
        one, two = library(content, control), library(after, control)
        differs |= any(one.encode(text, add_special_tokens=False).ids != two.encode(text, add_special_tokens=False).ids
                       for text in texts)  # fmt: skip
    return Plant(content, after, named, ("added token",), token["content"], effective=differs)


def around(text: str) -> list[str]:
    forms = [text, unicodedata.normalize("NFD", text), unicodedata.normalize("NFKC", text), text.upper(), text.lower()]
    return [part for form in dict.fromkeys(forms)
            for part in (form, f"a{form}a", f"a {form} a", f"a  {form}  a", f"{form} {form}")]  # fmt: skip


def special_flag(content: Content, seed: int) -> Plant | None:
    """An added token becomes special, or stops being so."""
    return _flipped(content, seed, "special")


def stripping(content: Content, seed: int) -> Plant | None:
    """An added token takes the space next to it, or is matched after the normaliser."""
    return _flipped(content, seed, ("lstrip", "rstrip", "normalized")[seed % 3])


KINDS: dict[str, Callable[[Content, int], Plant | None]] = {
    one.__name__: one
    for one in (swapped_merges, moved_ids, token_added, token_gone, changed_pattern, nfc, special_flag, stripping)
}


# ---------------------------------------------------------------------------------------------- serialisations


def serialisations(content: Content) -> Iterator[str]:
    """Yield the same file written otherwise: order of keys, white space, merges as strings or pairs, escapes."""
    yield json.dumps(content, indent=2, ensure_ascii=False)
    yield json.dumps(content, sort_keys=True, separators=(",", ":"))
    if kind_of(content) != "BPE":
        return
    merges = pairs(content)
    if not any(" " in part for merge in merges for part in merge):
        yield json.dumps({**content, "model": {**content["model"], "merges": [" ".join(merge) for merge in merges]}})
    yield json.dumps({**content, "model": {**content["model"], "merges": [list(merge) for merge in merges]}})
