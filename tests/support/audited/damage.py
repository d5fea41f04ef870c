"""Faults planted in a model folder, each with the check and the fault that must name it.

A folder is a mapping of file names to JSON values; a file that is no JSON is a string or bytes.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audited.plants import kind_of, library, pairs, plain, split

Files = dict[str, Any]
TOKENIZER, CONFIG, SPECIALS = "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"
GENERATION, MODEL, TEMPLATE, VOCAB = "generation_config.json", "config.json", "chat_template.jinja", "vocab.json"
GOOD_TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)


@dataclass(frozen=True)
class Damage:
    """A damaged folder, and what names it."""

    files: Files
    check: str
    fault: str


def folder_of(content: Mapping[str, Any]) -> Files:
    """A model folder around a tokenizer.json whose files agree."""
    model, added = content["model"], content["added_tokens"]
    vocab = (
        model["vocab"] if isinstance(model["vocab"], dict) else {one: n for n, (one, _) in enumerate(model["vocab"])}
    )
    special = [token for token in added if token["special"]]
    bos, eos = special[0], special[-1]
    names = {"bos_token": bos["content"], "eos_token": eos["content"]}
    size = max([*vocab.values(), *(token["id"] for token in added)]) + 1
    decoder = {str(token["id"]): {k: v for k, v in token.items() if k != "id"} for token in added}
    ids = {"bos_token_id": bos["id"], "eos_token_id": [eos["id"]]}
    return {
        TOKENIZER: copy.deepcopy(dict(content)), CONFIG: {**names, "added_tokens_decoder": decoder}, SPECIALS: names,
        GENERATION: ids, MODEL: {"vocab_size": size, **ids, "eos_token_id": eos["id"]}, TEMPLATE: GOOD_TEMPLATE,
        VOCAB: vocab,
    }  # fmt: skip


def write_folder(files: Files, folder: Path) -> Path:
    """Write a folder, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        text = content if isinstance(content, (str, bytes)) else json.dumps(content)
        (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


def _with_template(text: str, fault: str) -> Callable[[Files], Damage | None]:
    return lambda files: Damage({**files, TEMPLATE: text}, "template", fault)


def _of_model(files: Files, **changes: Any) -> Files:
    content = files[TOKENIZER]
    rest = {name: one for name, one in files.items() if name != VOCAB}
    return {**rest, TOKENIZER: {**content, "model": {**content["model"], **changes}}}


def _is_bpe(files: Files) -> bool:
    return kind_of(files[TOKENIZER]) == "BPE"


def missing_merge(files: Files) -> Damage | None:
    """A token loses the only rule that makes it."""
    if not _is_bpe(files):
        return None
    content, merges = files[TOKENIZER], pairs(files[TOKENIZER])
    before = library(content)
    for place in range(len(merges) - 1, -1, -1):
        left, right = merges[place]
        if sum("".join(merge) == left + right for merge in merges) == 1 and before.encode(left + right).tokens[0]:
            kept = [merge for number, merge in enumerate(merges) if number != place]
            return Damage(_of_model(files, merges=[" ".join(one) for one in kept]), "reachable", "dead token")
    return None


def _two_names(content: Mapping[str, Any]) -> tuple[str, str]:
    names = [token for token in content["model"]["vocab"] if plain(token) and 1 < len(token) < 6]
    return names[0], names[-1]


def swapped_ids(files: Files) -> Damage | None:
    """Two tokens change ids; vocab.json, where there is one, changes with them."""
    if not _is_bpe(files):
        return None
    one, other = _two_names(files[TOKENIZER])
    vocab = files[TOKENIZER]["model"]["vocab"]
    vocab = {**vocab, one: vocab[other], other: vocab[one]}
    return Damage(_of_model(files, vocab=vocab), "ids", "id out of order")


def swapped_merges(files: Files) -> Damage | None:
    """A late rule comes among early ones."""
    if not _is_bpe(files):
        return None
    merges = pairs(files[TOKENIZER])
    results = {"".join(merge) for merge in merges}
    parts = {part for merge in merges for part in merge}
    late = next((m for m in reversed(merges) if not {*m} & results and "".join(m) not in parts), None)
    if late is None:
        return None
    order = [late, *(merge for merge in merges if merge != late)]
    return Damage(_of_model(files, merges=[" ".join(one) for one in order]), "ids", "id out of order")


def other_vocab(files: Files) -> Damage | None:
    """``vocab.json`` gives two tokens each other's id."""
    if kind_of(files[TOKENIZER]) == "Unigram":
        return None
    one, other = _two_names(files[TOKENIZER])
    vocab = files[VOCAB]
    return Damage({**files, VOCAB: {**vocab, one: vocab[other], other: vocab[one]}}, "specials",
                  "id differs between files")  # fmt: skip


def _text(files: Files) -> str:
    return json.dumps(files[TOKENIZER])


def _refused(change: Callable[[Files], Any]) -> Callable[[Files], Damage | None]:
    def damage(files: Files) -> Damage | None:
        changed = change(files)
        return None if changed is None else Damage({**files, TOKENIZER: changed}, "file", "file is refused")

    return damage


def _key_twice(files: Files) -> str | None:
    if kind_of(files[TOKENIZER]) == "Unigram":
        return None
    first = json.dumps(next(iter(files[TOKENIZER]["model"]["vocab"])))
    return _text(files).replace('"vocab": {', f'"vocab": {{{first}: 7, ', 1)


def _vocab_with(files: Files, number: Any) -> Any:
    vocab = files[TOKENIZER]["model"]["vocab"]
    if not isinstance(vocab, dict):
        return None
    return _of_model(files, vocab={**vocab, list(vocab)[-1]: number})[TOKENIZER]


def _added_with(files: Files, **changes: Any) -> Files:
    content = files[TOKENIZER]
    tokens = content["added_tokens"]
    place = next(number for number, token in enumerate(tokens) if token["special"])
    changed = [*tokens[:place], {**tokens[place], **changes}, *tokens[place + 1 :]]
    return {**files, TOKENIZER: {**content, "added_tokens": changed}}


def wrong_special_flag(files: Files) -> Damage:
    """A control token is no longer special; the other files say that it is."""
    return Damage(_added_with(files, special=False), "specials", "flag differs between files")


def control_not_special(files: Files) -> Damage | None:
    """The same without other files."""
    from pyharness.features.audit.checks.settings import CONTROL

    alone = {TOKENIZER: _added_with(files, special=False)[TOKENIZER]}
    tokens = alone[TOKENIZER]["added_tokens"]
    changed = [one for one, before in zip(tokens, files[TOKENIZER]["added_tokens"], strict=True) if one != before]
    if changed[0]["content"] not in CONTROL:
        return None
    return Damage(alone, "specials", "control token is not special")


def missing_byte(files: Files) -> Damage | None:
    """The token of a byte that no rule needs has another name."""
    if not _is_bpe(files):
        return None
    content = files[TOKENIZER]
    vocab = content["model"]["vocab"]
    for letter in ("<0xE4>", "\u0121"):  # of the beginning of ideographs, of byte 0x7F
        if letter in vocab and not any(letter in merge for merge in pairs(content)):
            renamed = {"zqzq" if token == letter else token: number for token, number in vocab.items()}
            return Damage(_of_model(files, vocab=renamed), "bytes", "missing byte token")
    return None


def _decoder(stage: Any) -> Callable[[Files], Damage | None]:
    """Another decoder; WordPiece, which decodes well without one, gets one that strips letters in place of none."""

    def damage(files: Files) -> Damage | None:
        stripped = {"type": "Strip", "content": "h", "start": 9, "stop": 9}
        changed = stripped if stage is None and kind_of(files[TOKENIZER]) == "WordPiece" else stage
        return Damage({**files, TOKENIZER: {**files[TOKENIZER], "decoder": changed}}, "decoder",
                      "decoder does not undo the encoding")  # fmt: skip

    return damage


def dropped_letters(files: Files) -> Damage:
    """A step before the model drops letters."""
    steps = [{**split("o"), "behavior": "Removed"}]
    if before := files[TOKENIZER]["pre_tokenizer"]:
        steps.append(before)
    stage = {"type": "Sequence", "pretokenizers": steps}
    return Damage({**files, TOKENIZER: {**files[TOKENIZER], "pre_tokenizer": stage}}, "decoder",
                  "decoder does not undo the encoding")  # fmt: skip


def _changed(name: str, fault: str, changes: Files) -> Callable[[Files], Damage | None]:
    return lambda files: Damage({**files, name: {**files[name], **changes}}, "specials", fault)


def post_processor(files: Files) -> Damage:
    """A template of the post-processor adds the id of another token."""
    token = next(token for token in files[TOKENIZER]["added_tokens"] if token["special"])
    name = token["content"]
    stage = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": name, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {name: {"id": name, "ids": [token["id"] - 1 if token["id"] else 1], "tokens": [name]}},
    }
    return Damage({**files, TOKENIZER: {**files[TOKENIZER], "post_processor": stage}}, "specials",
                  "post-processor adds another id")  # fmt: skip


