"""The benchmark ``chat``: tokens that a chat template adds, and ids that a prompt cache keeps after a change.

Source: docs/deployment.md "Chat templates".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness import tokenizers
from pyharness.benchmarks import Benchmark, Findings, Pace, Work
from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.features.costs.templates import (
    EXCHANGES,
    OTHER_DATE,
    OTHER_QUESTION,
    ChatTemplate,
    RenderedChat,
    exchanges,
    rendered,
    schema_bytes,
    template_of,
    tool,
)
from pyharness.metrics.counting.state_arrays import taken
from pyharness.types import (
    PERCENT,
    Answer,
    Case,
    CaseResult,
    Column,
    Format,
    Ids,
    InputError,
    Measurement,
    Metric,
    State,
    Table,
    TokenizerSpec,
    Unsupported,
)

Encode = Callable[[str], Ids]
_TURNS = len(EXCHANGES) - 1
CHANGES = ("next turn", "last turn", "first turn", "date", "tool")
_COUNTS = ("one message", "its content", "messages", "turns", "their contents", "one tool", "two tools", "no tools",
           "schema bytes", "has tools")  # fmt: skip


def settle(parameters: Mapping[str, Any], row: TokenizerSpec, device: str) -> Mapping[str, Any]:
    """Check that there is a template.

    Raises:
        Unsupported: the row has none.
        InputError: the file that ``template`` names cannot be read.
    """
    del device
    template_of(row, str(parameters["template"]))
    return parameters


@dataclass(frozen=True, slots=True)
class ChatCounts:
    """Tokens of rendered conversations, and ids that stay the same from the beginning. Integers only."""

    counts: Mapping[str, int]  # by _COUNTS
    kept: NDArray[np.int64]  # [CHANGES, 2]: ids that are kept, and ids before the change; 0 of 0: cannot be changed

    def arrays(self) -> State:
        """Return arrays to keep with a record."""
        counts = np.array([self.counts[name] for name in _COUNTS], np.int64)
        return {"chat counts": counts, "chat kept": self.kept.ravel()}

    @classmethod
    def of_arrays(cls, arrays: State) -> ChatCounts:
        """Invert ``arrays``; raise ``InputError`` for arrays that contradict each other."""
        counts = taken(arrays, "chat counts", len(_COUNTS)).astype(np.int64).tolist()
        kept = taken(arrays, "chat kept", 2 * len(CHANGES)).astype(np.int64).reshape(-1, 2)
        named = dict(zip(_COUNTS, counts, strict=True))
        divided = named["turns"] > 1 and (named["schema bytes"] > 0 or not named["has tools"])
        if not divided or min(counts) < 0 or (kept < 0).any() or (kept[:, 0] > kept[:, 1]).any():
            raise InputError("counts of a chat contradict each other")
        return cls(named, kept)


def encoder(row: TokenizerSpec) -> Encode:
    """Return the encoder of rendered text: special tokens that a text spells become their ids.

    Raises:
        Unsupported: our engine cannot run the row.
    """
    try:
        tokenizer = tokenizers.load(f"native+{tokenizers.without_engine(row.name).text}")
    except InputError as error:
        raise Unsupported(f"rendered text needs control tokens, which our engine gives; {error}") from None
    assert isinstance(tokenizer, BpeTokenizer)  # noqa: S101 -- the engine has no others
    return lambda text: tokenizer.encode(text, allowed_special="all")


def check_tokens(template: ChatTemplate, encode: Encode) -> None:
    """Refuse a template that names special tokens which are no tokens of the row: it would count their letters.

    Raises:
        InputError: one of them is not one id.
    """
    for name, text in template.tokens.items():
        if name in template.text and text and len(encode(text)) != 1:
            raise InputError(
                f"{template.label}: {name} {text[:40]!r} is no token of the row, so its letters would be counted; "
                "take the tokenizer that the template was made for"
            )


def kept_ids(before: Ids, after: Ids) -> int:
    """Return how many ids of a prompt are those of another, from the first on: what a prompt cache keeps.

    >>> kept_ids(np.array([1, 2, 3], np.uint32), np.array([1, 2, 4, 3], np.uint32))
    2
    """
    shared = min(len(before), len(after))
    unequal = np.flatnonzero(before[:shared] != after[:shared])
    return int(unequal[0]) if unequal.size else shared


def measured(template: ChatTemplate, encode: Encode) -> ChatCounts:
    """Render and encode every conversation.

    Raises:
        InputError: the template cannot be used.
    """
    one, several = RenderedChat(exchanges(0)), RenderedChat(exchanges(_TURNS - 1))
    others = {
        "next turn": RenderedChat(exchanges(_TURNS)),
        "last turn": RenderedChat(exchanges(_TURNS - 1, last=OTHER_QUESTION)),
        "first turn": RenderedChat(exchanges(_TURNS - 1, first=OTHER_QUESTION)),
        "date": RenderedChat(several.messages, date=OTHER_DATE),
    }
    single, plain, *changed = map(encode, rendered(template, [one, several, *others.values()]))
    contents = [sum(len(encode(text)) for text in chat.contents) for chat in (one, several)]
    kept = {name: (kept_ids(plain, ids), len(plain)) for name, ids in zip(others, changed, strict=True)}
    tools, kept_with_tools = _with_tools(template, encode, several)
    kept |= kept_with_tools
    counts = {
        "one message": len(single), "its content": contents[0], "messages": len(plain),
        "turns": len(several.messages), "their contents": contents[1], "no tools": len(plain), **tools,
    }  # fmt: skip
    return ChatCounts(counts, np.array([kept[name] for name in CHANGES], np.int64))


def _with_tools(
    template: ChatTemplate, encode: Encode, plain: RenderedChat
) -> tuple[dict[str, int], dict[str, tuple[int, int]]]:
    """Return tokens with one tool and with two, and what is kept where the first tool's description or the day changes.

    Many templates name the day only next to tools.
    """
    one, both, other = [tool(0)], [tool(0), tool(1)], [tool(0, other=True), tool(1)]
    chats = [RenderedChat(plain.messages, some) for some in (one, both, other)]
    none = {"one tool": 0, "two tools": 0, "schema bytes": 0, "has tools": 0}
    try:
        texts = rendered(template, [*chats, RenderedChat(plain.messages, both, date=OTHER_DATE)])
    except InputError:  # a template may refuse tools
        return none, {"tool": (0, 0)}
    single, pair, changed, later = map(encode, texts)
    if np.array_equal(single, pair):  # it ignores them
        return none, {"tool": (0, 0)}
    counts = {"one tool": len(single), "two tools": len(pair), "schema bytes": schema_bytes(tool(1)), "has tools": 1}
    return counts, {name: (kept_ids(pair, ids), len(pair)) for name, ids in (("tool", changed), ("date", later))}


def measure(chat: ChatCounts) -> Iterator[Measurement]:
    """Yield every metric."""
    counts = chat.counts
    yield Measurement("chat_overhead", counts["one message"] - counts["its content"])
    more = counts["messages"] - counts["one message"] - (counts["their contents"] - counts["its content"])
    yield Measurement("message_overhead", more / (counts["turns"] - 1))
    if counts["has tools"]:
        per_tool = counts["two tools"] - counts["one tool"]
        yield Measurement("tool_tokens", per_tool)
        yield Measurement("tools_overhead", counts["one tool"] - counts["no tools"] - per_tool)
        yield Measurement("tool_tokens_per_byte", per_tool / counts["schema bytes"])
    else:
        for name in ("tool_tokens", "tools_overhead", "tool_tokens_per_byte"):
            yield Measurement(name, None, reason="the template has no tools")
    for name, (same, before) in zip(CHANGES, chat.kept.tolist(), strict=True):
        reason = None if before else "the template has no tools"
        yield Measurement("kept_ids_share", same / before if before else None, part=name, reason=reason)


def run(work: Work) -> Findings:
    """Render conversations, encode them and compare."""
    template = template_of(work.spec, str(work.case.parameters["template"]))
    encode = encoder(work.spec)
    check_tokens(template, encode)
    chat = measured(template, encode)
    given = _findings(chat)
    return Findings(given.measurements, {**given.details, "template": template.label}, state=chat.arrays())


def rederive(state: State, case: Case) -> Findings:
    """Compute every number again, from the counts."""
    del case
    return _findings(ChatCounts.of_arrays(state))


def _findings(chat: ChatCounts) -> Findings:
    return Findings(tuple(measure(chat)), {"counts": dict(chat.counts)})


def cached(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[Answer]:
    """Say what a template adds to a message, and what a cache loses when the date changes."""
    del data
    for result in results:
        values = {(one.metric, one.part): one.value for one in result.measurements}
        added, date = values.get(("chat_overhead", None)), values.get(("kept_ids_share", "date"))
        if added is None or date is None:
            continue
        lost = "" if date == 1 else f"; another date keeps {100 * date:.0f} % of a prompt"
        yield Answer("Chat template", f"{result.case.tokenizer}: {added:,} tokens around one message{lost}.")


_FEW = Format("{:.2f}")
REPORTED = (
    Metric("chat_overhead", "token", "lower", "tokens of a chat of one message, beyond those of its content",
           primary=True, exact=True, format=Format("{:,.0f}")),
    Metric("message_overhead", "token/message", "lower", "tokens that each further message adds to its content",
           exact=True, format=_FEW),
    Metric("tool_tokens", "token/tool", "lower", "tokens of each further tool", exact=True, format=Format("{:,.0f}")),
    Metric("tools_overhead", "token", "lower", "tokens that a list of tools adds, beyond each tool", exact=True,
           format=Format("{:,.0f}")),
    Metric("tool_tokens_per_byte", "token/byte", "lower", "tokens of a tool per byte of its schema", exact=True),
    Metric("kept_ids_share", "share", "higher", "ids of a prompt from its beginning that a change keeps", exact=True,
           format=PERCENT),
)  # fmt: skip

TABLE = Table(
    "Chat templates",
    columns=(
        Column("chat_overhead", "overhead"),
        Column("message_overhead", "by message"),
        Column("tools_overhead", "tools", optional=True),
        Column("tool_tokens", "by tool", optional=True),
        Column("tool_tokens_per_byte", "by byte", optional=True),
        *(Column("kept_ids_share", f"{name} %", part=name) for name in CHANGES),
    ),
    notes=(
        "%: ids of the prompt, from its beginning, that are the same after this changed (what a prompt cache keeps).",
    ),
)

BENCHMARKS = (
    Benchmark(
        "chat",
        "tokens that a chat template adds, and ids that a prompt cache keeps after a change",
        run,
        corpus="none",
        parameters={"template": ""},
        metrics=REPORTED,
        pace=Pace(2.0),
        tables=(TABLE,),
        answers=cached,
        rederive=rederive,
        settle=settle,
    ),
)
