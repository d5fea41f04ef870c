"""Tokens that the pre-tokenizer always cuts: inside, or at an edge where the word has to go on; with any neighbours."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from pyharness.metrics.arguments.argument import Argument
from pyharness.vocabularies.patterns.pieces import START, PieceAutomaton, Word
from pyharness.vocabularies.patterns.syntax import Uncompilable
from pyharness.vocabularies.stages import SplitStep, TokenForm


class SplitArguments:
    """Arguments from the steps of a pre-tokenizer, each by itself: further steps only add cuts.

    ``unexaminable`` names the unknown steps, with the reasons.
    """

    def __init__(self, steps: Sequence[SplitStep]) -> None:
        self.steps: list[tuple[SplitStep, PieceAutomaton, int]] = []
        self.unexaminable: list[str] = []
        self._alone = len(steps) == 1
        for step in steps:
            try:
                automaton = PieceAutomaton(step.expression, step.dialect)
            except Uncompilable as error:
                self.unexaminable.append(f"the split pattern {step.expression[:60]!r}: {error}")
                continue
            gaps = automaton.may_start_no_match() if step.keeps_gaps else 0
            self.steps.append((step, automaton, gaps))

    def of(self, form: TokenForm) -> Argument | None:
        """Return an argument about one form of a token."""
        if not self.steps or any(unicodedata.category(character) == "Cn" for character in form.text):
            return None  # engines of different age may classify a new character differently
        for step, automaton, gaps in self.steps:
            parts = _parts(form, step)
            if not all(_may_stand_in_one_piece(part, step, automaton, gaps) for part in parts):
                return Argument("always_cut", _text(form))
        return None

    def can_be_whole(self, form: TokenForm) -> bool:
        """Return whether a token may be a piece by itself, as far as this is known."""
        if not self._alone or not self.steps:
            return True
        step, automaton, gaps = self.steps[0]
        word = automaton.classes.word(form.text)
        if step.inserted or not step.keeps_matches or _all_in(word, gaps):
            return True
        return automaton.ends_here(automaton.after(frozenset({START}), word))

    def contexts(self, form: TokenForm) -> Iterator[tuple[Word, Word]]:
        """Yield classes of possible neighbours before and behind a token in one piece, by the first known step."""
        if self.steps and self.steps[0][0].keeps_matches:
            word = self.steps[0][1].classes.word(form.text)
            yield from self.steps[0][1].contexts(word, inside=form.starts is False)


def _parts(form: TokenForm, step: SplitStep) -> list[TokenForm]:
    """Return what a step sees of a token: parts between characters that later steps insert or replace."""
    if not any(character in form.text for character in step.inserted):
        return [form]
    texts = form.text.translate(dict.fromkeys(map(ord, step.inserted), "\0")).split("\0")
    return [TokenForm(text) for text in texts if text]


def _may_stand_in_one_piece(form: TokenForm, step: SplitStep, automaton: PieceAutomaton, gaps: int) -> bool:
    word = automaton.classes.word(form.text)
    if step.keeps_gaps and _all_in(word, gaps):
        return True
    before = automaton.inside if form.starts is False else automaton.everywhere
    after = automaton.after(before, word) if step.keeps_matches else frozenset()
    return automaton.goes_on(after) if form.goes_on else bool(after)


def _all_in(word: Word, classes: int) -> bool:
    return all(classes >> number & 1 for number in word)


def _text(form: TokenForm) -> str:
    if form.starts is False:
        return "the pre-tokenizer always cuts the token's text or right before it, and the token starts no word"
    if form.goes_on:
        return "the pre-tokenizer always cuts the token's text or right after it, and the token ends no word"
    return "the pre-tokenizer always cuts the token's text, whatever surrounds it"
