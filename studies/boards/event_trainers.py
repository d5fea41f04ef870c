"""Are our PickyBPE and BPE-knockout those of their authors? Their own code on real text, event by event and id by id.

    PYTHONPATH=studies python -m boards.event_trainers picky --original picky_bpe/ CORPUS...
    PYTHONPATH=studies python -m boards.event_trainers knockout --python PYTHON --base FILE --gold FILE CORPUS...
    PYTHONPATH=studies python -m boards.event_trainers frozen --original picky_bpe/ --python PYTHON

``--original`` is a clone of github.com/pchizhov/picky_bpe (038fcb9). ``--python`` is an interpreter with bpe-knockout
and tktkt installed. Both run in a process of their own. A corpus is named as for ``pyharness run -c``. ``frozen``
writes the files of the tests. The exit status is 1 where anything differs.

PickyBPE merges words in the order of a set of objects, which is that of memory addresses. Here that set is ordered by
the first occurrence of the words, so that ties are decided alike. Nothing else of the code is changed. Its characters
are our bytes, as Latin-1.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from pyharness.bpe import PieceCounter, TextSplitter, WeightedPieces, import_model, model_of_training, train
from pyharness.corpora import open_corpus
from pyharness.features.morphology.formats import GoldWord
from pyharness.features.morphology.gold import read_gold
from pyharness.features.paper_trainers.event_model import NEVER, EventModel
from pyharness.features.paper_trainers.event_tokenizer import EventEncoder, EventTokenizer
from pyharness.features.paper_trainers.knockout import events_of, knock_out
from pyharness.features.paper_trainers.picky import model_of
from pyharness.features.paper_trainers.picky_training import PickyTraining
from pyharness.types import Tally, cut
from pyharness.vocabularies.files.byte_alphabet import in_letters, of_letters

TESTS = Path(__file__).parents[2] / "tests/features/paper_trainers"
SIZE = 2_000_000  # characters of each corpus

PICKY_PROGRAM = """
import json, logging, sys, tempfile
sys.path.insert(0, sys.argv[1])
asked = json.load(sys.stdin)
import language

class Ordered(set):  # words in the order of their first occurrence
    def __and__(self, other):
        return sorted(set.intersection(self, other), key=lambda word: word.id)
    def __iter__(self):
        return iter(sorted(set.__iter__(self), key=lambda word: word.id))

language.set = Ordered
import bpe_trainer, picky_tokenize
words = [language.Word(number, word, weight) for number, (word, weight) in enumerate(asked["words"].items())]
bpe_trainer.BPE._get_words = staticmethod(lambda file: words)
trainer = bpe_trainer.BPE(asked["size"], coverage=1, threshold=asked["threshold"])
with tempfile.NamedTemporaryFile(suffix=".json") as file:
    trainer.fit(None, file.name)
    model = picky_tokenize.BPEModel(file.name)