def other_added_id(files: Files) -> Damage:
    """``tokenizer_config.json`` gives an added token another id."""
    entries = files[CONFIG]["added_tokens_decoder"]
    first = next(iter(entries))
    moved = {str(int(first) + 1): entries[first]}
    return Damage({**files, CONFIG: {**files[CONFIG], "added_tokens_decoder": moved}}, "specials",
                  "id differs between files")  # fmt: skip


def small_embedding(files: Files) -> Damage:
    """The model has too few embeddings."""
    size = files[MODEL]["vocab_size"] - 1
    return Damage({**files, MODEL: {**files[MODEL], "vocab_size": size}}, "specials", "id out of range")


def broken_config(files: Files) -> Damage:
    """A settings file is cut off."""
    return Damage({**files, GENERATION: json.dumps(files[GENERATION])[:-4]}, "specials", "file cannot be read")


def _pattern(files: Files) -> Any:
    return {**files[TOKENIZER], "pre_tokenizer": split("(")}


def _merge_of_nothing(files: Files) -> Any:
    if not _is_bpe(files):
        return None
    merges = [*(" ".join(one) for one in pairs(files[TOKENIZER])), "zqzq zqzq"]
    return _of_model(files, merges=merges)[TOKENIZER]


LOOP = "{% for a in range(99999) %}" * 3 + "{% endfor %}" * 3
KINDS: dict[str, Callable[[Files], Damage | None]] = {
    "missing merge": missing_merge, "swapped ids": swapped_ids, "swapped merges": swapped_merges,
    "another vocab.json": other_vocab, "token twice": _refused(_key_twice),
    "truncated JSON": _refused(lambda files: _text(files)[: len(_text(files)) // 2]),
    "empty file": _refused(lambda files: ""),
    "id of 2**40": _refused(lambda files: _vocab_with(files, 1 << 40)),
    "negative id": _refused(lambda files: _vocab_with(files, -1)),
    "id twice": _refused(lambda files: _vocab_with(files, 0)),
    "id of text": _refused(lambda files: _vocab_with(files, "7")),
    "rule of nothing": _refused(_merge_of_nothing),
    "added token with the id of another": _refused(lambda files: _added_with(files, id=5, content="<new>")[TOKENIZER]),
    "pattern that does not compile": _refused(_pattern),
    "no model": _refused(lambda files: {key: one for key, one in files[TOKENIZER].items() if key != "model"}),
    "wrong special flag": wrong_special_flag, "control token not special": control_not_special,
    "missing byte token": missing_byte, "decoder removed": _decoder(None),
    "decoder of CTC": _decoder({"type": "CTC", "pad_token": "o", "word_delimiter_token": "e", "cleanup": True}),
    "step that drops letters": dropped_letters, "post-processor with another id": post_processor,
    "added token moved in the config": other_added_id, "embedding too small": small_embedding,
    "settings cut off": broken_config,
    "eos that does not exist": _changed(CONFIG, "token does not exist", {"eos_token": "<nowhere>"}),
    "pad that does not exist": _changed(SPECIALS, "token does not exist", {"pad_token": {"content": "<nowhere>"}}),
    "eos id out of range": _changed(GENERATION, "id out of range", {"eos_token_id": [1, 1 << 30]}),
    "bos id of text": _changed(MODEL, "id is no number", {"bos_token_id": "zero"}),
    "template loops": _with_template(LOOP, "template goes beyond a limit"),
    "template writes 1 GB": _with_template(
        "{% for a in range(90000) %}{% for b in range(90000) %}{{ 'x' * 90000 }}{% endfor %}{% endfor %}",
        "template goes beyond a limit"),
    "template fills memory": _with_template("{{ ('x' * 9999999999)|length }}", "template goes beyond a limit"),
    "template cut off": _with_template(GOOD_TEMPLATE[:-12], "template fails"),
    "template imports": _with_template("{% import 'os' as os %}{{ os.getcwd() }}", "template fails"),
    "template reads a file": _with_template("{% include '/etc/hostname' %}", "template fails"),
    "template escapes": _with_template("{{ ''.__class__.__mro__[1].__subclasses__() }}", "template fails"),
    "template loses text": _with_template("{{ bos_token }}{% for m in messages %}{{ m['role'] }}{% endfor %}",
                                          "template loses text"),
    "template adds BOS twice": _with_template("{{ bos_token }}" + GOOD_TEMPLATE, "BOS twice"),
}  # fmt: skip
