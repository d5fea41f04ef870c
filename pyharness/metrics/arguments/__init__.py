"""Arguments that no text makes a tokenizer emit a token. docs/metrics.md, "The arguments", states each in full."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from pyharness.metrics.arguments.argument import AddedTokenArguments, Argument
from pyharness.metrics.arguments.normalization import NormalizerArguments
from pyharness.metrics.arguments.splitting import SplitArguments
from pyharness.vocabularies.stages import Stages, TokenForm

# Sums of 64 bits over a piece of a million characters are wrong by less than a hundredth of this.
LEAST_MARGIN = 1e-6
Instead: TypeAlias = Callable[[int], Sequence[int] | None]  # the model's encoding of a token that fails layer 2


@dataclass(frozen=True)
class Arguments:
    """Searches for an argument, token by token.

    Args:
        stages: of the tokenizer.
        instead: the model's own encoding of a token's symbols, for tokens that it does not restore.
    """

    stages: Stages
    instead: Instead

    def of(self, token: int) -> Argument | None:
        """Return an argument that a token is never emitted, or None if there is no argument."""
        forms = self.stages.forms(token)
        if (argument := self._model(token, forms)) is not None:
            return argument
        arguments = [self._form(form) for form in forms]
        return next((argument for argument in arguments if argument), None) if arguments and all(arguments) else None

    @property
    def unexaminable(self) -> list[str]:
        """Stages that give no argument, with the reasons."""
        reasons = list(self.splitting.unexaminable)
        if self.stages.normalizer is None:
            reasons.append("a normaliser that is a table")
        if self.stages.model == "unigram" and self.stages.scores is None:
            reasons.append("a Unigram model whose sums of 32 bits may round differently in long texts")
        return reasons

    @cached_property
    def splitting(self) -> SplitArguments:
        """Arguments from the pre-tokenizer."""
        return SplitArguments(self.stages.splits)

    @cached_property
    def _added(self) -> AddedTokenArguments:
        return AddedTokenArguments(self.stages)

    @cached_property
    def _normalizing(self) -> NormalizerArguments:
        return NormalizerArguments(self.stages)

    def _form(self, form: TokenForm) -> Argument | None:
        return self._added.of(form) or self._normalizing.of(form) or self.splitting.of(form) or self._behind_space(form)

    def _behind_space(self, form: TokenForm) -> Argument | None:
        if form.starts is not False or not self._normalizing.starts_behind_space(form):
            return None
        if self.splitting.of(TokenForm(" " + form.text)) is None:
            return None
        return Argument("ideograph_alone", "the normaliser puts a space before it, so that it starts a word")

    def _model(self, token: int, forms: Sequence[TokenForm]) -> Argument | None:
        instead = self.instead(token)
        if instead is None:
            return None
        if self.stages.model == "bpe":
            return self._merges(forms) if self.stages.spelled_once(token) else None
        if self.stages.model == "wordpiece":
            return Argument("longer_than_words", "a word that holds it has more characters than the model takes")
        return self._better_path(token, instead)

    def _merges(self, forms: Sequence[TokenForm]) -> Argument | None:
        text = "merges inside its symbols come in the same order with any neighbours, and make other tokens"
        if len(forms) > 1 and self._form(forms[0]) is None:
            return None  # the text may spell a mark that the symbols lack
        if not self.stages.whole_pieces:
            return Argument("merges_alone", text)
        if forms and not any(self.splitting.can_be_whole(form) for form in forms):
            return Argument("merges_alone", f"{text}; and it is never a whole piece")
        return None

    def _better_path(self, token: int, instead: Sequence[int]) -> Argument | None:
        scores = self.stages.scores
        if scores is None or self._spell(instead) != self._spell([token]):
            return None
        margin = sum(scores[part] for part in instead) - scores[token]
        if margin < LEAST_MARGIN:
            return None
        return Argument("better_path", f"its text scores {margin:.4g} more as {len(instead)} other tokens, anywhere")

    def _spell(self, tokens: Sequence[int]) -> str:
        return "".join(form.text for token in tokens for form in self.stages.forms(token)[:1])
