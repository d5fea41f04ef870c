"""The files of a model folder: whether they say the same of special tokens, ids and flags."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from pyharness.features.audit.checks.subjects import AuditFault, AuditSubject, CheckResult, id_list, quoted
from pyharness.system import bounded_file
from pyharness.tokenizers.families.huggingface import HuggingFaceTokenizer
from pyharness.tokenizers.families.sentencepiece import SentencePieceTokenizer
from pyharness.tokenizers.families.tiktoken import TiktokenTokenizer
from pyharness.types import InputError, counted
from pyharness.vocabularies.files.json_file import parse_json
from pyharness.vocabularies.huggingface.file import FLAGS, AddedToken

CONFIG, SPECIALS, ADDED = "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"
GENERATION, MODEL, VOCAB, TEMPLATE = "generation_config.json", "config.json", "vocab.json", "chat_template.json"
NAMES = (CONFIG, SPECIALS, ADDED, GENERATION, MODEL, VOCAB, TEMPLATE)
ROLES = ("bos_token", "eos_token", "unk_token", "pad_token", "cls_token", "sep_token", "mask_token")
BIGGEST = 64 << 20  # bytes of such a file
Files: TypeAlias = Mapping[str, Mapping[str, Any]]  # JSON files of a model folder, by name
_KINDS = {str: "a string", bool: "a boolean"}
# Names that can only be of control tokens: as text of a user they must not become ids.
CONTROL = frozenset((
    "<s>", "</s>", "<pad>", "<unk>", "<mask>", "<eos>", "<bos>", "[CLS]", "[SEP]", "[PAD]", "[MASK]", "[UNK]",
    "<|endoftext|>", "<|endofprompt|>", "<|im_start|>", "<|im_end|>", "<|eot_id|>", "<|begin_of_text|>",
    "<|end_of_text|>", "<|startoftext|>", "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "[INST]", "[/INST]",
    "<start_of_turn>", "<end_of_turn>",
))  # fmt: skip
_LIKE_CONTROL = re.compile(r"<[|｜].+[|｜]>")
_AGREE = "make the files agree: programs read different ones; take them from one revision of the publisher"


def read_folder(folder: Path | None) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Return the JSON files of a model folder, by name, and why others cannot be read; they are a stranger's."""
    content, broken = {}, {}
    for path in filter(Path.is_file, map(folder.joinpath, NAMES)) if folder is not None else ():
        name = path.name
        try:
            data = bounded_file.read(path, BIGGEST, name)
            if json.detect_encoding(data) != "utf-8":
                raise InputError(f"{name} begins with a byte order mark or is not UTF-8: libraries refuse it")
            parsed = parse_json(data, name)
            json.dumps(parsed, ensure_ascii=False).encode()
            content[name] = parsed
        except UnicodeEncodeError:
            broken[name] = f"{name} has half of a surrogate pair (U+D800 to U+DFFF), which no library takes"
        except (InputError, OSError) as error:
            broken[name] = str(error)
    return content, broken


def check_settings(subject: AuditSubject) -> CheckResult:
    """Compare special tokens, their ids and flags, between all files of the folder and the library."""
    files, broken = read_folder(subject.folder)
    if subject.path is not None:
        files.pop(subject.path.name, None)  # vocab.json as the tokenizer's own file
    faults = [
        AuditFault("file cannot be read", text, f"{name} is not loaded", "take the file from its publisher again")
        for name, text in broken.items()
    ]
    faults += [*_of_file(subject), *_roles(subject, files), *_declared(subject, files), *_ids(subject, files)]
    names = ", ".join(files) or "no other files in its folder"
    return CheckResult(names if subject.folder is not None else "the row has no folder", tuple(faults))


# ---------------------------------------------------------------------------------------------- the tokenizer's own


def added(subject: AuditSubject) -> Mapping[str, AddedToken]:
    """Return the added and control tokens of the file, by content."""
    home = subject.home
    if isinstance(home, HuggingFaceTokenizer):
        return {token.content: token for token in home.file.added}
    if isinstance(home, TiktokenTokenizer):
        return {text: AddedToken(number, text, special=True) for text, number in home.ranks.special.items()}
    if isinstance(home, SentencePieceTokenizer):
        kinds = {"CONTROL": True, "USER_DEFINED": False, "UNKNOWN": True}
        pieces = enumerate(zip(home.model.pieces, home.model.types, strict=True))
        return {text: AddedToken(number, text, special=kinds[kind.name])
                for number, (text, kind) in pieces if kind.name in kinds}  # fmt: skip
    return {}


def id_of(subject: AuditSubject, content: str) -> int | None:
    """Return the id that the home library gives to the name of a token; None: it has no such token."""
    home = subject.home
    if isinstance(home, HuggingFaceTokenizer):
        number: int | None = home.library.token_to_id(content)
        return number
    if isinstance(home, SentencePieceTokenizer):
        number = int(home.processor.piece_to_id(content))
        own = number if home.processor.id_to_piece(number) == content else None
    else:
        own = home.ranks.special.get(content) if isinstance(home, TiktokenTokenizer) else None
    return own if own is not None else of_folder(subject).get(content)


