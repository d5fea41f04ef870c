"""Words of a gold file and rows of aligned text: what ``morphology`` and ``languages`` measure of drawn ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from columns.drawing import Integers, Measure, groups_of
from pyharness.features.distribution import languages
from pyharness.features.morphology.benchmark import score
from pyharness.features.morphology.formats import GoldWord
from pyharness.features.morphology.scores import WordScores, measure
from pyharness.metrics.counting.state import Facts
from pyharness.metrics.fairness import FairnessState
from pyharness.tokenizers.segmenting import segmenter_of
from pyharness.types import Measurement, ParallelCorpus, Tally, Tokenizer, Tokens


def with_frequencies(words: Sequence[GoldWord], texts: Iterable[str]) -> list[GoldWord]:
    """Give words their counts in texts, plus one."""
    counts = Counter(word for text in texts for word in re.findall(r"\w+", text))
    return [replace(one, frequency=counts[one.word] + 1.0) for one in words]


def of_words(row: Tokenizer, words: Sequence[GoldWord]) -> tuple[Measure, int]:
    """Scores of gold words."""
    scores = score(segmenter_of(row), words, space=False)

    def measured(chosen: Integers, keys: Sequence[bytes]) -> Sequence[Measurement]:
        outcomes = scores.outcomes[chosen]
        outcomes[:, 4] = groups_of(keys)
        weights = None if scores.frequencies is None else scores.frequencies[chosen]
        return list(measure(WordScores(outcomes, weights, 0)))

    return measured, len(scores.outcomes)


def of_rows(row: Tokenizer, corpus: ParallelCorpus) -> tuple[Measure, int]:
    """Use of a vocabulary by languages. Only ids that occur take part: others change no number."""
    texts = [[one[name] for name in corpus.languages] for one in corpus.rows(Tally())]
    facts = Facts.of(row)
    assert facts.lengths is not None
    encoded = [row.encode_batch(one) for one in texts]
    kept = np.unique(np.concatenate([one.ids for one in encoded]))
    encoded = [Tokens(np.searchsorted(kept, one.ids).astype(np.uint32), one.offsets) for one in encoded]
    learned = (facts.counted & (facts.lengths > 1))[kept]
    scripts = tuple(name[-4:] for name in corpus.languages)
    sizes = np.array([[len(text.encode()) for text in text_row] for text_row in texts])

    def measured(chosen: Integers, keys: Sequence[bytes]) -> Sequence[Measurement]:
        masks = np.zeros((len(corpus.languages), len(kept)), np.uint32)
        costs = FairnessState.empty(corpus.languages, corpus.reference)
        use = languages.LanguageUse(costs, masks, facts.vocab_size, learned, scripts)
        for one, group in zip(chosen.tolist(), groups_of(keys).tolist(), strict=True):
            use.mark(encoded[one], [group])
            use.costs.update(group, np.diff(encoded[one].offsets), sizes[one])
        return list(languages.measurements(use, dict(zip(corpus.languages, scripts, strict=True)), {}))

    return measured, len(texts)
