"""A scripted model from a panel file: texts, rules and faults as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dissensus.agents.prices import Prices
from dissensus.agents.scripted import DEFAULT_CAN, Answers, Scripted
from dissensus.agents.scripted_reasoner import read_reasoner
from dissensus.agents.scripted_rules import Rule
from dissensus.agents.scripted_tokens import TOKENIZERS
from dissensus.errors import SpecError
from dissensus.script.calls import Capability


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedOptions:
    """The options of ``scripted:TEXT`` in a panel file.

    Args:
        name: the model's name in records.
        rules: mappings, each a :class:`~dissensus.agents.scripted_rules.Rule`; where none fits, TEXT is said.
        replies: texts said one after the other, whoever asks; then calls fail.
        scores: log-probability of each continuation by its text.
        seed: goes into every draw.
        delay_s: seconds before each answer, or two bounds between which it is drawn.
        dies_after: number of calls after which the server is gone.
        tokenizer: ``word``, ``character`` or ``byte``.
        price_in: money per million prompt tokens.
        price_out: money per million written tokens.
        capabilities: what it claims to be able to do.
        reasoner: options of a toy that reasons (:mod:`dissensus.agents.scripted_reasoner`), in place of other replies.
    """

    name: str = "scripted"
    rules: tuple[Mapping[str, object], ...] = ()
    replies: tuple[str, ...] = ()
    scores: Mapping[str, float] | None = None
    seed: int = 0
    delay_s: float | tuple[float, float] = 0.0
    dies_after: int | None = None
    tokenizer: str = "word"
    price_in: float | None = None
    price_out: float | None = None
    capabilities: tuple[Capability, ...] | None = None
    reasoner: Mapping[str, object] | None = None

    def __post_init__(self) -> None:
        if self.rules and self.replies:
            raise SpecError("A scripted model has both rules and replies.", next_step="Keep one of them.")
        if self.reasoner is not None and (self.rules or self.replies):
            raise SpecError("A reasoner follows no rules and no texts.", next_step="Keep the reasoner, or the others.")
        if self.tokenizer not in TOKENIZERS:
            raise SpecError(
                f"There is no tokenizer {self.tokenizer!r}.", next_step=f"Use one of {', '.join(sorted(TOKENIZERS))}."
            )

    def build(self, text: str) -> Scripted:
        """The model; ``text`` is said where no rule fits."""
        replies: Answers = text
        reasoner = None
        if self.reasoner is not None:
            reasoner = read_reasoner({"seed": self.seed, **self.reasoner}, TOKENIZERS[self.tokenizer])
            replies = reasoner
        elif self.rules:
            rules = [Rule.from_data(rule) for rule in self.rules]
            replies = [*rules, Rule("", text)] if text else rules
        elif self.replies:
            replies = list(self.replies)
        return Scripted(
            replies,
            name=self.name,
            capabilities=DEFAULT_CAN if self.capabilities is None else frozenset(self.capabilities),
            seed=self.seed,
            delay_s=self.delay_s,
            dies_after=self.dies_after,
            continues=reasoner,
            scores=self.scores,
            tokenizer=TOKENIZERS[self.tokenizer],
            prices=Prices(tokens_in=self.price_in, tokens_out=self.price_out),
        )