@lru_cache(maxsize=2)
def of_folder(subject: AuditSubject) -> Mapping[str, int]:
    """Return tokens that a folder adds to a file of SentencePiece or ranks, which programs add as they load it."""
    if isinstance(subject.home, HuggingFaceTokenizer):
        return {}
    content, _ = read_folder(subject.folder)
    entries = content.get(CONFIG, {}).get("added_tokens_decoder")
    small = {key: one for key, one in (entries if isinstance(entries, dict) else {}).items()
             if key.isdecimal() and len(key) < 10 and isinstance(one, dict)}  # fmt: skip
    ids = {one["content"]: int(key) for key, one in small.items() if isinstance(one.get("content"), str)}
    return ids | {text: number for text, number in content.get(ADDED, {}).items() if type(number) is int}


def _of_file(subject: AuditSubject) -> Iterator[AuditFault]:
    """Yield faults of the file alone: control tokens without their flag, templates with other ids."""
    home = subject.home
    for token in added(subject).values():
        if token.content in CONTROL and not token.special and isinstance(home, HuggingFaceTokenizer):
            yield AuditFault(
                "control token is not special", f"{quoted(token.content)} has special: false",
                f"{quoted(token.content)} -> {id_list(subject.ids(token.content))} with special tokens switched off",
                "set special: true: a user's text becomes this id even with special tokens switched off",
            )  # fmt: skip
    if not isinstance(home, HuggingFaceTokenizer):
        return
    yield from _left_on(home.file.content)
    like = [token.content for token in home.file.added if not token.special and token.content not in CONTROL
            and _LIKE_CONTROL.fullmatch(token.content)]  # fmt: skip
    if like:
        text = f"{counted(len(like), 'added token')} like {quoted(like[0])}, special: false"
        yield AuditFault(
            "control token is not special", text,
            f"{quoted(like[0])} -> {id_list(subject.ids(like[0]))} with special tokens switched off",
            "remove these strings from users' text before you encode it: switching special tokens off does not", "warn",
        )  # fmt: skip
    unknown = home.file.model.get("unk_token")
    if isinstance(unknown, str) and unknown and unknown not in home.file.vocab:
        yield AuditFault("token does not exist", f"unk_token is {quoted(unknown)}", f"{quoted(unknown)} has no id",
                         "name a token of the vocabulary")  # fmt: skip
    for content, number in _of_template(home.file.stages("post_processor")):
        if (own := home.library.token_to_id(content)) != number:
            yield AuditFault("post-processor adds another id", f"it adds {number} for {quoted(content)}",
                             f"{quoted(content)} has id {own}", _AGREE)  # fmt: skip


def _left_on(content: Mapping[str, Any]) -> Iterator[AuditFault]:
    """Yield settings of training that a file has kept: its library obeys them, and rows switch them off."""
    for name, holder in (("truncation", content), ("padding", content), ("dropout", content["model"])):
        if holder.get(name):
            yield AuditFault(f"{name} is on", f"the file keeps {name} of training", quoted(json.dumps(holder[name])),
                             f"switch {name} off after you load the file, or set it to null", "warn")  # fmt: skip


def _of_template(steps: list[Mapping[str, Any]]) -> Iterator[tuple[str, int]]:
    """Yield each token that a post-processor adds, with its id."""
    for step in steps:
        for token in (step.get("special_tokens") or {}).values() if step["type"] == "TemplateProcessing" else ():
            yield from zip(token.get("tokens", ()), token.get("ids", ()), strict=False)
        for key in ("sep", "cls") if step["type"] in ("BertProcessing", "RobertaProcessing") else ():
            content, number = step[key]
            yield content, number


# ---------------------------------------------------------------------------------------------- other files


