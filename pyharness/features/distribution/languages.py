"""The benchmark ``languages``: how the languages of aligned text share a vocabulary and its costs."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.benchmarks import Benchmark, Findings, Pace, Work, fairness
from pyharness.corpora.streaming import batches, work_key
from pyharness.metrics.counting.state import Facts
from pyharness.metrics.counting.state_arrays import compact, of_text, taken, text_of
from pyharness.metrics.fairness import FairnessState
from pyharness.statistics.jackknife import Groups, Undefined, estimate, group_of
from pyharness.store.json_values import short
from pyharness.system import bounded_file, folders
from pyharness.types import (
    WORK,
    Case,
    CaseResult,
    Column,
    InputError,
    Measurement,
    Metric,
    Note,
    ParallelCorpus,
    Plot,
    State,
    Table,
    Tally,
    TokenizerSpec,
    Tokens,
    Unsupported,
    counted,
    digest_of,
)

MOST_USES = 1 << 27  # languages times ids: four bytes each
SHARES = (0.25, 0.5, 0.75)  # of languages, where the Lorenz curve is in a table
CURVE = tuple(place / 20 for place in range(1, 20))  # and where a page draws it
_MOST_BYTES = 1 << 20
_LONGEST = 40  # characters of the name of a level
# Measured: docs/papers.md.
_WIDE_PAIRS = ("script_parity", "level_parity")
_WIDE_ALONE = (*_WIDE_PAIRS, "vocabulary_use_variation", "lorenz_share")
_WIDE = "CIs are too wide: they hold in 98 % of samples"
_EXAMPLE = 'write a table [levels] with lines such as est_Latn = "3"'
Integers = NDArray[np.int64]
Masks = NDArray[np.uint32]  # [languages, ids]: bit g is set if the id occurs in the language in group g of rows


def read_levels(file: str) -> Mapping[str, str]:
    """Read the level of each language; numbers become text.

    Raises:
        InputError: the file cannot be read, or has no table of levels.
    """
    path = folders.expanded(file)
    label = f"levels {str(path)!r}"
    content = bounded_file.read_toml(path, _MOST_BYTES, label)
    levels = content.get("levels")
    if not isinstance(levels, dict) or not levels:
        raise InputError(f"{label} has no table of levels: {_EXAMPLE}")
    for language, level in levels.items():
        named = isinstance(level, str | int) and not isinstance(level, bool) and str(level).isprintable()
        if not named or not 0 < len(str(level)) <= _LONGEST:
            raise InputError(f"{label}: {short(language)} = {short(level)} is no level: {_EXAMPLE}")
    return {language: str(level) for language, level in levels.items()}


class ScriptCounts:
    """Letters of a language by script, the first word of their name in Unicode, such as LATIN or CJK."""

    MOST = 4096  # letters that are looked at

    def __init__(self) -> None:
        self.letters: Counter[str] = Counter()

    def add(self, text: str) -> None:
        """Count the letters of a text, until enough are counted."""
        left = self.MOST - self.letters.total()
        if left > 0:
            letters = [one for one in text[: 4 * left] if one.isalpha()][:left]
            self.letters.update(unicodedata.name(one, "UNKNOWN").split()[0] for one in letters)

    @property
    def script(self) -> str:
        """The script of most letters; the first in the alphabet of equal ones."""
        return min(self.letters, key=lambda name: (-self.letters[name], name), default="UNKNOWN")


@dataclass(slots=True)
class LanguageUse:
    """Costs of languages by group, and which ids occur in which language and group."""

    costs: FairnessState
    masks: Masks
    vocab_size: int
    learned: NDArray[np.bool_]  # [ids]: those of V whose entry has two bytes or more
    scripts: tuple[str, ...] = ()

    @classmethod
    def empty(cls, corpus: ParallelCorpus, facts: Facts) -> LanguageUse:
        """Return the state before any row; raise ``Unsupported`` if the ids do not fit into memory."""
        languages, ids = len(corpus.languages), len(facts.counted)
        if languages * ids > MOST_USES:
            raise Unsupported(f"{languages} languages x {ids:,} ids are more than {MOST_USES:,}: choose languages=")
        if facts.lengths is None:
            raise Unsupported("this engine does not expose the bytes of its tokens: which are learned is unknown")
        learned = facts.counted & (facts.lengths > 1)
        masks = np.zeros((languages, ids), np.uint32)
        costs = FairnessState.empty(corpus.languages, corpus.reference)
        return cls(costs, masks, facts.vocab_size, learned)

    def mark(self, tokens: Tokens, groups: Sequence[int]) -> None:
        """Note the ids of rows: ``tokens`` of their texts, language after language; ``groups`` of the rows."""
        languages, lengths = len(self.masks), np.diff(tokens.offsets)
        bits = np.repeat(np.left_shift(np.uint32(1), np.array(groups, np.uint32)), languages)
        language = np.tile(np.arange(languages), len(groups))
        np.bitwise_or.at(self.masks, (np.repeat(language, lengths), tokens.ids), np.repeat(bits, lengths))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays to keep with a record: of the masks, those that are set, each as the step from the last."""
        used = np.flatnonzero(self.masks)
        return {
            **self.costs.arrays(),
            "uses": compact(np.diff(used, prepend=0)),
            "use masks": self.masks.ravel()[used],
            "ids": np.array([self.vocab_size, self.masks.shape[1]]),
            "learned": np.packbits(self.learned),
            "scripts": of_text("\n".join(self.scripts)),
        }

    @classmethod
    def of_arrays(cls, arrays: State) -> LanguageUse:
        """Invert ``arrays``; raise ``InputError`` for arrays that contradict each other."""
        costs = FairnessState.of_arrays(arrays)
        vocab_size, ids = taken(arrays, "ids", 2).tolist()
        scripts = tuple(text_of(taken(arrays, "scripts")).split("\n"))
        languages = len(costs.languages)
        if not 0 <= ids * languages <= MOST_USES or vocab_size < 0 or len(scripts) != languages:
            raise InputError("the uses of ids are too many, or of other languages")
        steps = taken(arrays, "uses").astype(np.int64)
        values = taken(arrays, "use masks", len(steps)).astype(np.uint32)
        places = np.cumsum(steps)
        if len(places) and ((steps[1:] < 1).any() or not 0 <= places[0] <= places[-1] < ids * languages):
            raise InputError("the uses of ids are not in order")
        masks = np.zeros(ids * languages, np.uint32)
        masks[places] = values
        learned = np.unpackbits(taken(arrays, "learned", -(-ids // 8)).astype(np.uint8), count=ids).astype(np.bool_)
        return cls(costs, masks.reshape(languages, ids), vocab_size, learned, scripts)

    def used(self, groups: Groups) -> NDArray[np.bool_]:
        """Return which ids occur in which language in some groups: bool [languages, ids]."""
        wanted = np.uint32(sum(1 << int(group) for group in np.flatnonzero(groups)))
        return (self.masks & wanted) > 0


def settle(parameters: Mapping[str, Any], row: TokenizerSpec, device: str) -> Mapping[str, Any]:
    """Read the levels before anything is measured; raise ``InputError``."""
    del row, device
    if not parameters.get("levels"):
        return {name: value for name, value in parameters.items() if name != "levels"}
    levels = parameters["levels"]
    return {**parameters, "levels": levels if isinstance(levels, Mapping) else dict(read_levels(str(levels)))}


def run(work: Work) -> Findings:
    """Read aligned text once."""
    corpus, tokenizer, tally = work.aligned, work.load(), Tally()
    use = LanguageUse.empty(corpus, Facts.of(tokenizer))
    letters = [ScriptCounts() for _ in corpus.languages]
    for rows in batches(corpus.rows(tally), count=fairness.ROWS_PER_BATCH):

        def count(
            texts: list[str], _: NDArray[np.int64], rows: Sequence[Mapping[str, str]] = rows
        ) -> NDArray[np.int64]:
            tokens = tokenizer.encode_batch(texts, work.threads)
            use.mark(tokens, _groups(rows, corpus.reference))
            return np.diff(tokens.offsets)

        fairness.add_rows(use.costs, count, rows, tally)
        for counts, name in zip(letters, corpus.languages, strict=True):
            for row in rows:
                counts.add(row[name])
        work.progress(tally.bytes)
    use.scripts = tuple(one.script for one in letters)
    return replace(_findings(use, work.case), tally=tally, state=use.arrays())


def _groups(rows: Sequence[Mapping[str, str]], reference: str) -> list[int]:
    """Return the groups that ``fairness.add_rows`` puts rows into."""
    return [group_of(digest_of(work_key(row[WORK]) if row.get(WORK) else row[reference])) for row in rows]


def rederive(state: State, case: Case) -> Findings:
    """Compute every number again, from the costs and uses by group."""
    return _findings(LanguageUse.of_arrays(state), case)


def _findings(use: LanguageUse, case: Case) -> Findings:
    levels: Mapping[str, str] = case.parameters.get("levels", {})
    scripts = dict(zip(use.costs.languages, use.scripts, strict=True))
    details = {"scripts": scripts, "without a level": [one for one in scripts if levels and one not in levels]}
    return Findings(tuple(measurements(use, scripts, levels)), details)


def measurements(use: LanguageUse, scripts: Mapping[str, str], levels: Mapping[str, str]) -> Iterator[Measurement]:
    """Yield every metric; ``scripts`` and ``levels`` by language."""
    yield _estimate(use, "vocabulary_use_variation", None, lambda groups: _variation(use, groups))
    yield _estimate(use, "languages_per_token", None, lambda groups: _languages_per_token(use, groups))
    for share in CURVE:
        yield _estimate(use, "lorenz_share", f"{share:.0%}", lambda groups, at=share: lorenz(_costs(use, groups), at))  # type: ignore[misc]
    for metric, names in (("script_parity", scripts), ("level_parity", levels)):
        for name in sorted({names[one] for one in use.costs.languages if one in names}):
            inside = np.array([names.get(one) == name for one in use.costs.languages])
            yield _estimate(use, metric, name, lambda groups, inside=inside: _parity(use, groups, inside))  # type: ignore[misc]


def _estimate(use: LanguageUse, metric: str, part: str | None, of: Callable[[Groups], float]) -> Measurement:
    sizes = use.costs.bytes.sum(axis=1).tolist()
    one = estimate(metric, use.costs.rows.tolist(), of, part, sizes, grows=_ABOUT[metric].grows_with_text)
    single, pair = (_WIDE if metric in names else None for names in (_WIDE_ALONE, _WIDE_PAIRS))
    return replace(one, no_interval=one.no_interval or single, no_pair=one.no_pair or pair)


def _costs(use: LanguageUse, groups: Groups) -> NDArray[np.int64]:
    costs: NDArray[np.int64] = use.costs.tokens[groups].sum(axis=0)
    if not costs.all():
        raise Undefined("a language produced no tokens")
    return costs


def _variation(use: LanguageUse, groups: Groups) -> float:
    shares = use.used(groups).sum(axis=1) / max(use.vocab_size, 1)
    if len(shares) < 2 or not shares.any():
        raise Undefined("fewer than two languages")
    return float(shares.std(ddof=1) / shares.mean())


def _languages_per_token(use: LanguageUse, groups: Groups) -> float:
    languages = use.used(groups)[:, use.learned].sum(axis=0)
    if len(use.masks) < 2 or not languages.any():
        raise Undefined("fewer than two languages, or no token of two bytes occurs")
    return float(languages.sum() / np.count_nonzero(languages))


def lorenz(costs: NDArray[np.int64], share: float) -> float:
    """Return the share of all costs that the cheapest ``share`` of languages has; straight between languages.

    >>> lorenz(np.array([1, 3]), 0.5), lorenz(np.array([2, 2]), 0.25)
    (0.25, 0.25)
    """
    curve = np.concatenate(([0.0], np.cumsum(np.sort(costs)))) / costs.sum()
    return float(np.interp(share, np.linspace(0, 1, len(curve)), curve))


def _parity(use: LanguageUse, groups: Groups, inside: NDArray[np.bool_]) -> float:
    costs = _costs(use, groups)
    return float(costs[inside].mean() / costs[use.costs.languages.index(use.costs.reference)])


def _name_aligned(results: Sequence[CaseResult], data: Mapping[str, Any]) -> str:
    """Name the text with its number of languages."""
    del data
    return f"{results[0].case.corpus}, {counted(len(results[0].details.get('scripts', ())), 'language')}"


def _lacking(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Name the languages without a level."""
    del data
    if missing := results[0].details.get("without a level"):
        yield f"Languages that the table of levels lacks: {', '.join(missing)}."


REPORTED = (
    Metric("vocabulary_use_variation", "ratio", "none",
           "standard deviation over languages of the used share of V / its mean", grows_with_text=True),
    Metric("languages_per_token", "language", "none",
           "languages in which a used token of two bytes or more occurs", primary=True, grows_with_text=True),
    Metric("lorenz_share", "share", "none", "share of all tokens in the cheapest languages: the part says how many"),
    Metric("script_parity", "ratio", "lower", "mean tokens of the languages of a script, relative to the reference"),
    Metric("level_parity", "ratio", "lower", "mean tokens of the languages of a level, relative to the reference"),
)  # fmt: skip
_ABOUT = {metric.name: metric for metric in REPORTED}


_LORENZ = "Lorenz curve of languages"
_COSTS = "Share of all tokens that the cheapest languages have; their share of the languages, if all cost the same."


def _table(title: str, columns: Mapping[str, str], *notes: Note, each: bool = False) -> Table:
    shown = tuple(Column(metric, title, each=each, interval=True) for metric, title in columns.items())
    return Table(title, shown, notes, joined=("levels",), needs=tuple(columns) if each else (), text=_name_aligned)


def _parities(kind: str, *notes: Note) -> Table:
    about = f"Mean tokens of the languages of a {kind}, relative to the reference language."
    return _table(f"Parity by {kind}", {f"{kind}_parity": "{part}"}, about, *notes, each=True)


TABLES = (
    _table(
        "Languages", {"vocabulary_use_variation": "variation of use", "languages_per_token": "languages/token"},
        "variation of use: of the share of the vocabulary that a language uses; standard deviation / mean.",
        "languages/token: in which an id of two bytes or more occurs; -: no such id.",
    ),
    _parities("script"), _parities("level", _lacking),
    Table(
        _LORENZ,
        tuple(Column("lorenz_share", f"cheapest {share:.0%}", part=f"{share:.0%}", interval=True) for share in SHARES),
        (_COSTS,), joined=("levels",), text=_name_aligned,
    ),
)  # fmt: skip
_DRAWN = Table(
    _LORENZ, (Column("lorenz_share", "cheapest languages, {part}", each=True),),
    joined=("levels",), text=_name_aligned,
)  # fmt: skip
PLOTS = (Plot(_DRAWN, _COSTS, drawing="curve", axis="share of tokens"),)

BENCHMARKS = (
    Benchmark(
        "languages",
        "languages by script and level, tokens that they share, Lorenz curve",
        run,
        corpus="parallel",
        parameters={"levels": ""},
        metrics=REPORTED,
        pace=Pace(0.2, 0.5),
        tables=TABLES,
        plots=PLOTS,
        rederive=rederive,
        settle=settle,
    ),
)