merge = bpe_trainer.EventType.MERGE
events = [
    [[one.str for one in what], [into.str]] if kind is merge else [[what.str], [one.str for one in into]]
    for kind, what, into in trainer.events
]
present = [one.str for one in trainer.id2token.values() if one.present and not one.special]
encoded = [[one.str for one in model._encode_word_by_events(word)] for word in asked["encode"]]
json.dump({"events": events, "present": present, "encoded": encoded}, sys.stdout)
"""


def answer(command: Sequence[str], asked: Any) -> Any:
    """Ask a program of the original for JSON."""
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return json.loads(done.stdout)


def pieces_of(splitter: TextSplitter, texts: Iterable[str]) -> tuple[WeightedPieces, list[bytes]]:
    """Count the pieces of texts; also return their bytes."""
    counter = PieceCounter(splitter)
    counter.add(list(texts))
    pieces = counter.pieces()
    return pieces, cut(bytes(pieces.symbols.astype(np.uint8)), pieces.offsets)


def weights_of(pieces: WeightedPieces, strings: Iterable[bytes], encoding: str) -> dict[str, int]:
    return dict(zip((one.decode(encoding) for one in strings), pieces.weights.tolist(), strict=True))


def fronts(corpora: Iterable[str], size: int) -> Iterator[str]:
    """Yield the documents of each corpus up to a number of characters."""
    for corpus in corpora:
        left = size
        for text in open_corpus(corpus).documents(Tally()):
            yield text[:left]
            left -= len(text)
            if left <= 0:
                break


# --------------------------------------------------------------------------------------------------------- PickyBPE


def picky(options: argparse.Namespace) -> bool:
    pieces, strings = pieces_of(TextSplitter("gpt2"), fronts(options.corpora, options.characters))
    words = weights_of(pieces, strings, "latin-1")
    asked = {"words": words, "size": options.vocab_size, "threshold": options.threshold, "encode": list(words)}
    begin = time.perf_counter()
    theirs = answer([sys.executable, "-c", PICKY_PROGRAM, str(options.original)], asked)
    middle = time.perf_counter()
    training = PickyTraining(pieces, options.threshold)
    while len(training.events) < len(theirs["events"]) and training.merge():
        pass
    end = time.perf_counter()
    ours = [[[training.strings[one].decode("latin-1") for one in side] for side in event] for event in training.events]
    pairs = enumerate(zip(ours, theirs["events"], strict=False))
    same = next((at for at, (here, there) in pairs if here != there), min(len(ours), len(theirs["events"])))
    say(f"{len(words):,} distinct pieces; {middle - begin:.1f} s there, {end - middle:.1f} s here")
    removals = sum(len(before) == 1 for before, _ in ours)
    say(f"events: {same:,} of {len(theirs['events']):,} are equal, {removals:,} of ours are removals")
    if same < len(theirs["events"]):
        say(f"the first other one: {ours[same : same + 1]} here, {theirs['events'][same]} there")
        return False
    model = model_of(training, TextSplitter("gpt2"))
    here = {
        string.decode("latin-1") for string, present in zip(model.strings, training.present, strict=True) if present
    }
    say(f"present: {len(here):,} here, {len(theirs['present']):,} there (of {options.vocab_size:,} asked)")
    never = {string for string in here if len(string) == 1} - set(words)  # bytes that do not occur
    other = {*theirs["present"]} ^ (here - never)
    return compared(model, list(words), theirs["encoded"]) and not other


def compared(model: EventModel, words: Sequence[str], theirs: Sequence[Sequence[str]]) -> bool:
    """Compare the tokens of words."""
    vocabulary, tokenizer = model.vocabulary(), EventTokenizer(model)
    for word, tokens in zip(words, theirs, strict=True):
        ids = tokenizer._ids(word.encode("latin-1"))
        if [vocabulary[one].decode("latin-1") for one in ids] != list(tokens):
            say(f"{word!r}: {[vocabulary[one] for one in ids]} here, {tokens} there")
            return False
    say(f"encoded: {len(words):,} of {len(words):,} words are equal, {sum(map(len, theirs)):,} ids")
    return True


# ----------------------------------------------------------------------------------------------------- BPE-knockout

# In the byte alphabet of GPT-2. The preprocessor and the gold words are stand-ins for those of tktkt and modest.
KNOCKOUT_PROGRAM = """
import json, sys
from types import SimpleNamespace
from importlib.metadata import version
asked = json.load(sys.stdin)
from bpe_knockout.model import vocabulariser
from bpe_knockout.model.config import FullBPEKnockoutConfig, KnockoutConfig
from bpe_knockout.model.tokeniser import BTE
from tktkt.interfaces.identifiers import NoSpecials, Vocab
from tktkt.preparation.boundaries import BoundaryMarker, BoundaryMarkerLocation

class Pieces:
    def do(self, text):
        return list(asked["pieces"][text])
    def getBoundaryMarker(self):
        return BoundaryMarker("\\u0120", detached=True, location=BoundaryMarkerLocation.START)

class Artifacts:
    def preprocessorEffective(self):
        return Pieces()

class Gold:
    def generate(self):
        return (SimpleNamespace(word=word, parts=parts) for word, parts in asked["gold"])

class Parts:
    def toMethod(self):
        return lambda one: one.parts