def named(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the content of each named token of a file: ``{"bos_token": "<s>"}``."""
    values = {role: settings.get(role) for role in ROLES}
    contents = {role: one.get("content") if isinstance(one, dict) else one for role, one in values.items()}
    return {role: one for role, one in contents.items() if isinstance(one, str) and one}


def _roles(subject: AuditSubject, files: Files) -> Iterator[AuditFault]:
    """Yield named tokens that do not exist, or that two files name otherwise."""
    by_file = {name: named(files.get(name, {})) for name in (CONFIG, SPECIALS)}
    for name, roles in by_file.items():
        for role, content in roles.items():
            if subject.tokenizer is not None and id_of(subject, content) is None:
                ids = id_list(subject.ids(content))
                yield AuditFault("token does not exist", f"{role} of {name} is {quoted(content)}",
                                 f"{quoted(content)} has no id; as text it is {ids}",
                                 "name a token of the vocabulary, or add it and train its embedding")  # fmt: skip
    for role in by_file[CONFIG].keys() & by_file[SPECIALS].keys():
        one, other = by_file[CONFIG][role], by_file[SPECIALS][role]
        if one != other:
            yield AuditFault("files disagree", f"{role} is {quoted(one)} in {CONFIG}, {quoted(other)} in {SPECIALS}",
                             f"ids {id_of(subject, one)} and {id_of(subject, other)}", _AGREE)  # fmt: skip


def _declared(subject: AuditSubject, files: Files) -> Iterator[AuditFault]:
    """Yield added tokens whose id or flags other files give otherwise, and ids of ``vocab.json`` that differ.

    If ``tokenizer.json`` lacks a token, transformers adds it, and the library does not.
    """
    own = added(subject)
    owners = {str(token.id): content for content, token in own.items()}
    entries = files.get(CONFIG, {}).get("added_tokens_decoder")
    for key, entry in entries.items() if isinstance(entries, dict) and subject.tokenizer is not None else ():
        content = entry.get("content") if isinstance(entry, dict) else None
        if not isinstance(content, str):
            yield AuditFault("file cannot be read", f"{CONFIG}: added token {quoted(key)} has no content",
                             quoted(str(entry)), _AGREE)  # fmt: skip
        elif str(number := id_of(subject, content)) != key or owners.get(key, content) != content:
            other = f", and {key} to {quoted(owners[key])}" if key in owners else ""
            yield AuditFault("id differs between files", f"{CONFIG} gives {quoted(content)} the id {quoted(key)}",
                             f"the library gives {_given(number)}{other}", _AGREE)  # fmt: skip
        elif content in own:
            yield from _flags(own[content], entry)
    for name in (ADDED, VOCAB):
        stated = files.get(name, {}).items() if subject.tokenizer is not None else ()
        for text, number in stated:
            if (mine := id_of(subject, text)) != number and not (name == VOCAB and mine is None):
                about = f"{name} gives {quoted(text)} the id {quoted(str(number))}"
                yield AuditFault("id differs between files", about, f"the library gives {_given(mine)}", _AGREE)


def _given(number: int | None) -> str:
    return "it none" if number is None else f"it {number}"


def _flags(token: AddedToken, entry: Mapping[str, Any]) -> Iterator[AuditFault]:
    for flag in FLAGS:
        stated = entry.get(flag)
        if isinstance(stated, bool) and stated != getattr(token, flag):
            yield AuditFault(
                "flag differs between files", f"{flag} of {quoted(token.content)} is {str(stated).lower()} in {CONFIG}",
                f"{str(getattr(token, flag)).lower()} in the tokenizer's file", _AGREE,
                "fail" if flag == "special" else "warn",
            )  # fmt: skip


def _ids(subject: AuditSubject, files: Files) -> Iterator[AuditFault]:
    """Yield ids of models and generation that are out of range, or of another token than the one that is named."""
    if subject.tokenizer is None:
        return
    limit, size = subject.loaded.id_limit, _embedding(files)
    if size is not None and limit > size:
        text = f"{MODEL} has {counted(size, 'row')} of embeddings, ids go up to {limit - 1}"
        yield AuditFault("id out of range", text,
                         f"id {limit - 1} is {quoted(subject.decode([limit - 1]))}",
                         "resize the embedding, or remove the tokens: the model fails on these ids")  # fmt: skip
    rows = max([limit, *(number + 1 for number in of_folder(subject).values())])
    roles = {**named(files.get(SPECIALS, {})), **named(files.get(CONFIG, {}))}
    for name in (GENERATION, MODEL):
        for role in ROLES:
            stated = files.get(name, {}).get(f"{role}_id")
            ids = stated if isinstance(stated, list) else [stated]
            if (role, ids) == ("pad_token", [-1]):  # none: so the first LLaMA files say it
                continue
            yield from _role_ids(subject, f"{role}_id of {name}", ids, roles.get(role), size or rows)


def _role_ids(
    subject: AuditSubject, what: str, ids: list[Any], content: str | None, limit: int
) -> Iterator[AuditFault]:
    for number in (one for one in ids if one is not None):
        if type(number) is not int:
            name, why = "id is no number", f"it is {_KINDS.get(type(number), 'no whole number')}"
        elif not 0 <= number < limit:
            name, why = "id out of range", f"ids are from 0 to below {limit:,}"
        else:
            continue
        yield AuditFault(name, f"{what} is {quoted(json.dumps(number))}", why,
                         "correct it: generation never stops at this id, or fails")  # fmt: skip
        return
    own = None if content is None else id_of(subject, content)
    if own is not None and ids != [None] and own not in ids:
        yield AuditFault("id of another token", f"{what} is {id_list(ids)}", f"{quoted(content or '')} has id {own}",
                         "make them agree, or say in the model card why they differ", "warn")  # fmt: skip


def _embedding(files: Files) -> int | None:
    """Return the number of embeddings that ``config.json`` states."""
    config = files.get(MODEL, {})
    inner = config.get("text_config")
    sizes = (one.get("vocab_size") for one in (config, inner if isinstance(inner, dict) else {}))
    return next((size for size in sizes if type(size) is int), None)
