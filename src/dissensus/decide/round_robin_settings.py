"""Everything about writing in turns that is fixed before anybody writes. It stands in the record's first event.

The published description leaves most of this open, so each of it is an option with a default that is stated here.
Which seats are corrupted, and how, is no option of the procedure: it is told nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Literal

import msgspec

from dissensus.decide.ledger import turns_of
from dissensus.decide.round_robin_opinions import Mode, Weight
from dissensus.decide.verifiers.verify import verifier
from dissensus.errors import SpecError
from dissensus.script.keys import seed_of

Boundary = Literal["none", "utf8", "word-number", "sentence", "line"]
Fidelity = Literal["token_exact", "text_prefill", "approximate"]
FIDELITIES: Final[tuple[Fidelity, ...]] = ("token_exact", "text_prefill", "approximate")
"""From exact to not."""

MARKS: Final = (
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>",
    "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>", "<|user|>", "<|assistant|>", "<|system|>", "<|end|>",
    "<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>", "<s>", "</s>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>",
    "<|start_of_role|>", "<|end_of_role|>", "<\uff5cUser\uff5c>", "<\uff5cAssistant\uff5c>",
)  # fmt: skip
"""Control marks of common chat templates: what forged text would be made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundRobinSettings:
    """How texts are written in turns, and what is made of them.

    Args:
        k: most tokens of one turn (K).
        unit: what ``k``, ``length`` and ``delta`` count: tokens of whoever ``writer`` is, or pieces of one ``ruler``
            that is the same for all (:func:`dissensus.decide.round_robin_chunks.pieces`).
        length: most tokens of a text (L).
        trajectories: texts that are written and voted on (M); 0 is as many as there are writers.
        adaptive: give up the texts that can no longer change the answer, not even to a tie.
        at_once: texts written side by side; 0 is all of them. With ``adaptive``, fewer at once save more.
        start: who begins text m (from 0 on): seat ``first + m`` (``rotate``), ``first`` (``fixed``), or a draw.
        first: a seat, from 0 on.
        order: names of the writers in the order of their seats; empty takes the panel's order.
        turns: who follows: the next seat (``rotate``), or a draw for each turn (``random``), which is no round-robin
            and serves as a comparison.
        q_eos: how many further agents have to end the text at once before it ends: 0 lets one agent end it alone,
            one less than there are writers asks all of them. With fewer than that many corrupted ones these can end
            it alone, with more than the others they can refuse to; so ``length`` always bounds it too.
        boundary: where a turn may end. ``none``: after exactly K tokens. ``utf8``: not inside a character.
            ``word-number``: back off by up to ``delta`` to where no run of letters or digits is cut. ``sentence``,
            ``line``: within ``delta`` of K, at the end of a sentence or line that is nearest, else as ``word-number``.
        delta: see ``boundary``.
        attribution: ``none``, or ``tags``: each part of the text is headed by its writer's name. Tags can be forged,
            and force a hand-over as text.
        answer: which answer of a text counts: the ``last``, the ``first``, or the ``last-before-end`` mark.
        cut_answer: what a text gives that was cut at a limit inside its last answer, or right at its end, where 4 may
            be the beginning of 42. ``invalid``: no answer, for the last one counts and nobody can read it.
            ``earlier``: the one before it, which may be what an attacker wrote and an honest writer was withdrawing.
        end_mark: that mark; agents are told to write it after the answer.
        extraction: ``lenient`` also takes an answer that no mark announces; ``strict`` does not.
        ties: ``seeded`` draws among the tied answers, sorted, and says so; ``abstain`` decides nothing.
        temperature: of every turn; None leaves it to the seats.
        top_p: the same; None leaves it to the models.
        thinking: ``off`` reads no answer out of a thinking block; ``text`` takes it as part of the text.
        fidelity: the least that is accepted. ``token_exact``: all share one tokenizer and hand over ids.
            ``text_prefill``: text is continued. ``approximate``: a model that cannot continue is shown the text in
            quotes and asked for what comes next; the result says so.
        prompt: ``solve`` puts the question and nothing else. ``correct`` adds that several write and that errors in
            what stands so far are to be put right.
        verifiers: mechanical verifiers (:mod:`dissensus.decide.verifiers`) that judge the steps of a text while it is
            written; they see the text and the question alone.
        on_wrong: what follows from a wrong step. ``note``: it is put on the record and stays. ``rewrite``: the text is
            taken back to before it and whoever is next goes on from there.
        ear: what the agents make of what their peers wrote (:mod:`dissensus.decide.round_robin_ear`): ``off``, the
            ``surprise`` of each at each chunk, the ``drift`` of the odds of candidate answers, or ``both``. It listens
            when the texts are finished and changes nothing in them.
        ear_candidates: the answers whose odds are told; empty takes the options, or what the texts answer. Whoever
            knows the right one and an attack's target may give both, in any order: nothing is told which is which, and
            no agent sees them.
        weight: what a text weighs in the vote: all the same (``none``), or by what was heard of it
            (:func:`dissensus.decide.round_robin_opinions.weights_of`).
        on_failure: a failed call passes the turn on (``skip``), or ends the text (``end``).
        max_turns: most turns of a text; 0 is eight times what L takes, and four rounds.
        max_idle: turns in a row that add nothing, after which a text ends; 0 is one round.
        max_bytes: most bytes of a text; 0 is 64 for each token of L.
        control_marks: control marks of chat templates. In text that is handed over as text they are left out, since
            some servers would obey them; as ids they are harmless. They are counted in any case.
        control_ids: token ids that never become part of the text.
    """

    k: int = 100
    unit: Literal["writer", "ruler"] = "writer"
    length: int = 1024
    trajectories: int = 0
    adaptive: bool = False
    at_once: int = 0
    start: Literal["rotate", "fixed", "random"] = "rotate"
    first: int = 0
    order: tuple[str, ...] = ()
    turns: Literal["rotate", "random"] = "rotate"
    q_eos: int = 0
    boundary: Boundary = "utf8"
    delta: int = 8
    attribution: Literal["none", "tags"] = "none"
    answer: Literal["last", "first", "last-before-end"] = "last"
    cut_answer: Literal["invalid", "earlier"] = "invalid"
    end_mark: str = "[END]"
    extraction: Literal["lenient", "strict"] = "lenient"
    ties: Literal["seeded", "abstain"] = "seeded"
    temperature: float | None = 0.7
    top_p: float | None = 0.95
    thinking: Literal["off", "text"] = "off"
    fidelity: Fidelity = "text_prefill"
    prompt: Literal["solve", "correct"] = "solve"
    verifiers: tuple[str, ...] = ()
    on_wrong: Literal["note", "rewrite"] = "note"
    ear: Mode = "off"
    ear_candidates: tuple[str, ...] = ()
    weight: Weight = "none"
    on_failure: Literal["skip", "end"] = "skip"
    max_turns: int = 0
    max_idle: int = 0
    max_bytes: int = 0
    control_marks: tuple[str, ...] = MARKS
    control_ids: tuple[int, ...] = ()

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        return data

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> RoundRobinSettings:
        """The settings that :meth:`to_data` wrote. Raises SpecError for a name or value that does not exist."""
        known = [field.name for field in fields(cls)]
        if unknown := sorted(data.keys() - set(known)):
            raise SpecError(
                f"A round-robin has no setting {unknown[0]!r}.", next_step=f"Known are: {', '.join(known)}."
            )
        try:
            return msgspec.convert(dict(data), cls)
        except msgspec.ValidationError as problem:
            raise SpecError(f"A setting of the round-robin is wrong: {problem}.") from None

    def texts(self, writers: int) -> int:
        """M, with its default filled in."""
        return self.trajectories or writers

    def most_turns(self, writers: int) -> int:
        """The bound on turns of one text, with its default filled in."""
        return self.max_turns or 8 * turns_of(self.length, self.k) + 4 * writers

    def most_idle(self, writers: int) -> int:
        """The bound on turns in a row that add nothing, with its default filled in."""
        return self.max_idle or writers

    def most_bytes(self) -> int:
        """The bound on bytes of one text, with its default filled in."""
        return self.max_bytes or 64 * self.length


