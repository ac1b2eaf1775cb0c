"""The page of a question: everything is shown, nothing is markup but ours, and nothing is loaded from anywhere."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

from click import unstyle
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from dissensus.cli.inbox_page import POLICY, page, plain, text
from dissensus.cli.inbox_text import question_lines, side_by_side, span
from dissensus.run.inbox import Answer, Question, State
from dissensus.script.persons import Cited, Exhibit, Option

DIGEST = "0" * 64
VOID = {"meta", "br"}
NASTY = (
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</pre></section>", '"><b>', "' onclick='x", "-->",
    "]]>", "&lt;b&gt;", "<!--", "</title><svg/onload=x>", "\u202egnp.exe", "\x1b[2J", "\0", "javascript:x", "<", "&",
)  # fmt: skip
ANY = st.lists(st.one_of(st.sampled_from(NASTY), st.text(max_size=12)), max_size=4).map("".join)


class Seen(HTMLParser):
    """Tags with their attributes, and the text between them."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, tuple[tuple[str, str | None], ...]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.other: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        self.other.append(data)

    def handle_pi(self, data: str) -> None:
        self.other.append(data)

    def unknown_decl(self, data: str) -> None:
        self.other.append(data)


def question(say: Any, *, state: State = State.OPEN) -> tuple[Question, tuple[Exhibit, ...]]:
    """A question in which each text is one that ``say`` gives."""
    item = {
        "digest": DIGEST,
        "title": say() + "t",
        "quote": say() + "q",
        "live_ref": say() + "l",
        "origin": say() + "o",
    }
    cited = Cited(
        item=item, result="MOVED", live="CHANGED", where=say() + "w", before=say(), text=say(), after=say(),
        hint=say() + "h",
    )  # fmt: skip
    lost = replace(cited, result="NOT_FOUND", text=None)
    facts = ((say(), say()), (say(), say()))
    sides = (
        Exhibit(id=say(), title=say(), text=say() + "x", facts=facts, cited=(cited, lost)),
        Exhibit(id=say(), title=say(), text="", facts=facts[:1]),
    )
    answer = Answer(
        seq=9, id="r:9", version=1, principal=say(), authenticated_by=say(), choice=say(), reason=say(), scopes={},
        shown={}, answered_at=1.8e9, idempotency_key="k", accepted=False, refused="unauthorised", says=say(),
    )  # fmt: skip
    options = (Option(say(), say(), scopes=(say(), say()), rule={"id": "x", "says": say()}), Option(say(), say()))
    asked = Question(
        id="00000000000000a1:7", key="person", record=f"runs/{say()}.db", procedure="dispute", version=2, state=state,
        text=say() + "?", options=options, exhibits=sides, asked_at=1.8e9, topic=say() + "d", asked_to=(say(), say()),
        deadline_s=60.0, answers=(answer,),
    )  # fmt: skip
    return asked, sides


def skeleton(source: str) -> list[tuple[str, tuple[tuple[str, str | None], ...]]]:
    """The tags of a page without the marks of characters that cannot be seen."""
    seen = Seen(source)
    assert seen.other == []
    return [one for one in seen.tags if one != ("span", (("class", "odd"),))]


def made(say: Any) -> str:
    return page(*question(say), shown="f" * 64, now=1.8e9 + 3600)


@given(st.lists(ANY, min_size=45, max_size=45))
def test_no_tag_of_the_content_survives(texts: list[str]) -> None:
    given_texts = iter(texts * 2)
    assert skeleton(made(lambda: next(given_texts))) == skeleton(made(lambda: "a"))


@given(ANY)
def test_all_that_can_be_seen_is_shown_as_it_is(raw: str) -> None:
    seen = Seen(f"<p>{text(raw)}</p>")
    assert [tag for tag, _ in seen.tags[:1]] == ["p"]
    shown = "".join(seen.text)
    assert shown.replace("\n", "") == _visible(raw).replace("\n", "").replace("\r", "")
    assert not set("\x00\x1b\u202e\u200b\u2066\ufeff") & set(text(raw))
    assert not set("<>\n\x1b") & set(plain(raw))


def _visible(raw: str) -> str:
    odd = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
    return odd.sub(lambda one: f"U+{ord(one[0]):04X}", raw.replace("\r\n", "\n"))


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    source = made(lambda: "http://example.org/x.js")
    seen = Seen(source)
    assert {tag for tag, _ in seen.tags}.isdisjoint({"script", "link", "img", "iframe", "a", "form", "object", "base"})
    assert {name for _, attrs in seen.tags for name, _ in attrs} <= {
        "lang", "charset", "http-equiv", "content", "name", "class",
    }  # fmt: skip
    style = source[source.index("<style>") : source.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    assert POLICY.startswith("default-src 'none'")


def test_both_sides_the_passages_and_how_to_answer_are_on_it() -> None:
    asked, sides = question(lambda: "a")
    source = page(asked, sides, shown="f" * 64, now=1.8e9 + 3600)
    assert source.count('<section class="side">') == 2
    assert source.count("<mark>a</mark>") == 1
    assert "overdue by 59 min, still open" in source
    assert "--shown ffffffffffffffff" in source
    assert "--version 2" in source
    assert "The live source has other bytes now." in source
    assert "No evidence was given." in source
    assert "refused: unauthorised" in source
    done = page(replace(asked, state=State.ANSWERED), sides, shown="f" * 64, now=1.8e9)
    assert "How to answer" not in done


@settings(max_examples=40)
@given(st.lists(ANY, min_size=45, max_size=45), st.integers(40, 160), st.booleans())
def test_nothing_of_the_content_steers_a_terminal(texts: list[str], width: int, whole: bool) -> None:
    given_texts = iter(texts * 2)
    asked, sides = question(lambda: next(given_texts))
    for line in question_lines(asked, sides, name="00a1:7", now=1.8e9, width=width, marks=False, whole=whole):
        bare = unstyle(line)
        assert not any(char < " " or "\x7f" <= char <= "\x9f" or char in "\u202e\u2028\u2029" for char in bare)


def test_columns_stand_below_each_other_whatever_stands_in_them() -> None:
    wide = Exhibit(id="A", title="配送", facts=(("数量", "４７ パレット" * 4),), cited=(
        Cited(item={"digest": DIGEST}, result="EXACT", before="a\tb\n", text="配" * 70, after=" e\u0301 tail " * 9),
    ))  # fmt: skip
    both = (wide, replace(wide, id="B", cited=()))
    lines = [unstyle(line) for line in side_by_side(both, width=81, marks=True, whole=True)]
    places = {cell_len(line[: line.index("│")]) for line in lines if "│" in line}
    assert len(places) == 1
    assert all(cell_len(line) <= 81 for line in lines)
    assert "«" in "".join(lines)
    narrow = [unstyle(line) for line in side_by_side((wide, wide), width=50, marks=True, whole=True)]
    assert not any("│" in line for line in narrow)
    assert all(cell_len(line) <= 50 for line in narrow)


def test_times_are_said_as_people_say_them() -> None:
    said = [span(seconds) for seconds in (-5, 0, 59, 60, 3599, 3600, 3661, 86_399, 86_400, 90_000, 10**7)]
    assert said[:7] == ["0 s", "0 s", "59 s", "1 min", "59 min", "1 h", "1 h 1 min"]
    assert said[7:] == ["23 h 59 min", "1 d", "1 d 1 h", "115 d 17 h"]
