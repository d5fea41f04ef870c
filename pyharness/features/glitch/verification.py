"""Verification: whether the model writes a token where a prompt leaves no other choice (arXiv 2405.05417, section 3.3).

Three prompts ask for the token: as a copy, as the subject of a question, and as a repetition. A placeholder token
builds each prompt, and the id of the candidate replaces it. So the candidate's own text need not give its id. The token
counts as verified where the largest probability over prompts and steps is under 1 %. The wording is ours, so a
probability is not that of the original's prompts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyharness.features.language_models.causal import CausalModel
from pyharness.features.language_models.windows import Layout
from pyharness.types import InputError, Tokenizer, Vocabulary

STEPS = 3  # tokens that the model may write
VERIFIED_BELOW = 0.01
LOGITS_AT_ONCE = 1 << 26  # 256 MiB of float32
LEAST_LETTERS = 4
TRIED = 64  # placeholders
BuiltPrompt: TypeAlias = tuple[NDArray[np.int64], NDArray[np.bool_]]  # ids, and where the placeholder is


@dataclass(frozen=True, slots=True)
class GlitchPrompt:
    """A prompt: a beginning, then shots of a request and its answer, the last without its answer."""

    beginning: str
    request: str
    answer: str
    shots: int

    def text(self, word: str, shots: int) -> str:
        """Return the prompt about a word, up to where the word must follow."""
        asked, answered = self.request.replace("{}", word), self.answer.replace("{}", word)
        return self.beginning + (asked + answered) * shots + asked + self.answer[: self.answer.index("{}")]

    def uses(self, shots: int) -> int:
        """Return how often the word is in the prompt."""
        return shots * (self.request + self.answer).count("{}") + self.request.count("{}")


PROMPTS = (
    GlitchPrompt("A program writes each input again, without a change.", "\nin: «{}»\nout:", " «{}»", 20),
    GlitchPrompt("A dictionary explains phrases.", "\nWhat is the meaning of '{}'?\nThe phrase", " '{}'", 0),
    GlitchPrompt("One phrase follows, again and again:\n", "{}", "{}", 24),
)


def largest_probabilities(
    model: CausalModel, tokenizer: Tokenizer, vocabulary: Vocabulary, ids: Sequence[int]
) -> NDArray[np.float64]:
    """Return the largest probability that the model gives each id over all prompts, float64 [len(ids)].

    Raises:
        InputError: no token of the vocabulary can be a placeholder, or the prompts do not fit the model.
    """
    prompts = list(_built(tokenizer, vocabulary, model.longest))
    probabilities = np.array([_probabilities(model, prompt, holes, ids) for prompt, holes in prompts])
    largest: NDArray[np.float64] = probabilities.max(axis=0)
    return largest


def _built(tokenizer: Tokenizer, vocabulary: Vocabulary, longest: int | None) -> Iterator[BuiltPrompt]:
    """Yield the ids of each prompt and the places of the placeholder; fewer shots where the model is short."""
    for prompt in PROMPTS:
        shots = prompt.shots
        built = _with_placeholder(tokenizer, vocabulary, prompt, shots)
        while longest is not None and len(built[0]) + STEPS > longest:
            if shots == 0:
                raise InputError(f"the model takes {longest} tokens, too few for the prompts; write verify=0")
            shots //= 2
            built = _with_placeholder(tokenizer, vocabulary, prompt, shots)
        yield built


def _with_placeholder(tokenizer: Tokenizer, vocabulary: Vocabulary, prompt: GlitchPrompt, shots: int) -> BuiltPrompt:
    """Return a prompt with the first placeholder that stays one token in it."""
    for token in _placeholders(vocabulary):
        ids = tokenizer.encode_batch([prompt.text(vocabulary[token].decode(), shots)], 1).ids.astype(np.int64)
        if int((holes := ids == token).sum()) == prompt.uses(shots):
            return ids, holes
    raise InputError("no token of letters stays whole in the prompts; write verify=0")


def _placeholders(vocabulary: Vocabulary) -> list[int]:
    """Return tokens of many different letters first: they are rarely cut or merged with their neighbours."""
    counted = vocabulary.counted
    words = {
        token: data.decode()
        for token, data in enumerate(vocabulary.strings())
        if counted[token] and len(data) >= LEAST_LETTERS and data.isalpha()
    }
    return sorted(words, key=lambda token: (-len(set(words[token])), -len(words[token]), token))[:TRIED]


def _probabilities(
    model: CausalModel, prompt: NDArray[np.int64], holes: NDArray[np.bool_], ids: Sequence[int]
) -> NDArray[np.float64]:
    """Return the largest probability of each id over the steps of one prompt, in batches of bounded size."""
    at_once = max(LOGITS_AT_ONCE // ((len(prompt) + STEPS) * model.columns), 1)
    parts = [np.array(ids[start : start + at_once], np.int64) for start in range(0, len(ids), at_once)]
    return np.concatenate([_written(model, np.where(holes, part[:, None], prompt), part) for part in parts])


def _written(model: CausalModel, ids: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.float64]:
    """Let the model write greedily behind ids [n, length]; return the largest probability of ``wanted`` [n]."""
    import torch

    largest = np.zeros(len(wanted))
    with torch.inference_mode():
        for _ in range(STEPS):
            none = np.zeros(ids.shape, np.bool_)
            logits = model.logits(Layout(ids, np.ones_like(ids), none, ids[:0, 0]))[:, -1].float()
            probabilities = torch.softmax(logits, -1).cpu().numpy()
            largest = np.maximum(largest, probabilities[np.arange(len(wanted)), wanted])
            ids = np.concatenate((ids, probabilities.argmax(axis=1)[:, None]), axis=1)
    return largest