def start_seats(settings: RoundRobinSettings, writers: int, seed: int) -> tuple[int, ...]:
    """Who begins each text: seats from 0 on."""
    texts = range(settings.texts(writers))
    if settings.start == "random":
        return tuple(seed_of(seed, f"start/{text}") % writers for text in texts)
    step = settings.start == "rotate"
    return tuple((settings.first + step * text) % writers for text in texts)


def seat_of_turn(settings: RoundRobinSettings, writers: int, seed: int, *, text: int, start: int, turn: int) -> int:
    """Who writes turn ``turn`` of text ``text``, which seat ``start`` began."""
    if settings.turns == "random" and turn:
        return seed_of(seed, f"turn/{text}/{turn}") % writers
    return (start + turn) % writers


def check(settings: RoundRobinSettings, names: Sequence[str]) -> None:
    """Raises SpecError for settings that cannot be, or not with the writers ``names``."""
    writers = len(names)
    least = {"k": 1, "length": 1, "trajectories": 0, "at_once": 0, "first": 0, "q_eos": 0, "delta": 0}
    least |= {"max_turns": 0, "max_idle": 0, "max_bytes": 0}
    for name, low in least.items():
        if getattr(settings, name) < low:
            raise SpecError(f"{name} is {getattr(settings, name)}.", next_step=f"It is at least {low}.")
    if settings.q_eos >= writers:
        raise SpecError(
            f"{settings.q_eos} further agents cannot confirm an end: there are {writers - 1} beside the first.",
            next_step=f"Set q_eos to 0 up to {writers - 1}.",
        )
    if settings.first >= writers:
        raise SpecError(f"There is no seat {settings.first}.", next_step=f"Seats are 0 to {writers - 1}.")
    if settings.order and sorted(settings.order) != sorted(names):
        raise SpecError(
            "The order of seats does not name each writer once.", next_step=f"The writers are {', '.join(names)}."
        )
    if settings.answer == "last-before-end" and not settings.end_mark.strip():
        raise SpecError("The mark of the end is empty.", next_step="Give end_mark a text such as [END].")
    if settings.top_p is not None and not 0 < settings.top_p <= 1:
        raise SpecError(f"top_p is {settings.top_p}.", next_step="It is above 0 and at most 1.")
    if settings.temperature is not None and not 0 <= settings.temperature <= 2:
        raise SpecError(f"The temperature is {settings.temperature}.", next_step="It is 0 to 2.")
    _check_ear(settings)
    verifier(settings.verifiers, "")  # refuses a name that does not exist
    if any(not mark for mark in settings.control_marks):
        raise SpecError("A control mark is empty.", next_step="Leave it out.")


def _check_ear(settings: RoundRobinSettings) -> None:
    if settings.weight != "none" and settings.ear not in (settings.weight, "both"):
        raise SpecError(
            f"Texts cannot be weighed by {settings.weight}: nobody listens for it.",
            next_step=f"Set ear to {settings.weight} or both.",
        )
    if settings.weight != "none" and settings.adaptive:
        raise SpecError(
            "Weights are known when all texts are finished, and adaptive gives texts up before.",
            next_step="Leave out one of them.",
        )
    if settings.weight == "drift" and settings.ear_candidates:
        raise SpecError(
            "Texts are not weighed by candidates that were given: whoever gave them may know the right one.",
            next_step="Leave out ear_candidates, or the weight.",
        )
    if settings.ear_candidates and (settings.ear not in ("drift", "both") or len(set(settings.ear_candidates)) < 2):
        raise SpecError(
            "Candidates are for the drift between at least two of them.",
            next_step="Set ear to drift or both, and give two or more.",
        )
