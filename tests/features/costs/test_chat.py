"""Chat templates: what they add, what a cache keeps, the ids of mistral_common, and templates that do harm."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from cases.command_line import call
from pyharness import tokenizers
from pyharness.features.costs.chat import CHANGES, ChatCounts, check_tokens, encoder, kept_ids, measure, measured
from pyharness.features.costs.templates import (
    CONFIG,
    DATE,
    FILE,
    OTHER_DATE,
    ChatTemplate,
    RenderedChat,
    exchanges,
    rendered,
    schema_bytes,
    template_of,
    tool,
)
from pyharness.types import InputError, Unsupported
from pyharness.vocabularies.huggingface import chat_rendering
from tokenizer_files import byte_level, write

PLAIN = (
    "{% for m in messages %}<|endoftext|>{{ m.role[0] }}{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<|endoftext|>{% endif %}"
)
WITH_TOOLS = (
    "{% if tools %}T{{ strftime_now('%d') }}{% for t in tools %}<|endoftext|>{{ t | tojson }}{% endfor %}{% endif %}"
    + PLAIN
)
MARKS = {"bos_token": "<s>", "eos_token": "</s>"}
MISTRAL = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST]{{ m.content }}[/INST]"
    "{% else %}{{ m.content }}{{ eos_token }}{% endif %}{% endfor %}"
)


def template(text: str, **tokens: str) -> ChatTemplate:
    return ChatTemplate(text, tokens, "the template")


def here(one: ChatTemplate, conversations: list[RenderedChat]) -> list[str]:
    """Render in this process: what a template means does not depend on where it runs."""

    def render_all(text: str, variables: list[dict[str, Any]]) -> list[chat_rendering.Rendering]:
        return [chat_rendering.render(text, values) for values in variables]

    with mock.patch.object(chat_rendering, "render_all", render_all):
        return rendered(one, conversations)


@pytest.fixture
def row(tmp_path: Path) -> str:
    return write(tmp_path, "tokenizer.json", byte_level())


def values(chat: ChatCounts) -> dict[tuple[str, str | None], Any]:
    return {(one.metric, one.part): one.value for one in measure(chat)}


def test_overheads_are_those_of_the_template(row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyharness.features.costs.chat.rendered", here)
    numbers = values(measured(template(PLAIN), encoder(tokenizers.resolve(row))))
    assert numbers["chat_overhead", None] == 3  # two control tokens and a letter
    assert numbers["message_overhead", None] == 2
    assert numbers["tool_tokens", None] is None
    assert numbers["kept_ids_share", "next turn"] == 1  # but for the end, each turn is added behind
    assert numbers["kept_ids_share", "date"] == 1
    assert numbers["kept_ids_share", "tool"] is None
    assert 0 < numbers["kept_ids_share", "first turn"] < numbers["kept_ids_share", "last turn"] < 1


def test_tools_are_counted_and_a_date_before_them_breaks_the_cache(row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyharness.features.costs.chat.rendered", here)
    encode = encoder(tokenizers.resolve(row))
    chat = measured(template(WITH_TOOLS), encode)
    numbers = values(chat)
    of_one = len(encode(json.dumps(tool(1), ensure_ascii=False))) + 1
    assert numbers["tool_tokens", None] == of_one
    assert numbers["tools_overhead", None] == 3 + len(encode(json.dumps(tool(0)))) - len(encode(json.dumps(tool(1))))
    assert numbers["tool_tokens_per_byte", None] == pytest.approx(of_one / schema_bytes(tool(1)))
    assert numbers["kept_ids_share", "date"] == 1 / chat.kept[CHANGES.index("date"), 1]  # the letter before it
    assert numbers["kept_ids_share", "tool"] > numbers["kept_ids_share", "date"]
    assert list(measure(ChatCounts.of_arrays(chat.arrays()))) == list(measure(chat))


def test_ids_are_kept_up_to_the_first_change() -> None:
    draw = random.Random(1)
    for _ in range(200):
        one, other = ([draw.randrange(3) for _ in range(draw.randrange(8))] for _ in range(2))
        slow = 0
        while slow < min(len(one), len(other)) and one[slow] == other[slow]:
            slow += 1
        assert kept_ids(np.array(one, np.uint32), np.array(other, np.uint32)) == slow


def random_messages(draw: random.Random) -> list[dict[str, str]]:
    words = ["hi", "What is 12345?", "été", "中文", "[INST]"[1:5], "a  b", "\tx = 1\n  y", "🇪🇪", "naïve", "<b>"]
    messages = []
    for _ in range(draw.randint(0, 4)):
        for role in ("user", "assistant"):
            messages += [{"role": role, "content": " ".join(draw.choices(words, k=draw.randint(1, 6)))}]
    return [*messages, {"role": "user", "content": " ".join(draw.choices(words, k=draw.randint(1, 6)))}]


def mistral_ids(library: Any, messages: list[dict[str, str]]) -> list[int]:
    from mistral_common.protocol.instruct import messages as kinds
    from mistral_common.protocol.instruct.request import ChatCompletionRequest

    made = {"user": kinds.UserMessage, "assistant": kinds.AssistantMessage}
    request = ChatCompletionRequest(messages=[made[one["role"]](content=one["content"]) for one in messages])
    ids: list[int] = library.encode_chat_completion(request).tokens
    return ids


@pytest.mark.parametrize(
    ("version", "file"), [("v3", "mistral_instruct_tokenizer_240323.model.v3"), ("tekken", "tekken_240911.json")]
)
def test_rendered_ids_are_those_of_mistral_common(version: str, file: str) -> None:
    module = pytest.importorskip("mistral_common.tokens.tokenizers.mistral")
    path = Path(pytest.importorskip("mistral_common").__file__).parent / "data" / file
    library = module.MistralTokenizer.from_file(str(path))
    encode, draw = encoder(tokenizers.resolve(f"mistral:{version}")), random.Random(7)
    one, chats = template(MISTRAL, **MARKS), [RenderedChat(random_messages(draw)) for _ in range(200)]
    check_tokens(one, encode)
    texts = here(one, chats)
    for chat, text in zip(chats, texts, strict=True):
        expected = mistral_ids(library, [dict(one) for one in chat.messages])
        assert encode(text).tolist() == expected, text
        contents = sum(len(encode(content)) for content in chat.contents)
        assert len(encode(text)) - contents == len(expected) - contents


# ------------------------------------------------------------------------------------------------- hostile templates


def test_a_template_of_another_tokenizer_is_refused(row: str) -> None:
    with pytest.raises(InputError, match="bos_token"):
        check_tokens(template(MISTRAL, **MARKS), encoder(tokenizers.resolve(row)))
    with pytest.raises(Unsupported, match="our engine"):
        encoder(tokenizers.resolve("raw_bytes"))


LOOP = "{%% for a in range(99999) %%}%s{%% endfor %%}"
HOSTILE = {
    "loops": LOOP % (LOOP % (LOOP % "")),
    "prints without end": LOOP % (LOOP % "xxxxxxxxxxxxxxxx"),
    "prints a gigabyte": "{{ 'x' * 1000000000 }}",
    "takes memory": "{% set a = 'x' * 500000000 %}{% set b = a + a + a + a %}{{ b | length }}",
    "counts": "{{ (9 ** (9 ** 9)) | string }}",
    "imports": "{% import 'os' as os %}{{ os }}",
    "includes": "{% include '/etc/passwd' %}",
    "reads": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "asks the loop": "{{ cycler.__init__.__globals__ }}",
    "changes messages": "{{ messages.append(1) }}",
    "calls back": "{{ cycler | tojson(default=lipsum) }}",
    "refuses": "{{ raise_exception('no') }}",
    "no Jinja": "{% for %}",
    "unknown tag": "{% mine %}",
}  # fmt: skip
SLOW = {"loops", "counts"}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_template_that_does_harm_costs_its_case(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_rendering, "SECONDS", 1.5 if name in SLOW else 20)
    with pytest.raises(InputError, match="the template") as error:
        rendered(template(HOSTILE[name]), [RenderedChat(exchanges(0))])
    assert "\n" not in str(error.value)
    assert "root:" not in str(error.value)


def test_what_a_template_may_use() -> None:
    text = "{{ bos_token }}{{ strftime_now('%Y') }}{{ tools | tojson }}{{ messages[0].content }}{% break %}"
    text = "{% for one in messages %}" + text + "{% endfor %}"
    chat = RenderedChat([{"role": "user", "content": "<é>"}], [{"a": "<é>"}], DATE)
    assert rendered(ChatTemplate(text, {"bos_token": "B"}, ""), [chat]) == ['B2026[{"a": "<é>"}]<é>']
    assert here(template("{{ strftime_now('%d %b') }}"), [RenderedChat((), date=OTHER_DATE)]) == ["01 Feb"]


def test_a_template_sees_what_transformers_gives_it() -> None:
    chat = RenderedChat([{"role": "user", "content": "a"}])
    defined = "{{ tools is defined and tools is none and documents is none }}"
    assert here(template(defined), [chat]) == ["True"]
    marked = "{% generation %}{% set b = messages[0].content %}{{ b }}{% endgeneration %}{{ b }}"
    assert here(template(marked), [chat]) == ["a"]


def test_special_tokens_that_a_template_does_not_name_may_be_unknown(row: str) -> None:
    encode = encoder(tokenizers.resolve(row))
    unknown = {"pad_token": "[PAD]"}
    check_tokens(template(PLAIN, **unknown), encode)
    with pytest.raises(InputError, match="pad_token"):
        check_tokens(template("{{ pad_token }}", **unknown), encode)


@pytest.mark.parametrize(("name", "value"), [("turns", 1), ("schema bytes", 0)])
def test_counts_that_nothing_can_be_divided_by_are_refused(
    name: str, value: int, row: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyharness.features.costs.chat.rendered", here)
    chat = measured(template(WITH_TOOLS), encoder(tokenizers.resolve(row)))
    ChatCounts.of_arrays(chat.arrays())
    with pytest.raises(InputError, match="contradict"):
        ChatCounts.of_arrays(ChatCounts({**chat.counts, name: value}, chat.kept).arrays())


# ------------------------------------------------------------------------------------------------- finding templates


def test_templates_are_found_next_to_the_file(row: str, tmp_path: Path) -> None:
    spec = tokenizers.resolve(row)
    with pytest.raises(Unsupported, match="template"):
        template_of(spec)
    config = {"chat_template": [{"name": "default", "template": "a"}, {"name": "tool_use", "template": "b"}],
              "bos_token": {"content": "<s>"}, "eos_token": "</s>", "pad_token": None}  # fmt: skip
    (tmp_path / CONFIG).write_text(json.dumps(config))
    assert template_of(spec) == ChatTemplate("b", {"bos_token": "<s>", "eos_token": "</s>"}, str(tmp_path / CONFIG))
    (tmp_path / CONFIG).write_text(json.dumps({"chat_template": "c"}))
    assert template_of(spec).text == "c"
    (tmp_path / FILE).write_text("d")
    assert template_of(spec).text == "d"
    (tmp_path / "mine.jinja").write_text("e")
    assert template_of(spec, str(tmp_path / "mine.jinja")).text == "e"
    with pytest.raises(InputError, match="mine"):
        template_of(spec, str(tmp_path / "not-mine.jinja"))
    (tmp_path / FILE).write_bytes(b"x" * ((1 << 20) + 1))
    with pytest.raises(InputError, match="bytes"):
        template_of(spec)


def test_a_run_shows_a_template_and_skips_rows_without_one(row: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(PLAIN)
    done = call("run", "-t", f"a={row}", "-t", "raw_bytes", "-b", "chat", "-o", "r.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "3 tokens" in done.stdout
    statuses = {one["tokenizer"]: one["status"] for one in json.loads((tmp_path / "r.json").read_text())["results"]}
    assert statuses == {"a": "ok", "raw_bytes": "skipped"}
    assert call("report", "r.json", "--rederive", cwd=tmp_path).returncode == 0
