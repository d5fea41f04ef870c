"""Chat templates: whether they render, keep what people wrote, and agree with the tokenizer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from pyharness.features.audit.checks.settings import CONFIG, SPECIALS, TEMPLATE, id_of, named, read_folder
from pyharness.features.audit.checks.subjects import AuditFault, AuditSubject, CheckResult, id_list, quoted
from pyharness.report.sheet.strings import shorten
from pyharness.system import bounded_file
from pyharness.tokenizers.families.huggingface import HuggingFaceTokenizer
from pyharness.types import InputError
from pyharness.vocabularies.huggingface import chat_rendering
from pyharness.vocabularies.huggingface.chat_rendering import Rendering

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
_OF_CONTENT = ("template fails", "template loses text", "template refuses every conversation")
_MARKER = re.compile(r"<[|｜][\w▁ -]{1,40}[|｜]>")
_MEND = "correct the template: servers that render it fail, or send the model something else"


def check_template(subject: AuditSubject) -> CheckResult:
    """Render every template with three conversations, within limits, and encode the result."""
    settings = read_folder(subject.folder).content
    own, faults = _own_file(subject.folder)
    templates = {**own, **dict(_in_settings(settings))}
    if not templates and not faults:
        return CheckResult("no chat template in its folder", absent=True)
    names = {**named(settings.get(SPECIALS, {})), **named(settings.get(CONFIG, {}))}
    some = dict(islice(templates.items(), MOST_TEMPLATES))
    faults += [fault for name, text in some.items() for fault in _of_template(subject, name, text, names)]
    if len(templates) > MOST_TEMPLATES:
        faults.append(AuditFault("too many templates", f"{len(templates) - MOST_TEMPLATES:,} more are not rendered",
                                 f"{MOST_TEMPLATES} are rendered", "remove what no program uses", "open"))  # fmt: skip
    return CheckResult(f"{', '.join(some)}: {len(CONVERSATIONS)} conversations" if some else FILE, faults)


def _own_file(folder: Path | None) -> tuple[dict[str, str], list[AuditFault]]:
    """Return the template that is a file of its own, or why it cannot be read."""
    if folder is None or not (folder / FILE).is_file():
        return {}, []
    try:
        return {FILE: bounded_file.read(folder / FILE, chat_rendering.LONGEST_TEMPLATE, FILE).decode()}, []
    except UnicodeDecodeError as error:
        text = f"{FILE} is not UTF-8 from byte {error.start} on"
    except OSError as error:
        text = f"{FILE} cannot be read: {error.strerror or error}"
    except InputError as error:
        text = str(error)
    return {}, [AuditFault("template cannot be read", text, f"{FILE} is not rendered", _MEND)]


def _in_settings(settings: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield names and texts of the templates that other files of a model folder have."""
    for name, content in settings.items():
        stated = content.get("chat_template") if name in (CONFIG, TEMPLATE) else None
        for one in stated if isinstance(stated, list) else [{"name": "", "template": stated}]:
            if isinstance(one, dict) and isinstance(one.get("template"), str):
                yield shorten(f"{name} {one.get('name', '')}".strip(), _LONGEST_NAME), one["template"]


def _of_template(subject: AuditSubject, name: str, template: str, names: Mapping[str, str]) -> list[AuditFault]:
    if len(template) > chat_rendering.LONGEST_TEMPLATE:
        return [AuditFault("template goes beyond a limit", f"{name} has {len(template):,} characters", "", _MEND)]
    faults = [*_of_messages(subject, name, template, names, CONVERSATIONS)]
    if faults and faults[0].name in _OF_CONTENT:
        in_parts = {about: [{**one, "content": [{"type": "text", "text": one["content"]}]} for one in messages]
                    for about, messages in CONVERSATIONS.items()}  # fmt: skip
        other = [*_of_messages(subject, name, template, names, in_parts)]
        faults = other if all(one.status != "fail" for one in other) else faults
    return faults


def _of_messages(
    subject: AuditSubject,
    name: str,
    template: str,
    names: Mapping[str, str],
    conversations: Mapping[str, Sequence[Mapping[str, Any]]],
) -> Iterator[AuditFault]:
    requests = [
        {"messages": messages, "add_generation_prompt": asks, **names}
        for messages in conversations.values()
        for asks in (False, True)
    ]
    done = chat_rendering.render_all(template, requests)
    if faults := [*_failed(name, done)]:
        yield faults[0]
        return
    if all(one.refused for one in done):
        yield AuditFault("template refuses every conversation", name, quoted(done[0].refused), _MEND)
        return
    kept = [(request, one.text) for request, one in zip(requests, done, strict=False) if not one.refused]
    yield from _lost(name, kept)
    if subject.tokenizer is not None:
        yield from _beginnings(subject, name, kept[0][1], names.get("bos_token", ""))
        yield from _markers(subject, name, "".join(text for _, text in kept), frozenset(names.values()))


def _failed(name: str, done: Sequence[Rendering]) -> Iterator[AuditFault]:
    for one, conversation in zip(done, (name for name in CONVERSATIONS for _ in range(2)), strict=False):
        if one.limit:
            yield AuditFault("template goes beyond a limit", f"{name}, {conversation}: {one.limit}",
                             "rendered in a sandbox, in a process of its own", _MEND)  # fmt: skip
        elif one.error:
            yield AuditFault("template fails", f"{name}, {conversation}", one.error, _MEND)


def _lost(name: str, kept: Sequence[tuple[Mapping[str, Any], str]]) -> Iterator[AuditFault]:
    """Yield the first question that a rendering lacks, and a generation prompt that changes what is before it."""
    for _, text in kept:
        if _USER not in text:
            yield AuditFault("template loses text", f"{name} leaves out what the user wrote",
                             f"{quoted(_USER)} is not in {quoted(text)}", _MEND)  # fmt: skip
            return
    texts = {(str(request["messages"]), request["add_generation_prompt"]): text for request, text in kept}
    for (messages, asks), text in texts.items():
        if asks and not text.startswith(texts.get((messages, False), "")):
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
