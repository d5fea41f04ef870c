"""What the tiers that train networks are made of: sizes, steps and schedule."""

from __future__ import annotations

import math
from dataclasses import dataclass

from curriculum.rows import METHODS
from small_model.networks import Recipe, Shape


@dataclass(frozen=True, slots=True)
class Tier:
    """A base of characters, and rounds of growth; ``lacks``: what of the published configuration is not here."""

    shape: Shape
    keys: tuple[int, int] | None  # of a layer's feed-forward part, and added when it grows; None: it is that of GPT-2
    characters: int  # of the text
    steps: tuple[int, int]  # of the base, and of a round
    sizes: tuple[int, ...]  # most tokens after each round
    sampled: int  # windows of ``shape.context`` tokens that groups are found in
    recipe: Recipe
    lacks: str
    methods: tuple[str, ...] = METHODS  # of new rows
    epsilon: float = 0.3
    row_quantile: float | None = None  # of a window's entropies, if that is less than ``epsilon``
    dropout: float = 0.0
    given: int = 64  # characters before a stretch that are known when it is scored
    scored: int = 64  # characters of a stretch
    documents: int = 192  # held out, whose first 500 bytes are scored
    probe_of: int = 6  # passages, of which one is scored while a network is trained
    hidden_from: int = 1000  # windows that the hidden states of new tokens are means of
    wider: tuple[float, float] = (1, 1)  # times the spread of GPT-2 that embeddings of tokens and places begin with
    biases: bool = True
    device: str = "cpu"


SMALL = Tier(
    shape=Shape(layers=2, width=64, context=128, batch=4, head=16),
    keys=(256, 128),
    characters=1_000_000,
    steps=(2400, 200),
    sizes=(350, 1300, 5000),
    sampled=2000,
    recipe=Recipe(1e-2, last=1 / 30, warm_up=0.02, betas=(0.9, 0.99), decay=0.1),
    epsilon=math.inf,  # 0.3 nats find a handful of groups in what such a network knows
    row_quantile=0.6,
    documents=48,
    hidden_from=400,
    wider=(3, 10),  # else it knows little more than pairs of characters after 400,000 tokens
    lacks="the model has 2 layers of 64, not 6 of 384, and reads a million tokens of books, not a thousand million "
    "of an encyclopaedia, and groups lie below a quantile of a window, not below 0.3 nats",
)
PUBLISHED = Tier(
    shape=Shape(layers=6, width=384, context=512, batch=64),
    keys=None,
    characters=50_000_000,
    steps=(5000, 5000),
    sizes=(4359, 7941, 11382, 14819, 18276),
    sampled=5120,
    recipe=Recipe(3e-3, last=1 / 30, warm_up=0.02, betas=(0.9, 0.99), decay=0.1),
    methods=("last_row", "hidden"),
    documents=100_000,
    dropout=0.2,
    given=200,
    scored=200,
    biases=False,
    device="cuda",
    lacks="",
)

TIERS = {"small": SMALL, "gpu": PUBLISHED}
