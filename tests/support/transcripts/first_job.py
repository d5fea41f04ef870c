"""The first real job of a new user: texts in Estonian and Python, and files of tokenizers, all made here."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Sequence
from pathlib import Path

from pyharness import bpe
from pyharness.bpe.formats.exports import export_model
from pyharness.bpe.formats.own_file import save_bytes
from pyharness.bpe.model.model import BpeModel

ESTONIAN = (
    "Tallinn on Eesti pealinn ja asub Soome lahe kaldal, kus talved on pikad ja suveööd valged.",
    "Raamatukogu avati linnas juba sada aastat tagasi, aga uus hoone valmis alles möödunud sügisel.",
    "Täna hommikul sadas lund, ometi sõitsid rongid õigel ajal ja keegi ei jäänud tööle hiljaks.",
    "Õpilased kirjutasid lühikese jutustuse oma vanavanemate lapsepõlvest ja lugesid seda klassis ette.",
    "Metsa taga algab raba, mille laudteel võib kõndida kuivi jalgu kuni vaatetornini välja.",
    "Turul müüdi kartuleid, porgandeid, värsket kala ning leiba, mida küpsetati samas majas.",
    "Keeleteadlane selgitas, miks käändelõpud sõna vahel muudavad ja mida see arvutile tähendab.",
    "Laev jõudis sadamasse pimedas, kuid kai ääres ootasid sõbrad lillede ja laternatega.",
)
PYTHON = (
    """\
def read_lines(path):
    \'\'\'Return the lines of a file.\'\'\'
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()
""",
    """\
class Counter:
    def __init__(self, start=0):
        self.value = start

    def add(self, step=1):
        self.value += step
        return self.value
""",
    """\
for number, name in enumerate(sorted(names)):
    if name.startswith("_"):
        continue
    print(f"{number:>4} {name}")
""",
    """\
try:
    settings = json.loads(path.read_text())
except (OSError, ValueError) as error:
    raise SystemExit(f"cannot read {path}: {error}") from None
""",
    "totals = {key: sum(values) / len(values) for key, values in groups.items() if values}\n",
)
ENGLISH = (
    "The harbour was quiet when the ferry came in, and nobody had expected it before noon.",
    "A library opened here a hundred years ago; its new building was finished last autumn.",
    "Snow fell in the morning, yet the trains ran on time and everybody came to work.",
)
ROWS = (  # as one types them in the folder
    "raw_bytes",
    "file:ranks/estonian_base.tiktoken?pattern=gpt2",
    "file:ranks/english_base.tiktoken?pattern=gpt2",
    "file:code/tokenizer.json",
    "file:both/model.json",
    "small=file:small/model.json",
)
TEXTS = ("estonian=path:estonian.txt?split=paragraph", "python=path:python.jsonl")
SPLIT_APART = b"a ferry"  # no piece of gpt2's pattern has a blank in its middle


def make(folder: Path) -> None:
    """Write the texts and five files of tokenizers: the same bytes every time."""
    estonian = [" ".join(_words(" ".join(ESTONIAN), number)) for number in range(96)]
    (folder / "estonian.txt").write_text("\n\n".join(estonian) + "\n", encoding="utf-8")
    python = ["".join(random.Random(number).choices(PYTHON, k=3)) for number in range(96)]
    lines = (json.dumps({"text": text}) + "\n" for text in python)
    (folder / "python.jsonl").write_text("".join(lines), encoding="utf-8")
    both = _model([*ESTONIAN, *PYTHON], 800)
    english = export_model(_model(ENGLISH, 450), "tiktoken")
    dead = b"%s %d\n" % (base64.b64encode(SPLIT_APART), english.count(b"\n"))
    files = {
        "ranks/estonian_base.tiktoken": export_model(_model(ESTONIAN, 900), "tiktoken"),
        "ranks/english_base.tiktoken": english + dead,
        "code/tokenizer.json": export_model(_model(PYTHON, 700), "tokenizer.json"),
        "both/model.json": save_bytes(both),
        "small/model.json": save_bytes(_model([*ESTONIAN, *PYTHON], 320)),
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)


def _words(text: str, seed: int) -> list[str]:
    return random.Random(seed).choices(text.split(), k=30)


def _model(texts: Sequence[str], vocab_size: int) -> BpeModel:
    splitter = bpe.TextSplitter("gpt2")
    counter = bpe.PieceCounter(splitter)
    counter.add(texts)
    return bpe.model_of_training(bpe.train(counter.pieces(), vocab_size), splitter)
