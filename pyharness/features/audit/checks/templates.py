"""Chat templates: whether they render, keep what people wrote, and agree with the tokenizer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from pyharness.features.audit.checks.settings import CONFIG, SPECIALS, TEMPLATE, id_of, named, read_folder
from pyharness.features.audit.checks.subjects import AuditFault, AuditSubject, CheckResult, CheckStatus, id_list, quoted
from pyharness.report.sheet.strings import shorten
from pyharness.system import bounded_file
from pyharness.tokenizers.families.huggingface import HuggingFaceTokenizer
from pyharness.types import InputError
from pyharness.vocabularies.huggingface import chat_rendering

FILE = "chat_template.jinja"
_USER, _ANSWER, _SYSTEM = "What is 7 times 6?", "It is 42.", "Be brief."
_ASKED = {"role": "user", "content": _USER}
CONVERSATIONS: Mapping[str, Sequence[Mapping[str, str]]] = {
    "one question": [_ASKED],
    "three turns": [_ASKED, {"role": "assistant", "content": _ANSWER}, {"role": "user", "content": "Sure?"}],
    "with a system message": [{"role": "system", "content": _SYSTEM}, _ASKED],
}
MOST_TEMPLATES = 8
_LONGEST_NAME = 80
# A template of images takes content in parts, and fails otherwise with text.
_OF_CONTENT = ("template fails", "template loses text", "template refuses a conversation")
_MARKER = re.compile(r"<[|｜][\w▁ -]{1,40}[|｜]>")
_SEND = "send the model no such conversation, or take a template that renders it"
_MEND = "correct the template: servers that render it fail, or send the model something else"


def check_template(subject: AuditSubject) -> CheckResult:
    """Render every template with three conversations, within limits, and encode the result."""
    settings, _ = read_folder(subject.folder)
    own, faults = _own_file(subject.folder)
    stated = {**own, **dict(_in_settings(settings))}
    templates = {name: one for name, one in stated.items() if isinstance(one, str)}
    if not stated and not faults:
        return CheckResult("no chat template in its folder", absent=True)
    no_text = {name: one for name, one in stated.items() if name not in templates}
    for name, one in no_text.items():
        faults.append(AuditFault("template cannot be read", f"{name}: it is no text", quoted(json.dumps(one)), _MEND))
    faults += _two(own.get(FILE), templates.get(CONFIG, templates.get(f"{CONFIG} default")))
    names = {**named(settings.get(SPECIALS, {})), **named(settings.get(CONFIG, {}))}
    some = dict(islice(templates.items(), MOST_TEMPLATES))
    faults += [fault for name, text in some.items() for fault in _of_template(subject, name, text, names)]
    if len(templates) > MOST_TEMPLATES:
        faults.append(AuditFault("too many templates", f"{len(templates) - MOST_TEMPLATES:,} more are not rendered",
                                 f"{MOST_TEMPLATES} are rendered", "remove what no program uses", "open"))  # fmt: skip
    refused = sum(fault.name == "template refuses a conversation" for fault in faults)
    tried = f"{len(CONVERSATIONS)} conversations{f', {refused} refused' if refused else ''}"
    return CheckResult(f"{', '.join(some or no_text) or FILE}: {tried if some else 'not rendered'}", faults)


def _own_file(folder: Path | None) -> tuple[dict[str, str], list[AuditFault]]:
    """Return the template that is a file of its own, or why it cannot be read."""
    if folder is None or not (folder / FILE).is_file():
        return {}, []
    try:
        return {FILE: bounded_file.read(folder / FILE, chat_rendering.LONGEST_TEMPLATE, FILE).decode()}, []
    except UnicodeDecodeError as error:
        text = f"{FILE} is not UTF-8 from byte {error.start} on"
    except (OSError, InputError) as error:
        text = str(error)
    return {}, [AuditFault("template cannot be read", text, f"{FILE} is not rendered", _MEND)]


def _two(own: str | None, other: str | None) -> Iterator[AuditFault]:
    """Yield that two files have different templates; a line feed at the end makes no difference."""
    if own is not None and other is not None and own.rstrip() != other.rstrip():
        start = next(at for at, (one, two) in enumerate(zip_longest(own, other)) if one != two)
        witness = f"from character {start} on: {quoted(own[start:])} and {quoted(other[start:])}"
        advice = "keep one of them: newer programs read the first, older ones the second"
        yield AuditFault("files disagree", f"the templates of {FILE} and {CONFIG} differ", witness, advice)


def _in_settings(settings: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield names and values of the templates that other files of a model folder have."""
    for name in (CONFIG, TEMPLATE):
        stated = settings.get(name, {}).get("chat_template")
        if isinstance(stated, list) and all(isinstance(one, dict) for one in stated):
            stated = {str(one.get("name", "")): one.get("template") for one in stated}
        for about, one in (stated if isinstance(stated, dict) else {"": stated}).items():
            if stated is not None:
                yield shorten(f"{name} {about}".strip(), _LONGEST_NAME), one


