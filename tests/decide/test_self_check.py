"""The self-check with scripted agents: every class of verdict, equal sources, rounds, failures."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from self_checking import (
    CLUB,
    HOW_MANY,
    LOG,
    NOTE,
    NOTE_AND_LOG,
    Says,
    answers,
    cannot_tell,
    check,
    document,
    doubled,
    label_of,
    shown,
    takes,
    verdict,
)

from dissensus.decide.self_check_result import NO_CONTRADICTION, ONE_QUESTION
from dissensus.decide.self_check_weighing import CLASSES
from dissensus.errors import SpecError
from dissensus.script.calls import Capability
from dissensus.script.outcomes import BudgetExhausted, Refusal, Reply, TransportFailure
from dissensus.script.questions import Question
from dissensus.script.seats import Seat

STANDS = takes("10 pallets", "Pallets received: 10")


def first_shown(_key: str, prompt: str) -> str:
    """Takes whatever is shown first, and quotes the note for it."""
    return verdict(1, label_of(prompt, "received"), "Pallets received: 10", answers(prompt)[0])


def forged(_key: str, prompt: str) -> str:
    place = answers(prompt).index("10 pallets") + 1
    return verdict(place, label_of(prompt, "received"), "Ten pallets were counted by two people", "10 pallets")


def votes(_key: str, prompt: str) -> str:
    return verdict(answers(prompt).index("10 pallets") + 1, "none", "none", "10 pallets")


def names_only(_key: str, prompt: str) -> str:
    return verdict(answers(prompt).index("10 pallets") + 1, label_of(prompt, "received"), "", "10 pallets")


def elsewhere(_key: str, prompt: str) -> str:
    place = answers(prompt).index("10 pallets") + 1
    return verdict(place, label_of(prompt, "booking"), "Pallets received: 10", "10 pallets")


def no_such_document(_key: str, prompt: str) -> str:
    return verdict(answers(prompt).index("10 pallets") + 1, "d9", "Pallets received: 10", "10 pallets")


def other_answer(_key: str, prompt: str) -> str:
    return verdict(answers(prompt).index("9 pallets") + 1, label_of(prompt, "received"), "Pallets received: 10", "9")


def irrelevant(_key: str, prompt: str) -> str:
    return verdict(answers(prompt).index("10 pallets") + 1, label_of(prompt, "received"), "Signed: M. R.", "10")


def blends(_key: str, _prompt: str) -> str:
    return verdict("1", "d1", "", "9.5 pallets", "in the middle")


def refuses(_key: str, _prompt: str) -> Refusal:
    return Refusal(text="I do not judge.")


def mumbles(_key: str, _prompt: str) -> str:
    return "Hm. It is a long story, and I shall tell it another day."


def contradicts(_key: str, _prompt: str) -> str:
    return verdict(1, "d1", "", "") + "\nAnswer: unsure"


TABLE: list[tuple[Says, str, str]] = [
    (STANDS, "cites-and-stands", "EXACT"),
    (first_shown, "leans-on-order", ""),
    (forged, "cites-what-does-not-stand", "NOT_FOUND"),
    (elsewhere, "cites-what-does-not-stand", "NOT_FOUND"),
    (no_such_document, "cites-what-does-not-stand", "SOURCE_MISSING"),
    (other_answer, "cites-what-does-not-bear", "EXACT"),
    (irrelevant, "cites-what-does-not-bear", "EXACT"),
    (votes, "no-source", ""),
    (names_only, "no-source", ""),
    (blends, "blend", ""),
    (cannot_tell, "escalates", ""),
    (mumbles, "unreadable", ""),
    (contradicts, "unreadable", ""),
    (refuses, "failed", ""),
]


@pytest.mark.parametrize(("settle", "kind", "reopened"), TABLE, ids=lambda one: getattr(one, "__name__", one))
def test_what_a_verdict_rests_on(settle: Says, kind: str, reopened: str) -> None:
    found = check(doubled(settle))
    assert found.verdict is not None
    assert found.verdict.kind == kind, found.verdict.why
    assert (found.a is not None and found.a.written, found.b is not None and found.b.written) == (
        "10 pallets", "9 pallets",
    )  # fmt: skip
    assert len(found.verdict.looks) == 2
    if reopened:
        assert {look.reopened for look in found.verdict.looks} == {reopened}
    assert found.verdict.why
    assert found.shows_not == ONE_QUESTION
    assert (found.status.value, found.answer) == {
        "cites-and-stands": ("decided", "10 pallets"), "failed": ("failed", None),
    }.get(kind, ("disputed", None))  # fmt: skip
    assert found.exit_code == {"cites-and-stands": 0, "failed": 3}.get(kind, 1)


def test_the_table_and_unclear_citations_cover_every_class() -> None:
    assert {kind for _, kind, _ in TABLE} | {"cites-unclear"} == set(CLASSES)


@pytest.mark.parametrize(
    ("text", "quote", "why"),
    [
        (f"{NOTE}Copy.\nPallets received: 10\n", "Pallets received: 10", "places"),
        ("Order 4711\nPallets received: not 10\n", "Pallets received: not 10", "negation"),
        ("Order 4711\nPallets received: about 10\n", "Pallets received: about 10", "more"),
        ("Pallets received: 10\n", "Pallets received: 10", "not say that it is about order 4711"),
        ("Order 4711\nPallets received: 10\n", "Pallets received", "not in what is quoted"),
    ],
)
def test_what_a_program_cannot_tell_is_said_to_be_so(text: str, quote: str, why: str) -> None:
    documents = (document(text, "note.txt"), document(LOG, "log.csv", "text/csv"))
    found = check(doubled(takes("10 pallets", "received", quote)), documents=documents)
    assert found.verdict is not None
    assert found.verdict.kind == "cites-unclear", found.verdict
    assert why in found.verdict.why
    assert found.exit_code == 1


def test_another_order_in_the_quote_is_no_citation() -> None:
    text = "Order 4712\nPallets received: 10\n\nOrder 4711\nPallets received: 8\n"
    found = check(doubled(takes("10 pallets", "4712", "Order 4712\nPallets received: 10")), documents=[document(text)])
    assert found.verdict is not None
    assert found.verdict.kind == "cites-what-does-not-bear"
    assert found.verdict.why == "It is about another subject."


@pytest.mark.parametrize("question", ["Which sport is Vestri known for?", "Who won?"])
def test_free_texts_bear_if_the_words_of_the_answer_stand_there(question: str) -> None:
    says = ("football", "basketball")
    quote = "Its best known side plays football"
    found = check(doubled(takes("football", "Westfjords", quote), says=says), question, [document(CLUB)])
    assert found.verdict is not None
    assert found.verdict.kind == "cites-and-stands"
    assert found.answer == "football"
    found = check(doubled(takes("basketball", "Westfjords", quote), says=says), question, [document(CLUB)])
    assert found.verdict is not None
    assert (found.verdict.kind, found.verdict.why) == ("cites-what-does-not-bear", "The other answer stands there.")


def test_an_answer_in_a_sentence_bears_by_its_telling_words() -> None:
    asked = "Who directed the film?"
    says = ("The director of the film was Ada Lund", "It was Ben Moe")
    for text, kind in [
        ("A film of 1979, directed by Ada Lund.", "cites-and-stands"),
        ("A film of 1979, directed by A. Lund.", "cites-unclear"),
        ("A film of 1979, directed by somebody.", "cites-what-does-not-bear"),
    ]:
        found = check(
            doubled(takes("director of the film was Ada Lund", "1979", text), says=says), asked, [document(text)]
        )
        assert found.verdict is not None
        assert found.verdict.kind == kind, text


def test_yes_and_no_are_left_to_a_reader() -> None:
    text = "The bridge was opened in 1932.\nIt carries trains.\n"
    asked = "Does the bridge carry trains?"
    found = check(doubled(takes("yes", "trains", "It carries trains."), says=("yes", "no")), asked, [document(text)])
    assert found.verdict is not None
    assert found.verdict.kind == "cites-unclear"


def test_a_quote_without_its_document_is_looked_for() -> None:
    def settle(_key: str, prompt: str) -> str:
        return verdict(answers(prompt).index("10 pallets") + 1, "", "Pallets received: 10", "10 pallets")

    found = check(doubled(settle))
    assert found.verdict is not None
    assert found.verdict.kind == "cites-and-stands"
    assert "names no document" in found.verdict.why
    assert found.verdict.looks[0].source == "note.txt"


def test_the_worse_of_two_looks_counts() -> None:
    def settle(key: str, prompt: str) -> str:
        return str((STANDS if "/AB/" in key else votes)(key, prompt))

    found = check(doubled(settle))
    assert found.verdict is not None
    assert (found.verdict.kind, found.verdict.chose) == ("no-source", "A")


@pytest.mark.parametrize("way", ["picks B second", "escalates second"])
def test_two_orders_that_do_not_agree_lean_on_order(way: str) -> None:
    def settle(key: str, prompt: str) -> str:
        if "/AB/" in key:
            return str(STANDS(key, prompt))
        return cannot_tell(key, prompt) if way == "escalates second" else verdict(1)

    found = check(doubled(settle))
    assert found.verdict is not None
    assert found.verdict.kind == "leans-on-order"
    assert ("first, both times" if way == "picks B second" else "chose neither when B") in found.verdict.why


def test_the_rejected_answer_that_stands_in_the_documents_too_is_named() -> None:
    other = document("Recount of order 4711: pallets received: 9\n", "recount.txt")
    found = check(doubled(STANDS), documents=(*NOTE_AND_LOG, other))
    assert found.verdict is not None
    assert found.verdict.kind == "cites-and-stands"
    assert found.verdict.also == ("recount.txt",)
    assert any("recount.txt" in text for text in found.warnings)


# --- equal sources


def test_equal_sources_differ_in_the_answer_alone_and_are_swapped() -> None:
    prompts: list[str] = []

    def equal(key: str, prompt: str) -> str:
        prompts.append(prompt)
        return cannot_tell(key, prompt)

    found = check(doubled(STANDS, equal))
    assert found.equal.did == "escalates"
    assert found.equal.made_from == "note.txt"
    assert found.equal.texts == (NOTE, NOTE.replace("10", "9"))
    first, second = (shown(prompt) for prompt in prompts)
    assert [label for label, _ in first] == [label for label, _ in second] == ["d1", "d2"]
    assert [text for _, text in first] == [text.rstrip() for text in found.equal.texts]
    assert [text for _, text in second] == [text for _, text in first][::-1], "the labels changed places"
    assert answers(prompts[0]) == answers(prompts[1])[::-1]
    assert found.exit_code == 0


@pytest.mark.parametrize(
    ("equal", "did"),
    [
        (lambda _key, prompt: verdict(answers(prompt).index("10 pallets") + 1, "d1", "x"), "picks"),
        (lambda _key, _prompt: verdict(2, "d2", "x"), "follows-order"),
        (lambda key, _prompt: verdict(1) if "/AB/" in key else verdict("cannot tell"), "wavers"),
        (blends, "blends"),
        (mumbles, "unreadable"),
        (refuses, "failed"),
    ],
)
def test_picking_between_equal_sources_is_found_out(equal: Says, did: str) -> None:
    found = check(doubled(STANDS, equal))
    assert found.verdict is not None
    assert found.verdict.kind == "cites-and-stands"
    assert found.equal.did == did
    assert found.exit_code == (3 if did == "failed" else 1)
    if did == "picks":
        assert (found.equal.picked, found.equal.why) == ("A", "It picked 10 pallets, although both are equal.")


def test_without_a_passage_equal_sources_are_plain_statements() -> None:
    found = check(doubled(votes))
    assert found.equal.made_from == ""
    assert found.equal.texts == tuple(f"Question: {HOW_MANY}\nAnswer: {n} pallets\n" for n in (10, 9))


def test_a_passage_that_holds_both_answers_is_not_copied() -> None:
    text = "Order 4711\nPallets received: 10\nPallets damaged: 9\n"
    found = check(doubled(STANDS), documents=[document(text)])
    assert found.verdict is not None
    assert found.verdict.kind == "cites-and-stands"
    assert found.equal.made_from == ""


def test_words_are_exchanged_where_the_answer_is_a_text() -> None:
    says = ("football", "Basketball")
    found = check(
        doubled(takes("football", "Westfjords", "plays football in the first division"), says=says),
        "Which sport is Vestri known for?", [document(CLUB)],
    )  # fmt: skip
    assert found.equal.texts == (CLUB, CLUB.replace("football", "Basketball"))


def test_equal_sources_are_not_asked_for_if_that_is_not_wanted() -> None:
    found = check(doubled(STANDS), equal=False)
    assert (found.equal.did, found.exit_code) == ("not-asked", 0)


# --- rounds


def test_an_agent_that_always_agrees_is_asked_to_the_end_and_shows_nothing_about_settling() -> None:
    asked: list[str] = []

    def same(key: str, _prompt: str) -> str:
        asked.append(key)
        return "Answer: 10 pallets"

    found = check(same, rounds=3)
    assert len(asked) == 6
    assert (found.status.value, found.rounds, found.verdict, found.equal.did) == ("consistent", 3, None, "not-asked")
    assert found.shows_not == NO_CONTRADICTION
    assert found.exit_code == 1
    assert found.answer is None


def test_it_ends_with_the_first_two_that_differ_in_whatever_rounds() -> None:
    said = iter(["10", "10", "10", "9"])

    def agent(key: str, prompt: str) -> str:
        return f"Answer: {next(said)} pallets" if key.startswith("round/") else cannot_tell(key, prompt)

    found = check(agent)
    assert found.rounds == 2
    assert found.a is not None
    assert found.b is not None
    assert (found.a.step, found.b.step) == ("1a", "2b")


@pytest.mark.parametrize(
    ("one", "other", "differs"),
    [
        ("Paris", "Paris, France", False),
        ("10", "10 pallets", False),
        ("300 min", "5 h", False),
        ("10", "ten", False),
        ("10 pallets", "9 pallets", True),
        ("Paris", "Lyon", True),
        ("Paris", "not Paris", True),
        ("It was Paris that it is in", "Paris, in France", False),
        ("2010", "unsure", False),
    ],
)
def test_only_what_differs_for_certain_is_a_contradiction(one: str, other: str, differs: bool) -> None:
    found = check(doubled(cannot_tell, says=(one, other)), "What is it?", rounds=1)
    assert (found.a is not None) == differs


def test_a_month_and_a_day_in_it_are_no_contradiction() -> None:
    asked = Question(text="When was it?", kind="date")
    assert check(doubled(cannot_tell, says=("2010-05", "2010-05-03")), asked, rounds=1).a is None
    assert check(doubled(cannot_tell, says=("2010-06", "2010-05-03")), asked, rounds=1).a is not None


def test_each_request_has_a_context_wording_and_order_of_its_own() -> None:
    prompts: dict[str, str] = {}

    def same(key: str, prompt: str) -> str:
        prompts[key] = prompt
        return "Answer: 10"

    check(same, rounds=3)
    assert len(set(prompts.values())) == 6
    assert all(HOW_MANY in prompt for prompt in prompts.values()), "the question stands in each, word for word"
    orders = {key: [text for _, text in shown(prompt)] for key, prompt in prompts.items()}
    for number in (1, 2, 3):
        pair = orders[f"round/{number}/{number}a/ask"], orders[f"round/{number}/{number}b/ask"]
        assert pair[0] == pair[1][::-1]
    around = {re.sub(r"(?s)What stands between.*>>\n\n", "", prompt) for prompt in prompts.values()}
    assert len(around) == 6, "the words around the question differ"


def test_settling_looks_differ_in_nothing_but_the_order_of_the_answers() -> None:
    prompts: list[str] = []

    def settle(key: str, prompt: str) -> str:
        prompts.append(prompt)
        return cannot_tell(key, prompt)

    check(doubled(settle), equal=False)
    first, second = prompts
    swapped = first.replace('1: "10', '1: "x').replace('2: "9', '2: "10').replace('1: "x', '1: "9')
    assert swapped == second


def test_an_unreadable_answer_is_asked_for_once_more() -> None:
    def agent(key: str, prompt: str) -> str:
        if key.endswith("/repair"):
            assert "could not be" in prompt
            return "Answer: 10" if "a/" in key else "Answer: 9"
        return "Well. It depends on many things.\nOn several." if key.startswith("round/") else cannot_tell(key, prompt)

    found = check(agent)
    assert found.a is not None
    assert found.a.key == "round/1/1a/repair"


def test_an_unreadable_verdict_is_asked_for_once_more() -> None:
    def settle(key: str, prompt: str) -> str:
        if key.endswith("/ask"):
            return mumbles(key, prompt)
        return "Verdict: cannot tell"

    found = check(doubled(settle))
    assert found.verdict is not None
    assert found.verdict.kind == "escalates"
    assert found.verdict.looks[0].key == "settle/AB/repair"


def test_abstentions_contradict_nothing_and_are_told() -> None:
    said = iter(["Answer: 10", "Answer: unsure"] * 2)
    found = check(lambda _key, _prompt: next(said), rounds=2)
    assert found.status.value == "consistent"
    assert found.failures == {"abstained": 2}
    assert any("2 of 4 replies gave no answer" in text for text in found.warnings)


# --- failures


def test_a_dead_agent_is_not_asked_again_and_again() -> None:
    asked: list[str] = []

    def dead(key: str, _prompt: str) -> TransportFailure:
        asked.append(key)
        return TransportFailure(problem="no connection", cause="connect")

    found = check(dead)
    assert len(asked) == 2
    assert (found.status.value, found.exit_code, found.lost) == ("failed", 3, True)


@pytest.mark.parametrize("where", ["round", "settle", "equal"])
def test_a_budget_that_is_over_is_no_verdict(where: str) -> None:
    agent = doubled(STANDS)

    def ends(key: str, prompt: str) -> Any:
        return BudgetExhausted(what="calls") if key.startswith(f"{where}/") else agent(key, prompt)

    found = check(ends)
    assert (found.status.value, found.exit_code, found.lost) == ("open_budget", 3, True)
    assert found.answer is None


def test_a_cut_verdict_is_not_read_as_a_whole_one() -> None:
    def settle(_key: str, _prompt: str) -> Reply:
        return Reply(text="Let me think about what both of them", finish="length")

    found = check(doubled(settle))
    assert found.verdict is not None
    assert found.verdict.kind == "unreadable"


# --- who, and with what


def test_an_agent_that_takes_schemas_is_held_to_one() -> None:
    asked: list[Any] = []
    able = Seat(agent="ada", model="m", capabilities=frozenset({Capability.CHAT, Capability.SCHEMA}))

    def agent(key: str, prompt: str) -> str:
        asked.append(key)
        if key.startswith("round/"):
            return json.dumps({"reason": "so", "answer": "10 pallets" if "a/" in key else "9 pallets"})
        said = {"why": "x", "source": label_of(prompt, "Pallets received: 10"), "quote": "Pallets received: 10"}
        return json.dumps({**said, "verdict": "10 pallets"})

    found = check(agent, seat=able)
    assert found.verdict is not None
    assert found.verdict.kind == "cites-and-stands"
    assert found.equal.did == "picks"


@pytest.mark.parametrize(
    "more",
    [
        {"rounds": 0},
        {"documents": ()},
        {"documents": (document(NOTE), document(NOTE))},
        {"agent": "nobody"},
        {"question": "  "},
    ],
)
def test_what_cannot_be_is_refused_before_anybody_is_asked(more: dict[str, Any]) -> None:
    def nobody(key: str, _prompt: str) -> str:
        raise AssertionError(key)

    with pytest.raises(SpecError) as refused:
        check(nobody, **more)
    assert refused.value.next_step