config = FullBPEKnockoutConfig(
    knockout=KnockoutConfig(reference=Parts(), relative_blame_minimum=asked["threshold"]),
    iterations=asked["iterations"],
)
tokenizer = BTE(
    Pieces(), Vocab(asked["tokens"], NoSpecials(), unk_id=None), [tuple(merge) for merge in asked["merges"]], config
)
vocabulariser.BPEKnockoutVocabulariser(Artifacts(), config, quiet=True)._iterative(
    tokenizer, Gold(), iterations=asked["iterations"]
)
json.dump({
    "versions": {name: version(name) for name in ("bpe-knockout", "tktkt")},
    "merges": [merge.split(" ") for merge in tokenizer.merge_graph.getRawMerges()],
    "tokens": sorted(tokenizer.vocab),
    "encoded": [tokenizer._finalTokens(tokenizer._initialTokens(word)) for word in asked["encode"]],
}, sys.stdout)
"""


def knocked_out_there(
    python: str, base: EventModel, gold: Sequence[GoldWord], threshold: float, iterations: int, words: Sequence[str]
) -> Any:
    """Run the original on a base, in the byte alphabet of GPT-2."""
    splitter = TextSplitter(base.splitter, dialect=base.dialect)
    tokens = [in_letters(string) for string in base.strings]
    mark = "\U0001f0a0"  # stands for a boundary there
    rows, pieces = [], {mark: [in_letters(f" {mark}".encode())]}
    for word in gold:
        split = mark.join(word.morphemes)
        for text in (word.word, split):
            pieces[text] = [in_letters(piece) for piece in splitter.split(f" {text}")]
        rows.append((word.word, list(word.morphemes)))
        pieces[" ".join(word.morphemes)] = pieces[split]
    asked = {
        "tokens": tokens, "merges": [[tokens[one] for one in event.before] for event in base.events], "gold": rows,
        "pieces": pieces, "threshold": threshold, "iterations": iterations, "encode": list(words),
    }  # fmt: skip
    return answer([python, "-I", "-c", KNOCKOUT_PROGRAM], asked)


def knockout(options: argparse.Namespace) -> bool:
    base = events_of(import_model(options.base), str(options.base))
    gold = list(islice(read_gold(str(options.gold)).words, options.words))
    splitter = TextSplitter(base.splitter, dialect=base.dialect)
    _, strings = pieces_of(splitter, fronts(options.corpora, options.characters))
    # The original cannot write a space, and cuts runs of one token in another way: docs/algorithms.md "BPE-knockout".
    words = [piece for piece in strings if b" " not in piece[1:]]
    begin = time.perf_counter()
    theirs = knocked_out_there(
        options.python, base, gold, options.threshold, options.iterations, [in_letters(word) for word in words]
    )
    middle = time.perf_counter()
    ours, _ = knock_out(base, gold, options.threshold, options.iterations, space=True)
    say(f"{theirs['versions']}; {middle - begin:.1f} s there, {time.perf_counter() - middle:.1f} s here")
    merges = [[in_letters(ours.strings[one]) for one in event.before] for event in ours.events]
    say(
        f"{len(gold):,} gold words; knocked out: {ours.ids.count(NEVER):,} tokens; merges equal: "
        f"{merges == theirs['merges']}, {sum(len(merge) > 2 for merge in merges):,} of {len(merges):,} have more than "
        "two parts"
    )
    encoder = EventEncoder(ours)
    other = []
    for word, tokens in zip(words, theirs["encoded"], strict=True):
        here = [in_letters(ours.strings[one]) for one in encoder.encode(word)]
        if here != tokens:
            other.append((word, here, tokens))
    say(f"encoded: {len(words) - len(other):,} of {len(words):,} words are equal")
    for word, here, tokens in other[:10]:
        say(f"  {word!r}: {here} here, {tokens} there")
    unexplained = [word for word, _, tokens in other if as_text(ours, word) != tokens]
    say(f"of the others, {len(other) - len(unexplained):,} are as in the original where merges are replaced in text")
    return merges == theirs["merges"] and not unexplained


def as_text(model: EventModel, word: bytes) -> list[str]:
    """Merge as the original does: in text with a space around each token, of which two neighbours share one."""
    rules = [
        [f" {' '.join(in_letters(model.strings[one]) for one in side)} " for side in event] for event in model.events
    ]
    text = f" {' '.join(map(in_letters, (bytes([byte]) for byte in word)))} "
    while rule := next((one for one in rules if one[0] in text), None):
        text = text.replace(rule[0], rule[1])
    return text.split()


# ------------------------------------------------------------------------------------------------------ frozen cases

TEXT = """a hug and a pug hugged; the bug in the mug dug up a rug. low lower lowest, slow slower slowest, flow flowing.
could would should Kentucky Kentucky Kentucky entails entail tailor detail; under understand understanding standing
the cat sat on the mat; the rat sat on the cat. banana bananas bandana cabana; mississippi missing kissing hissing"""
GOLD = (
    "hug ged", "low er", "low est", "slow er", "slow est", "flow ing", "under stand", "under stand ing", "stand ing",
    "tail or", "entail s", "banana s", "miss ing", "kiss ing", "hiss ing", "mis sing",
)  # fmt: skip


def frozen(options: argparse.Namespace) -> bool:
    """Write what the originals make of a small text, for the tests of pyharness."""
    pieces, strings = pieces_of(TextSplitter("gpt2"), [TEXT])
    words = weights_of(pieces, strings, "utf-8")
    more = [*words, "slowing", " hugged", " unknowing", "bananana", "understood"]
    if options.original is not None:
        frozen_picky(options.original, words, more)
    if options.python is not None:
        frozen_knockout(options.python, pieces, words, more)
    return True


def frozen_picky(original: Path, words: Mapping[str, int], more: Sequence[str]) -> None:
    trainings = {}
    for threshold in (0.5, 0.6, 0.9):
        asked = {"words": words, "size": 90, "threshold": threshold, "encode": more}
        theirs = answer([sys.executable, "-c", PICKY_PROGRAM, str(original)], asked)
        trainings[f"threshold {threshold}"] = {
            "words": words, "threshold": threshold, "events": theirs["events"],
            "encoded": dict(zip(more, theirs["encoded"], strict=True)),
        }  # fmt: skip
    source = "github.com/pchizhov/picky_bpe 038fcb9, words in the order of their first occurrence"
    write("picky_original", {"source": source, "trainings": trainings})


def frozen_knockout(python: str, pieces: WeightedPieces, words: Mapping[str, int], more: Sequence[str]) -> None:
    base = events_of(model_of_training(train(pieces, 340), "gpt2"), "the base")
    gold = [GoldWord(line.replace(" ", ""), tuple(line.split())) for line in GOLD]
    runs = {}
    for threshold, iterations in ((0.5, 1), (0.3, 1), (0.5, 3)):
        theirs = knocked_out_there(python, base, gold, threshold, iterations, list(map(letters, more)))
        runs[f"threshold {threshold}, iterations {iterations}"] = {
            "threshold": threshold, "iterations": iterations,
            "merges": [list(map(spelled, merge)) for merge in theirs["merges"]],
            "encoded": {
                word: list(map(spelled, tokens))
                for word, tokens in zip(more, theirs["encoded"], strict=True)
            },
        }  # fmt: skip
    write("knockout_original", {
        "source": theirs["versions"], "words": words, "vocab_size": 340, "gold": [line.split() for line in GOLD],
        "runs": runs,
    })  # fmt: skip


def letters(word: str) -> str:
    return in_letters(word.encode())


def spelled(part: str) -> str:
    return of_letters(part).decode()


def write(name: str, content: Any) -> None:
    path = TESTS / f"{name}.json"
    path.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    say(f"{path}: {path.stat().st_size:,} bytes")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, run in (("picky", picky), ("knockout", knockout), ("frozen", frozen)):
        command = commands.add_parser(name)
        command.set_defaults(run=run)
        if name != "knockout":
            command.add_argument("--original", type=Path, required=name == "picky")
        if name != "picky":
            command.add_argument("--python", required=name == "knockout")
        if name != "frozen":
            command.add_argument("corpora", nargs="+", metavar="CORPUS")
            command.add_argument("--characters", type=int, default=SIZE, help="of each corpus")
            command.add_argument("--threshold", type=float, default=0.9 if name == "picky" else 0.5)
        if name == "picky":
            command.add_argument("--vocab-size", type=int, default=8000)
        if name == "knockout":
            command.add_argument("--base", type=Path, required=True)
            command.add_argument("--gold", type=Path, required=True)
            command.add_argument("--iterations", type=int, default=1)
            command.add_argument("--words", type=int, default=20_000, help="gold words to take")
    options = parser.parse_args()
    return 0 if options.run(options) else 1


if __name__ == "__main__":
    sys.exit(main())