def _of_template(subject: AuditSubject, name: str, template: str, names: Mapping[str, str]) -> list[AuditFault]:
    if len(template) > chat_rendering.LONGEST_TEMPLATE:
        return [AuditFault("template goes beyond a limit", f"{name} has {len(template):,} characters", "", _MEND)]
    faults = [*_of_messages(subject, name, template, names)]
    if any(one.status == "fail" and one.name in _OF_CONTENT for one in faults):
        other = [*_of_messages(subject, name, template, names, in_parts=True)]
        faults = other if all(one.status != "fail" for one in other) else faults
    return faults


def _of_messages(
    subject: AuditSubject, name: str, template: str, names: Mapping[str, str], in_parts: bool = False
) -> Iterator[AuditFault]:
    cases = [(about, asks) for about in CONVERSATIONS for asks in (False, True)]
    requests = [{"messages": [{**one, "content": [{"type": "text", "text": one["content"]}]} if in_parts else one
                              for one in CONVERSATIONS[about]], "add_generation_prompt": asks, **names}
                for about, asks in cases]  # fmt: skip
    texts: dict[tuple[str, bool], str] = {}
    refused: dict[str, str] = {}
    for (about, asks), one in zip(cases, chat_rendering.render_all(template, requests), strict=False):
        if one.limit or one.error:
            fault = "template goes beyond a limit" if one.limit else "template fails"
            yield AuditFault(fault, f"{name}, {about}", one.limit or one.error, _MEND)
            return
        if one.refused:
            refused[about] = one.refused
        else:
            texts[about, asks] = one.text
    advice = _SEND if texts else _MEND
    status: CheckStatus = "warn" if texts else "fail"
    for about, words in refused.items():
        yield AuditFault("template refuses a conversation", f"{name}, {about}", quoted(words), advice, status)
    yield from _lost(name, texts)
    if subject.tokenizer is not None and texts:
        yield from _beginnings(subject, name, next(iter(texts.values())), names.get("bos_token", ""))
        yield from _markers(subject, name, "".join(texts.values()), frozenset(names.values()))


def _lost(name: str, kept: Mapping[tuple[str, bool], str]) -> Iterator[AuditFault]:
    """Yield the first message of a user that a rendering lacks, and a generation prompt that changes what is before it.

    ``kept`` has renderings by conversation, without the generation prompt and with it.
    """
    messages = ((one["content"], text) for (about, _), text in kept.items()
            for one in CONVERSATIONS[about] if one["role"] == "user")  # fmt: skip
    for content, text in messages:
        if content not in text:
            yield AuditFault("template loses text", f"{name} leaves out what the user wrote",
                             f"{quoted(content)} is not in {quoted(text)}", _MEND)  # fmt: skip
            return
    for (about, asks), text in kept.items():
        if asks and not text.startswith(kept.get((about, False), "")):
            yield AuditFault("generation prompt changes the conversation", name, quoted(text),
                             "training without the prompt and serving with it see other text; check that it is meant",
                             "warn")  # fmt: skip
            return


def _beginnings(subject: AuditSubject, name: str, text: str, bos: str) -> Iterator[AuditFault]:
    """Yield a BOS that a template writes twice, or that the tokenizer adds to the template's own."""
    if not bos or not text.lstrip().startswith(bos):
        return
    number = id_of(subject, bos)
    if text.lstrip().removeprefix(bos).lstrip().startswith(bos):
        yield AuditFault("BOS twice", f"{name} begins with {quoted(bos)} twice",
                         f"id {number}, {number}: {quoted(text)}",
                         "write it once: models were trained with one")  # fmt: skip
        return
    if isinstance(subject.home, HuggingFaceTokenizer):
        library = subject.home.library
        library.encode_special_tokens = False
        try:
            ids = library.encode(text).ids
        finally:
            library.encode_special_tokens = True
        if ids[:2] == [number, number]:
            yield AuditFault(
                "BOS twice", f"{name} writes {quoted(bos)}, and the tokenizer adds another", f"ids {id_list(ids)}",
                "encode rendered conversations with add_special_tokens=False", "warn",
            )  # fmt: skip


def _markers(subject: AuditSubject, name: str, text: str, named_tokens: frozenset[str]) -> Iterator[AuditFault]:
    """Yield markers of roles that the tokenizer splits: the model reads letters where others read a token.

    Some models were trained so (Zephyr, TinyLlama): if no marker of a template is a token, it is a warning.
    """
    markers = [marker for marker in dict.fromkeys(_MARKER.findall(text)) if marker not in named_tokens]
    split = [marker for marker in markers if id_of(subject, marker) is None]
    for marker in split:
        yield AuditFault("unknown marker", f"{name} writes {quoted(marker)}",
                         f"{quoted(marker)} -> {id_list(subject.ids(marker))}",
                         "use the template of this tokenizer, unless the model was trained with it",
                         "fail" if len(split) < len(markers) else "warn")  # fmt: skip
