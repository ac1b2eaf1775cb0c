"""Claims that are made of others, against truth tables: what falls, what goes back, what stands, what is supported."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from disputing import DAY, brief, case, claim, digest, line, pin, settle
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.decide.dispute import rules
from dissensus.decide.dispute.case import Asking, Case
from dissensus.decide.dispute.case_data import case_data, case_from, checked
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.docket import Docket, Weighed
from dissensus.decide.dispute.manifest import manifest_of
from dissensus.decide.dispute.parsing import claim_from
from dissensus.decide.dispute.precedence import Precedence, Prefer
from dissensus.errors import SpecError
from dissensus.script.outcomes import PersonAnswer

WORDS = {"stands": True, "falls": False, "goes back": None, "unread": True}
"""What a leaf is made to become, and what that is in a logic of three values; what no program can read stands."""
MEANS = {True: "standing", False: "fallen", None: "incomplete"}
Tree = Any
"""A word, or (kind, trees)."""


def built(tree: Tree, name: str, claims: list[Claim], texts: list[str], own: Sequence[Mapping[str, Any]] = ()) -> Claim:
    """The claims of a tree, each leaf about a thing of its own so that none contradicts another."""
    about: dict[str, Any] = {"subject": f"order {4000 + len(claims)}"}
    if isinstance(tree, str):
        text = f"Note {name}\n{about['subject'] if tree != 'unread' else 'Some order'}\nPallets received: 7\n"
        texts.append(text)
        cited = {"falls": [line(text, 3, "Pallets received: 8")], "goes back": []}.get(tree, [line(text, 3)])
        made = claim(name, 7, *cited, **about)
    else:
        kind, trees = tree
        children = [built(one, f"{name}{n}", claims, texts).id for n, one in enumerate(trees, 1)]
        made = claim_from({
            "id": name, "kind": kind, "children": children, "subject": f"all of {name}", "attribute": "as reported",
            "value": "yes", "as_of": DAY, "evidence": list(own),
        })  # fmt: skip
    claims.append(made)
    return made


def weighed(tree: Tree, own: Sequence[Mapping[str, Any]] = (), more: Sequence[str] = ()) -> tuple[Weighed, Case]:
    claims: list[Claim] = []
    texts: list[str] = list(more)
    built(tree, "W", claims, texts, own)
    of = case(*claims, sources=dict.fromkeys(texts, "text/plain"), asking=Asking(ask=False))
    docket = Docket(checked(of))
    for rule in (rules.r0, rules.r1, rules.r2, rules.r3, rules.r4, rules.r5):
        list(rule(docket))
    return next(one for one in docket.claims if one.name == "W"), of


def leaves(tree: Tree) -> list[str]:
    return [tree] if isinstance(tree, str) else [word for one in tree[1] for word in leaves(one)]


def true(tree: Tree, values: Sequence[bool]) -> bool:
    """Two-valued truth, given that of each leaf in order."""
    rest = iter(values)

    def of(one: Tree) -> bool:
        if isinstance(one, str):
            return next(rest)
        parts = [of(part) for part in one[1]]
        return any(parts) if one[0] == "OR" else all(parts)

    return of(tree)


def by_brute_force(tree: Tree) -> bool | None:
    """True or false if it is so whatever becomes of the leaves that went back; None otherwise."""
    known = [WORDS[word] for word in leaves(tree)]
    ends = {
        true(tree, values)
        for values in itertools.product((True, False), repeat=len(known))
        if all(one is None or one == value for one, value in zip(known, values, strict=True))
    }
    return ends.pop() if len(ends) == 1 else None


@pytest.mark.parametrize("kind", ["AND", "OR", "SEQ"])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_every_row_of_the_truth_table(kind: str, width: int) -> None:
    for words in itertools.product(WORDS, repeat=width):
        one, _ = weighed((kind, words))
        assert one.stand == MEANS[by_brute_force((kind, words))], (kind, words)
        read = [word == "stands" for word in words]
        if one.stand == "standing":
            assert one.supported() is (any(read) if kind == "OR" else all(read)), (kind, words)


trees = st.recursive(
    st.sampled_from(sorted(WORDS)),
    lambda inner: st.tuples(st.sampled_from(["AND", "OR", "SEQ"]), st.lists(inner, min_size=1, max_size=3)),
    max_leaves=7,
)


@settings(max_examples=100, deadline=None)
@given(trees.filter(lambda tree: not isinstance(tree, str)), st.randoms(use_true_random=False))
def test_trees_of_any_shape_and_in_any_order(tree: Tree, rng: Any) -> None:
    one, of = weighed(tree)
    assert one.stand == MEANS[by_brute_force(tree)]
    claims = list(of.claims)
    rng.shuffle(claims)
    found, again = settle(of), settle(replace(of, claims=tuple(claims)))
    assert found.verdict == again.verdict
    assert found.verifier_input_sha256 == again.verifier_input_sha256
    assert case_from(case_data(of)) == of


OWN = "Note of W\nall of W\nas reported: yes\n"


@pytest.mark.parametrize("kind", ["AND", "OR", "SEQ"])
@pytest.mark.parametrize(
    ("own", "stands"),
    [
        (line(OWN, 3), "standing"),
        (line(OWN, 3, "as reported: never"), None),
        ({**line(OWN, 3), "digest": digest("no bytes")}, "incomplete"),
    ],
)
def test_evidence_of_its_own_decides_before_the_parts_do(kind: str, own: Mapping[str, Any], stands: str | None) -> None:
    """What stands carries it, what cannot be opened returns it, and where it is void the parts decide."""
    for words in itertools.product(WORDS, repeat=2):
        one, _ = weighed((kind, words), [own], [OWN])
        assert one.stand == (stands or MEANS[by_brute_force((kind, words))]), words


@pytest.mark.parametrize("total", [14, 15])
def test_a_sum_stands_with_all_its_parts_and_only_if_it_adds_up(total: int) -> None:
    for words in itertools.product(WORDS, repeat=2):
        _, of = weighed(("AND", words))
        parts = [replace(one, attribute="pallets received") for one in of.claims[:2]]
        whole = claim("W", total, kind="CALC", children=["W1", "W2"], subject="both")
        docket = Docket(replace(of, claims=(*parts, whole)))
        for rule in (rules.r0, rules.r1, rules.r2, rules.r3):
            list(rule(docket))
        one = next(one for one in docket.claims if one.name == "W")
        expected = by_brute_force(("AND", words))
        if expected is True and total == 15:
            assert (one.stand, one.rule) == ("fallen", "R3"), "7 and 7 are not 15"
        else:
            assert one.stand == MEANS[expected], words
            assert one.supported() is (words == ("stands", "stands") and total == 14) or one.stand != "standing"


def test_a_sequence_says_in_which_step_it_falls_and_its_order_is_its_own() -> None:
    one, of = weighed(("SEQ", ["stands", "goes back", "falls", "falls"]))
    assert one.why.startswith("Its step 3, W3 falls: ")
    back, _ = weighed(("SEQ", ["stands", "goes back", "stands"]))
    assert back.why.startswith("Its step 2, W2 is returned: ")
    (whole,) = [each for each in of.claims if each.id == "W"]
    turned = replace(whole, children=whole.children[::-1])
    for kind, same in (("SEQ", False), ("AND", True)):
        both = [replace(each, kind=kind) for each in (whole, turned)]  # type: ignore[arg-type] # one of the kinds
        inputs = [manifest_of(Docket(replace(of, claims=(*of.claims[:-1], each)))).bytes for each in both]
        assert (inputs[0] == inputs[1]) is same
        twice = Docket(replace(of, claims=(*of.claims[:-1], both[0], replace(both[1], id="V"))))
        assert sum(each.claim.kind == kind for each in twice.claims) == (1 if same else 2)


def test_claims_of_equal_words_whose_parts_cite_otherwise_are_two_claims() -> None:
    """The one is made of a forged part, the other of a true one: neither is taken for the other, whatever its name."""
    text = "Note\norder 4000\nPallets received: 7\n"
    for good, bad in (("P", "Q"), ("Q", "P")):
        leaf = {good: [line(text, 3)], bad: [line(text, 3, "Pallets received: 9")]}
        parts = [claim(f"{name}1", 7, *cited, subject="order 4000") for name, cited in leaf.items()]
        wholes = [claim(name, "yes", kind="AND", children=[f"{name}1"], unit=None) for name in leaf]
        found = settle(case(*parts, *wholes, sources={text: "text/plain"}, asking=Asking(ask=False)))
        assert {one["claim"] for one in found.verdict["losers"]} == {bad, f"{bad}1"}
        assert {good, f"{good}1"} <= set(found.verdict["standing"])


# --- what falls later than by evidence


def sides(**more: Any) -> Case:
    """A note and a log that differ, and a claim that is made of what the log says."""
    note = "Delivery note\nOrder 4711\nPallets received: 10\n"
    log = "Log\nOrder 4711\nPallets received: 9\n"
    both = claim("A", 10, line(note, 3)), claim("B", 9, line(log, 3))
    whole = claim_from({"id": "W", "kind": "AND", "children": ["B"], "subject": "order 4711", "attribute": "short",
                        "value": "yes", "as_of": DAY})  # fmt: skip
    return case(*both, whole, pinned=(pin(note, kind="note"), pin(log, kind="log")), **more)


def test_what_is_made_of_a_claim_that_gives_way_falls_with_it() -> None:
    rule = Precedence(id="r", version="1", rules=(Prefer(id="note", prefer="note", over="log"),))
    found = settle(sides(precedence=rule))
    assert brief(found) == ("settled", "R6")
    assert found.verdict["standing"] == ["A"]
    reasons = {one["claim"]: one["reason"] for one in found.verdict["losers"]}
    assert set(reasons) == {"B", "W"}
    assert reasons["W"].startswith("R6: Its part B falls: ")


@pytest.mark.parametrize(("kept", "fallen"), [("A", {"B", "W"}), ("B", {"A"})])
def test_so_does_what_is_made_of_a_claim_that_a_person_did_not_choose(kept: str, fallen: set[str]) -> None:
    waits = settle(sides(asking=Asking(ask=False)))
    letter = next(side["letter"] for side in waits.verdict["positions"] if side["claims"] == [kept])
    found = settle(sides(), lambda _key, _effect: PersonAnswer(answer=letter, who="ben"))
    assert brief(found) == ("settled", "person")
    assert {one["claim"] for one in found.verdict["losers"]} == fallen
    assert found.verdict["standing"] == [kept]


# --- what cannot be


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"kind": "AND"}, "AND needs children"),
        ({"children": ["b"]}, "A LEAF has no children"),
        ({"kind": "OR", "children": ["b", "b"]}, "names 'b' twice"),
    ],
)
def test_kinds_and_children_have_to_fit(data: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecError, match=says) as error:
        claim_from({"id": "a", **data})
    assert error.value.next_step
    made = Claim("a", kind=data.get("kind", "LEAF"), children=tuple(data.get("children", ())))
    with pytest.raises(SpecError, match=says):
        checked(case(made))


def test_no_claim_is_a_part_of_itself() -> None:
    ring = [Claim("a", kind="AND", children=("b",)), Claim("b", kind="OR", children=("x", "c")),
            Claim("c", kind="SEQ", children=("a",)), Claim("x")]  # fmt: skip
    with pytest.raises(SpecError, match="part of itself: a -> b -> c -> a"):
        checked(case(*ring))
    with pytest.raises(SpecError, match="part of itself: a -> a"):
        checked(case(Claim("a", kind="AND", children=("a",))))
    checked(case(*ring[1:]))


@pytest.mark.parametrize(("levels", "wide", "fits"), [(20, 1, True), (21, 1, False), (13, 2, True), (14, 2, False)])
def test_no_claim_is_made_of_so_many_parts_that_it_would_never_end(levels: int, wide: int, fits: bool) -> None:
    """Each level is made of all claims of the level below: few claims, and each a part many times over."""
    names = [[f"c{level}-{n}" for n in range(wide)] for level in range(levels)]
    claims = [Claim(name) for name in names[0]]
    for below, level in itertools.pairwise(names):
        claims += [Claim(name, kind="AND", children=tuple(below)) for name in level]
    if fits:
        checked(case(*claims))
    else:
        with pytest.raises(SpecError, match="levels or"):
            checked(case(*claims))
