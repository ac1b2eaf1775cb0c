"""Which column is what: the usual names, what the caller says, and what the cells show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dissensus.errors import SpecError

QUESTION = (
    "question_id", "qid", "item_id", "doc_id", "sample_id", "task_id", "instance_id", "example_id", "trajectory_id",
    "problem_id", "id", "uid", "item", "question", "task", "idx", "index",
)  # fmt: skip
VOTER = (
    "voter", "voter_id", "agent", "agent_id", "model", "model_id", "model_name", "judge", "judge_id", "annotator",
    "annotator_id", "worker", "worker_id", "rater", "rater_id", "member", "seat",
)  # fmt: skip
ANSWER = ("answer", "vote", "ballot", "prediction", "pred", "response", "choice", "verdict", "label", "rating")
GOLD = (
    "gold", "gold_answer", "gold_label", "key", "correct_answer", "right_answer", "ground_truth", "groundtruth",
    "target", "truth", "reference", "expected", "solution",
)  # fmt: skip
VERDICT = ("correct", "is_correct", "right", "is_right", "success", "passed", "flag")
"""A column of these, where there are voters and no answers, says right or wrong."""

GOLD_WHERE_VOTERS_HAVE_COLUMNS = ("answer", "label")
SAMPLE = ("epoch", "sample", "repeat", "replicate", "attempt", "trial", "sample_index")
COUNT = ("n_options", "num_options", "n_choices", "num_choices", "k")
LIST = ("options", "choices")
TEXT = ("question_text", "question", "text", "prompt", "input", "problem")
STATUS, ROUND, COST = ("status", "outcome"), ("round",), ("cost", "price", "cost_usd")
FACTOR = ("model", "family", "prompt", "temperature", "order", "style", "host")
"""Properties of a voter that may explain with whom it errs; any column ``factor.NAME`` is one too."""
NO_VOTER = frozenset(
    """
    subject category topic domain difficulty level split source src dataset subset type context passage explanation
    rationale notes note comment language cluster group stratum seed hash doc_hash prompt_hash target_hash url date time
    timestamp unnamed:_0 confidence tokens raw cot_content gold_old gold_new
    """.split()  # noqa: SIM905 - a block of words reads better than a column of quoted ones
) | {""}
ANSWERED = frozenset({"", "ok", "answer", "answered", "reply", "success", "valid", "done", "completed", "true", "1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What the caller says of the columns; "" and () where that is left to the file.

    Args:
        question, voter, answer, gold: names of columns.
        voters: the columns, or the names, that are voters; others are left out.
        strata: the column with the part of the table that a question belongs to.
        group: the column in which equal cells mean one question asked again.
        blank: texts that mean no answer.
        options: the answers that every question allows.
        round: the round of a debate to read; 0 for the last of each voter.
        flags: cells say right or wrong, not the answer.
    """

    question: str = ""
    voter: str = ""
    answer: str = ""
    gold: str = ""
    voters: tuple[str, ...] = ()
    strata: str = ""
    group: str = ""
    blank: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    round: int = 0
    flags: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Places of the columns; None where there is none.

    Args:
        long: one row a vote; else one row a question, with ``voters``.
        voters: name and place of each voter's column.
        left_out: names of columns that are no voters and have no other role.
        flags: cells say right or wrong, not the answer.
        factors: property of voters to place, with one row a vote.
    """

    long: bool
    question: int | None = None
    voter: int | None = None
    answer: int | None = None
    gold: int | None = None
    sample: int | None = None
    status: int | None = None
    round: int | None = None
    cost: int | None = None
    count: int | None = None
    list: int | None = None
    text: int | None = None
    strata: int | None = None
    group: int | None = None
    voters: dict[str, int] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    flags: bool = False
    factors: dict[str, int] = field(default_factory=dict)


def roles_of(header: Sequence[str], named: Named, *, path: str, voters: Sequence[str] = ()) -> Roles:
    """What each column of ``header`` is.

    Args:
        header: names of the columns.
        named: what the caller says; it goes before any guess.
        path: of the file, for errors.
        voters: columns that the format itself says are voters.

    Raises:
        SpecError: a column that the caller names is not there, a name stands twice, or no voter can be found.
    """
    names = [name.strip() for name in header]
    plain = [name.lower().replace(" ", "_").replace("-", "_") for name in names]
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise SpecError(f"Two columns are called {twice[0]!r}.", path=path, line=1, next_step="Rename one of them.")

    def place(said: str, usual: Sequence[str]) -> int | None:
        if said:
            if said not in names:
                raise SpecError(
                    f"There is no column {said!r}.", path=path, line=1, next_step=f"The columns are {', '.join(names)}."
                )
            return names.index(said)
        return next((plain.index(name) for name in usual if name in plain), None)

    voter, answer = place(named.voter, VOTER), place(named.answer, ANSWER)
    gold = place(named.gold, GOLD)
    flags = named.flags
    if voter is not None and answer is None and not voters and not named.voters:
        answer = place("", VERDICT)
        flags = flags or answer is not None
    long = not voters and voter is not None and answer is not None and voter != answer
    if long and not named.voter and not named.answer and set(named.voters) <= set(names):
        long = not {names[voter or 0], names[answer or 0]} & set(named.voters)  # columns that are voters by name
    if not long and (named.voter or named.answer or (voter is not None and not voters and not named.voters)):
        missing = "voter" if voter is None else "answer"
        raise SpecError(
            f"With one row a vote there has to be a column of {missing}s.",
            path=path,
            line=1,
            next_step=f"Name it with --{missing}. The columns are {', '.join(names)}.",
        )
    if long and not named.answer and gold is None and plain[answer or 0] == "answer":
        others = [names[plain.index(name)] for name in ANSWER[1:] if name in plain]
        if others:
            raise SpecError(
                f"The voter's answer could be 'answer' or {others[0]!r}, and no column is named as the right one.",
                path=path,
                line=1,
                next_step="Say which is which with --answer and --gold.",
            )
    taken = {voter, answer} if long else set()
    question = place(named.question, [name for name in QUESTION if name in plain and plain.index(name) not in taken])
    texts = [name for name in TEXT if not (long and name in FACTOR)]  # with one row a vote it is the voter's prompt
    found = Roles(
        long=long,
        question=question,
        voter=voter if long else None,
        answer=answer if long else None,
        gold=gold,
        count=place("", COUNT),
        list=place("", LIST),
        text=next(
            (plain.index(n) for n in texts if n in plain and plain.index(n) not in {question, answer, voter}), None
        ),
        strata=place(named.strata, ()),
        flags=flags,
        group=place(named.group, ()),
    )
    if long:
        if question is None:
            raise SpecError(
                "There is no column that says which question a vote belongs to.",
                path=path,
                line=1,
                next_step=f"Name it with --question. The columns are {', '.join(names)}.",
            )
        return replace(
            found,
            gold=gold if gold != answer else None,
            sample=place("", SAMPLE),
            status=place("", STATUS),
            round=place("", ROUND),
            cost=place("", COST),
            factors=_factors(plain, {voter, answer, question, gold, found.strata, found.group}),
        )
    return _wide(found, names, plain, named, path=path, voters=voters)


def _wide(found: Roles, names: list[str], plain: list[str], named: Named, *, path: str, voters: Sequence[str]) -> Roles:
    gold = found.gold
    if gold is None:
        fallback = [name for name in GOLD_WHERE_VOTERS_HAVE_COLUMNS if name in plain and name not in named.voters]
        gold = plain.index(fallback[0]) if fallback and not voters else None
    used = {found.question, gold, found.count, found.list, found.text, found.strata, found.group}
    chosen = named.voters or tuple(voters)
    if chosen:
        missing = [name for name in chosen if name not in names]
        if missing:
            raise SpecError(
                f"There is no voter {missing[0]!r}.",
                path=path,
                line=1,
                next_step=f"The columns are {', '.join(names)}.",
            )
        return replace(found, gold=gold, voters={name: names.index(name) for name in chosen})
    free = [place for place in range(len(names)) if place not in used]
    voting = {names[place]: place for place in free if not _no_voter(plain[place])}
    if not voting:
        raise SpecError(
            "No column holds a voter's answers.",
            path=path,
            line=1,
            next_step=f"Name them with --voters. The columns are {', '.join(names)}.",
        )
    left_out = tuple(names[place] for place in free if names[place] not in voting)
    return replace(found, gold=gold, voters=voting, left_out=left_out)


def _factors(plain: list[str], used: set[int | None]) -> dict[str, int]:
    named = {name.removeprefix("factor."): i for i, name in enumerate(plain) if name.startswith("factor.")}
    usual = {name: plain.index(name) for name in FACTOR if name in plain and plain.index(name) not in used}
    return usual | named


def _no_voter(plain: str) -> bool:
    known = {*QUESTION, *TEXT, *COUNT, *LIST, *STATUS, *ROUND, *COST, *SAMPLE}
    return plain in NO_VOTER or plain in known or plain.startswith("factor.")
