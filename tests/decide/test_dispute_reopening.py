"""Reopening: each row of the table, against brute force on small texts, and on bytes from anywhere."""

from __future__ import annotations

import json
import math
from hashlib import sha256

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dissensus.decide.dispute.evidence import (
    CsvDialect,
    CsvSelector,
    Evidence,
    JsonSelector,
    LineSelector,
    PageSelector,
    QuoteSelector,
    Reopened,
    Selector,
    TextSelector,
    TokenSelector,
)
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.reopening import LiveCopy, reopen
from dissensus.decide.dispute.sources import Source

NOTE = (
    "Delivery note 4711\n"
    "The pallet was counted at the dock by two people.\n"
    "It held 480 boxes, ﬁlled by hand, none of them broken.\n"
    "A sec-\nond line says: weight 12.5 kg.\n"
    "Signed at the gate in the evening.\n"
    "Signed at the gate in the evening.\n"
)


def item(data: bytes, quote: str, *selectors: Selector, prefix: str = "", suffix: str = "", live: str = "") -> Evidence:
    return Evidence(sha256(data).hexdigest(), selectors, quote, prefix, suffix, live_ref=live or None)


def opened(data: str | bytes, quote: str, *selectors: Selector, prefix: str = "", suffix: str = "") -> Reopened:
    raw = data.encode() if isinstance(data, str) else data
    evidence = item(raw, quote, *selectors, prefix=prefix, suffix=suffix)
    return reopen(evidence, {evidence.digest: raw})


def at(quote: str, text: str = NOTE) -> TextSelector:
    start = text.index(quote)
    return TextSelector(start, start + len(quote))


# --- rows 1 and 2


def test_no_bytes_is_not_a_missing_quote() -> None:
    found = reopen(item(b"abc", "abc", TextSelector(0, 3)), {})
    assert (found.result, found.live, found.returns) == ("SOURCE_MISSING", "NOT_CHECKED", True)


@pytest.mark.parametrize(
    ("live", "result", "state"),
    [
        (b"abd", "CHANGED", "CHANGED"),
        (b"abc", "EXACT", "SAME"),  # the live copy has the digest, so it is the source
        (None, "SOURCE_MISSING", "GONE"),
    ],
)
def test_without_a_snapshot_the_live_source_is_looked_at(live: bytes | None, result: str, state: str) -> None:
    def look(_item: Evidence) -> LiveCopy | str:
        return "GONE" if live is None else LiveCopy(sha256(live).hexdigest(), lambda: live)

    found = reopen(item(b"abc", "abc", TextSelector(0, 3), live="note.txt"), {}, look)  # type: ignore[arg-type]
    assert (found.result, found.live) == (result, state)


@pytest.mark.parametrize(("live", "state"), [(b"abc", "SAME"), (b"abX", "CHANGED"), (None, "GONE")])
def test_the_live_source_never_alters_the_result_for_the_snapshot(live: bytes | None, state: str) -> None:
    evidence = item(b"abc", "abc", TextSelector(0, 3), live="note.txt")

    def look(_item: Evidence) -> LiveCopy | str:
        return "GONE" if live is None else LiveCopy(sha256(live).hexdigest())

    found = reopen(evidence, {evidence.digest: b"abc"}, look)  # type: ignore[arg-type]
    assert (found.result, found.live) == ("EXACT", state)


def test_altered_bytes_under_the_digest_void_the_item() -> None:
    evidence = item(b"12 pallets", "12 pallets", TextSelector(0, 10))
    found = reopen(evidence, {evidence.digest: b"13 pallets"})
    assert found.damaged
    assert found.voids


# --- row 3


@pytest.mark.parametrize(
    "selector",
    [
        TextSelector(-1, 3),
        TextSelector(5, 5),
        TextSelector(6, 5),
        TextSelector(0, len(NOTE) + 1),
        LineSelector(0, 1),
        LineSelector(2, 1),
        LineSelector(7, 8),
        LineSelector(9, 9),
        PageSelector(0),
        PageSelector(2),
        PageSelector(1, 2),
        JsonSelector("/a"),
        TokenSelector(0, 1000),
        TokenSelector(-3, -1),
        CsvSelector(0, 1),
        CsvSelector(9, 1),
        CsvSelector(1, 9),
        CsvSelector(1, 0),
        CsvSelector(1, "no such column"),
    ],
)
def test_out_of_range_even_if_the_quote_stands_elsewhere(selector: Selector) -> None:
    found = opened(NOTE, "The pallet was counted", selector)
    assert found.result == "OUT_OF_RANGE"
    assert found.text is None


def test_a_hit_elsewhere_is_a_hint() -> None:
    assert "1 other place" in opened(NOTE, "The pallet was counted", TextSelector(0, 10_000)).hint


# --- rows 4 and 5


@pytest.mark.parametrize(
    ("quote", "selector"),
    [
        ("The pallet", at("The pallet")),
        ("7", TextSelector(15, 16)),
        ("Delivery note 4711", LineSelector(1, 1)),
        ("A sec-\nond line says: weight 12.5 kg.", LineSelector(4, 5)),
        ("note 4711", TokenSelector(1, 3)),
        ("counted at the dock", PageSelector(1)),
        ("counted at the dock", QuoteSelector("counted at the dock")),
        ("4711", QuoteSelector("4711")),
    ],
)
def test_exact(quote: str, selector: Selector) -> None:
    found = opened(NOTE, quote, selector)
    assert (found.result, found.text) == ("EXACT", quote)


@pytest.mark.parametrize(
    ("quote", "selector", "text"),
    [
        ("filled by hand", at("ﬁlled by hand"), "ﬁlled by hand"),
        ("second line", at("sec-\nond line"), "sec-\nond line"),
        ("the  PALLET", at("The pallet"), "The pallet"),
        ("filled by hand, none of", PageSelector(1), "ﬁlled by hand, none of"),
        ("filled by hand, none of", QuoteSelector("filled by hand, none of"), "ﬁlled by hand, none of"),
    ],
)
def test_repaired_shows_the_true_text(quote: str, selector: Selector, text: str) -> None:
    found = opened(NOTE, quote, selector)
    assert (found.result, found.text, found.partial) == ("REPAIRED", text, False)


def test_superscripts_are_not_digits() -> None:
    assert opened("area of 10² m", "area of 102 m", TextSelector(0, 13)).result == "NOT_FOUND"


# --- rows 6 and 7


def test_moved_gives_the_new_selector() -> None:
    found = opened(NOTE, "counted at the dock", TextSelector(0, 5))
    assert (found.result, found.selector) == ("MOVED", at("counted at the dock"))


def test_moved_after_n() -> None:
    found = opened(NOTE, "FILLED by hand, none", LineSelector(1, 1))
    assert (found.result, found.text) == ("MOVED", "ﬁlled by hand, none")


def test_a_short_quote_is_not_searched_for() -> None:
    assert opened(NOTE, "broken.", TextSelector(0, 5)).result == "NOT_FOUND"
    assert opened(NOTE, "them broken.", TextSelector(0, 5)).result == "MOVED"


def test_a_part_of_a_selected_line() -> None:
    assert opened(NOTE, "4711", LineSelector(1, 1)).result == "NOT_FOUND"
    assert "quote selector" in opened(NOTE, "4711", LineSelector(1, 1)).hint
    assert opened(NOTE, "4711", LineSelector(1, 1), QuoteSelector("4711")).result == "EXACT"
    assert opened(NOTE, "held 480 boxes", LineSelector(3, 3)).result == "MOVED"


def test_several_places_are_ambiguous_unless_context_leaves_one() -> None:
    twice = "Signed at the gate"
    assert opened(NOTE, twice, TextSelector(0, 5)).result == "AMBIGUOUS"
    assert opened(NOTE, twice, QuoteSelector(twice)).result == "AMBIGUOUS"
    first = at(twice)
    assert opened(NOTE, twice, first).result == "EXACT"
    found = opened(NOTE, twice, TextSelector(0, 5), prefix="12.5 kg.\n")
    assert (found.result, found.selector) == ("MOVED", first)
    found = opened(NOTE, twice, QuoteSelector(twice), prefix="in the evening. ")
    assert (found.result, found.selector) == ("EXACT", TextSelector(first.start + 35, first.end + 35))
    assert opened(NOTE, twice, QuoteSelector(twice), suffix="nowhere").result == "AMBIGUOUS"


# --- row 8

LONG = "the goods of the second truck were unloaded by the crew at the northern gate in the late evening of that day"


@pytest.mark.parametrize(
    ("quote", "source", "result"),
    [
        (LONG + " indeed", LONG, "REPAIRED"),
        ("perhaps " + LONG, LONG, "REPAIRED"),
        (LONG.replace("that day", "this day"), LONG, "REPAIRED"),
        (LONG.replace("that day", "day 3"), LONG, "NOT_FOUND"),  # a digit in the rest of the quote
        (LONG.replace("that day", "the rain"), LONG.replace("that day", "May 2026"), "NOT_FOUND"),  # of the source
        (LONG + " + two", LONG, "NOT_FOUND"),
        (LONG.replace("that day", "no day"), LONG, "NOT_FOUND"),
        (LONG, LONG.replace("that day", "no day"), "NOT_FOUND"),
        (LONG + " kg", LONG, "NOT_FOUND"),
        (LONG.replace("the goods", "ten goods"), LONG, "NOT_FOUND"),
        ("loaded " + LONG, "unloaded " + LONG, "MOVED"),  # it does stand there, cut out of a word
        ("opened goods" + LONG[9:], "unopened goods" + LONG[9:], "MOVED"),
        (LONG.replace("that day", "a year"), LONG, "NOT_FOUND"),
        (LONG.replace("the goods", "useful goods"), LONG.replace("the goods", "useless goods"), "NOT_FOUND"),
        (LONG.replace("that day", "un-use"), LONG.replace("that day", "use"), "NOT_FOUND"),
        (LONG.replace("that day", "use"), LONG.replace("that day", "non-use"), "NOT_FOUND"),
        (LONG.replace("crew", "team"), LONG, "NOT_FOUND"),  # no run of 85 %
        (LONG + " indeed", LONG + ". " + LONG, "NOT_FOUND"),  # the run is not unique
    ],
)
def test_most_of_a_quote_in_one_run(quote: str, source: str, result: str) -> None:
    found = opened(source, quote, LineSelector(1, 1))
    assert found.result == result
    assert found.partial == (result == "REPAIRED")


def test_a_number_that_the_run_cuts_through_counts_as_left() -> None:
    source = "all in all the crew counted the pallets twice and found 1234"
    quote = "all in all the crew counted the pallets twice and found 12 and"
    assert opened(source, quote, LineSelector(1, 1)).result == "NOT_FOUND"


@given(st.data())
def test_a_lost_digit_is_never_repaired(data: st.DataObject) -> None:
    """Whatever digit is taken out of a quote, it is not repaired to a text that holds it."""
    words = data.draw(st.lists(st.sampled_from(["box", "of", "7", "12.5", "-3", "held 480", "gate"]), min_size=4))
    source = " ".join(words)
    digits = [at for at, char in enumerate(source) if char.isdigit()]
    if not digits:
        return
    place = data.draw(st.sampled_from(digits))
    quote = source[:place] + source[place + 1 :]
    for selector in (TextSelector(0, len(source)), LineSelector(1, 1), QuoteSelector(quote), PageSelector(1)):
        found = opened(source, quote, selector)
        assert found.result != "REPAIRED" or normal(found.text or "") == normal(quote)
        assert found.result != "EXACT" or found.text == quote


# --- what cuts


@pytest.mark.parametrize(
    ("quote", "cut"),
    [
        ("held 48", "number"),
        ("80 boxes, ", "number"),
        ("weight 12", "number"),
        (".5 kg", "number"),
        ("he pallet was", "word"),
        ("The pallet was", ""),
        ("480 boxes,", ""),
    ],
)
def test_a_quote_out_of_a_number_says_so(quote: str, cut: str) -> None:
    found = opened(NOTE, quote, at(quote))
    assert (found.result, found.cut) == ("EXACT", cut)
    assert opened(NOTE, quote, QuoteSelector(quote)).cut == cut


def test_a_sign_belongs_to_its_number() -> None:
    assert opened("balance: -12 euros", "12 euros", TextSelector(10, 18)).cut == "number"
    assert opened("rows 11-12 euros", "12 euros", TextSelector(8, 16)).cut == ""


# --- kinds of sources


def test_csv() -> None:
    table = 'id,qty,"note, long"\r\n1,12,"he said ""no""\r\nand left"\r\n\r\n2,,x\r\n'
    assert opened(table, "12", CsvSelector(2, "qty")).result == "EXACT"
    assert opened(table, "12", CsvSelector(2, 2)).result == "EXACT"
    assert opened(table, 'he said "no"\r\nand left', CsvSelector(2, 3)).result == "EXACT"
    assert opened(table, 'he said "no" and left', CsvSelector(2, "note, long")).result == "REPAIRED"
    assert opened(table, "", CsvSelector(4, 2)).result == "EXACT"
    assert opened(table, "2,,x", CsvSelector(4)).result == "EXACT"
    found = opened(table, 'he said "no"', CsvSelector(4, 3))
    assert (found.result, found.selector) == ("MOVED", CsvSelector(2, 3))
    assert opened("\ufeffid;qty\n1;2", "id", CsvSelector(1, 1, CsvDialect(";"))).result == "EXACT"


def test_a_short_quote_that_is_all_there_is_is_found_after_n_too() -> None:
    # the floor of twelve characters is for quotes that do not stand where they should: this one has no such place
    found = opened("It held 10\u00a0kg, ﬁlled.", "10 kg", QuoteSelector("10 kg"))
    assert (found.result, found.text) == ("REPAIRED", "10\u00a0kg")
    assert opened("A 10\u00a0kg, B 10\u00a0kg", "10 kg", QuoteSelector("10 kg")).result == "AMBIGUOUS"
    assert opened("It held 10\u00a0kg, ﬁlled.", "10 kg", TextSelector(0, 5)).result == "NOT_FOUND"


def test_a_column_that_two_headers_name_is_not_told_apart_and_its_number_is() -> None:
    # both values stand there, so that neither quote is a forgery: the author has to say which column is meant
    for quote in ("1", "2", "3"):
        assert opened("a,a\n1,2", quote, CsvSelector(2, "a")).result == "AMBIGUOUS"
    assert opened("a,a\n1,2", "2", CsvSelector(2, 2)).result == "EXACT"
    assert opened("a,a\n1,2", "1", CsvSelector(3, "a")).result == "OUT_OF_RANGE"


def test_json() -> None:
    document = '{"a/b": {"~": [1, 12.50, true, null, "x\\ny, and so on"]}, "": 0}'
    for pointer, quote in [
        ("/a~1b/~0/1", "12.50"),
        ("/a~1b/~0/2", "true"),
        ("/a~1b/~0/3", "null"),
        ("/a~1b/~0/4", "x\ny, and so on"),
        ("/", "0"),
        ("", document),
    ]:
        assert opened(document, quote, JsonSelector(pointer)).result == "EXACT", pointer
    for pointer in ("/a~1b/~0/5", "/a~1b/~0/01", "/a~1b/~0/-", "/a/b", "/a~1b/~0/1/0"):
        assert opened(document, "12.50", JsonSelector(pointer)).result == "OUT_OF_RANGE", pointer
    assert opened(document, "12.5", JsonSelector("/a~1b/~0/1")).result == "NOT_FOUND"
    found = opened(document, "x\ny, and so on", JsonSelector("/"))
    assert (found.result, found.selector) == ("MOVED", JsonSelector("/a~1b/~0/4"))


def test_a_json_key_that_stands_twice_is_not_told_apart() -> None:
    document = '{"a": 1, "b": {"c": [{"a": 1}]}, "a": 2}'
    for pointer, result in [("/a", "AMBIGUOUS"), ("/b/c/0/a", "EXACT"), ("/b/a", "OUT_OF_RANGE"), ("", "NOT_FOUND")]:
        assert opened(document, "1", JsonSelector(pointer)).result == result, pointer
    assert opened('{"x": [{}, {"y": 1, "z": 3, "y": 2}]}', "3", JsonSelector("/x/1/z")).result == "EXACT"
    assert opened('{"x": {"y": 1}, "x": {"y": 2}}', "2", JsonSelector("/x/y")).result == "AMBIGUOUS"


@pytest.mark.parametrize("odd", ["1e400", "-1E-400", "9" * 6000, '"\\ud83d"', '"\\udead\\ud83d"', '"\\\\ud83d"'])
def test_a_value_that_no_float_or_text_holds_hides_no_other(odd: str) -> None:
    document = f'{{"odd": {odd}, "list": ["\\ud83d\\ude00", {{"qty": 1.50}}]}}'
    assert opened(document, "1.50", JsonSelector("/list/1/qty")).result == "EXACT"
    assert opened(document, "\U0001f600", JsonSelector("/list/0")).result == "EXACT"
    assert opened(document, "\U0001f600", QuoteSelector("\U0001f600")).selector == JsonSelector("/list/0")
    if odd[0] != '"':
        assert opened(document, odd, JsonSelector("/odd")).result == "EXACT"
    assert opened(document, "1.50", JsonSelector("/list/2")).result == "OUT_OF_RANGE"


def test_a_text_that_is_json_by_chance_has_tokens() -> None:
    assert opened("4711", "4711", TokenSelector(0, 1)).result == "EXACT"
    assert opened('"ten pallets"', 'pallets"', TokenSelector(1, 2)).result == "EXACT"
    assert opened('{"a": 1}', '{"a":', TokenSelector(0, 1)).result == "OUT_OF_RANGE"


def test_tokens() -> None:
    tokens = json.dumps(["The", "", "pallet", "\n", "left", "the", "gate ."])
    assert opened(tokens, "The  pallet \n", TokenSelector(0, 4)).result == "EXACT"
    found = opened(tokens, "left the gate .", TokenSelector(0, 2))
    assert (found.result, found.selector) == ("MOVED", TokenSelector(4, 7))
    nested = '{"x": {"y": ' + tokens + "}}"
    assert opened(nested, "pallet", TokenSelector(2, 3, "/x/y")).result == "EXACT"
    assert opened(nested, "pallet", TokenSelector(2, 3)).result == "OUT_OF_RANGE"


def test_pages() -> None:
    pages = ["first page of all", "a quote on the second one", "the third", "a quote on the fourth"]
    source = Source(b"%PDF", "application/pdf", pages)

    def look(quote: str, page: int, prefix: str = "") -> Reopened:
        evidence = Evidence(source.digest, (PageSelector(page),), quote, prefix)
        return reopen(evidence, {source.digest: source})

    assert look("quote on", 2).result == "EXACT"
    for page in (1, 3):
        found = look("a quote on the second", page)
        assert (found.result, found.selector) == ("MOVED", PageSelector(2))
    assert look("a quote on the second", 4).selector == PageSelector(2)
    assert look("a quote on the", 1).selector == PageSelector(2)  # the next page goes before the whole
    assert look("a quote on the", 3).result == "AMBIGUOUS"
    assert look("second one the third", 2).selector == PageSelector(2, 3)  # over the break
    assert look("first page", 5).result == "OUT_OF_RANGE"
    empty = Source(b"%PDF2", "application/pdf", ["", " "])
    found = reopen(Evidence(empty.digest, (PageSelector(1),), "a quote of some length"), {empty.digest: empty})
    assert found.result == "NOT_FOUND"
    assert "scan" in found.hint
    assert opened("one\ftwo\f", "two", PageSelector(2)).result == "EXACT"
    assert opened("one\ftwo\f", "two", PageSelector(3)).result == "OUT_OF_RANGE"


def test_a_file_that_is_no_text() -> None:
    png = b"\x89PNG\r\n\x1a\n\x00\xff\xfe"
    assert opened(png, "PNG", TextSelector(0, 3)).result == "OUT_OF_RANGE"
    found = opened(png, "a quote of some length", QuoteSelector("a quote of some length"))
    assert found.result == "NOT_FOUND"
    assert "no text" in found.hint


def test_what_nobody_can_read_voids_nothing_and_goes_back() -> None:
    """A file in another encoding, a picture, a scan: that no quote was found in it is not the quote's fault."""
    latin = "Stückzahl: 10".encode("latin-1")
    for selector in (LineSelector(1, 1), TextSelector(0, 3), CsvSelector(1, 1), JsonSelector("/a"), PageSelector(1)):
        found = opened(latin, "Stückzahl: 10", selector)
        assert (found.unread, found.returns, found.voids, found.settles) == (True, True, False, False)
    declared = Evidence(
        sha256(latin).hexdigest(), (LineSelector(1, 1),), "Stückzahl: 10", media="text/plain; charset=cp1252"
    )
    assert reopen(declared, {declared.digest: latin}).result == "EXACT"
    for data in ("", "Pallets: 10"):  # an empty text is a text
        found = opened(data, "Pallets: 12 in all", LineSelector(1, 1))
        assert (found.unread, found.voids) == (False, True)


def test_a_declared_encoding() -> None:
    data = "Größe: 12".encode("latin-1")
    source = Source(data, "text/plain; charset=latin-1")
    evidence = Evidence(source.digest, (TextSelector(0, 5),), "Größe")
    assert reopen(evidence, {source.digest: source}).result == "EXACT"
    assert reopen(evidence, {source.digest: Source(data, "text/plain; charset=no-such")}).result == "OUT_OF_RANGE"


# --- several selectors


def test_selectors_that_agree() -> None:
    quote = "counted at the dock"
    exact = (at(quote), QuoteSelector(quote), LineSelector(2, 2), PageSelector(1))
    assert opened(NOTE, quote, *exact).result == "EXACT"
    assert opened(NOTE, quote, LineSelector(2, 2), QuoteSelector(quote)).result == "EXACT"


def test_selectors_that_contradict_each_other() -> None:
    quote = "counted at the dock"
    found = opened(NOTE, quote, at(quote), LineSelector(3, 3))
    assert (found.result, found.contradictory) == ("AMBIGUOUS", True)
    assert found.returns


# --- properties


@given(st.text(max_size=60), st.data())
def test_whatever_is_selected_reopens_exactly(text: str, data: st.DataObject) -> None:
    if not text:
        return
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    found = opened(text, text[start:end], TextSelector(start, end))
    assert (found.result, found.text) == ("EXACT", text[start:end])
    assert opened(text, text[start:end], TextSelector(start + len(text), end + len(text))).result == "OUT_OF_RANGE"


@given(st.lists(st.text(max_size=6), min_size=1, max_size=12), st.data())
def test_tokens_and_cells_and_values_reopen_exactly(parts: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(parts) - 1))
    end = data.draw(st.integers(start + 1, len(parts)))
    document = json.dumps(parts)
    assert opened(document, " ".join(parts[start:end]), TokenSelector(start, end)).result == "EXACT"
    assert opened(document, parts[start], JsonSelector(f"/{start}")).result == "EXACT"
    row = ",".join('"' + part.replace('"', '""') + '"' for part in parts)
    assert opened(f"h\n{row}\n", parts[start], CsvSelector(2, start + 1)).result == "EXACT"


@given(st.text("abcdefin l", min_size=1, max_size=40), st.data())
def test_what_a_printer_does_to_a_text_is_repaired(text: str, data: st.DataObject) -> None:
    """Ligatures, soft hyphens, hyphenated and other line breaks in the source: the true text is shown."""
    printed = ""
    for place, char in enumerate(text):
        between = place > 0 and text[place - 1].isalpha() and char.isalpha()
        printed += data.draw(st.sampled_from(["", "\u00ad", "-\n", "\u00ad\n"])) if between else ""
        printed += data.draw(st.sampled_from([" ", "\n", " \n ", "\u00a0"])) if char == " " else char
    printed = printed.replace("fi", "ﬁ").replace("fl", "ﬂ")
    found = opened(printed, text, TextSelector(0, len(printed)))
    same = printed == text
    if normal(printed) == normal(text):
        assert (found.result, found.text) == ("EXACT" if same else "REPAIRED", printed)
    assert normal(printed) == normal(text) or "  " in text


def brute_force(text: str, quote: str, start: int, end: int) -> str:
    """The table of results for a text selector, by trying all places."""
    wanted = normal(quote)
    if not 0 <= start < end <= len(text):
        return "OUT_OF_RANGE"
    if text[start:end] == quote:
        return "EXACT"
    if normal(text[start:end]) == wanted:
        return "REPAIRED"
    if len(wanted) < 12:
        return "NOT_FOUND"
    hits = {at for at in range(len(text)) if text[at : at + len(quote)] == quote}
    if not hits:
        spans = [(a, b) for a in range(len(text)) for b in range(a + 1, len(text) + 1) if normal(text[a:b]) == wanted]
        # spans that differ in blanks at their ends are one place
        hits = {next(at for at in range(a, b) if not text[at].isspace()) for a, b in spans}
    if hits:
        return "MOVED" if len(hits) == 1 else "AMBIGUOUS"
    whole, length = normal(text), math.ceil(len(wanted) * 85 / 100)
    runs = set()
    for a in range(len(whole) - length + 1):
        for first in range(len(wanted) - length + 1):
            if whole[a : a + length] == wanted[first : first + length]:
                b, last = a + length, first + length
                while a and first and whole[a - 1] == wanted[first - 1]:
                    a, first = a - 1, first - 1  # noqa: PLW2901 - grown to the longest run
                while b < len(whole) and last < len(wanted) and whole[b] == wanted[last]:
                    b, last = b + 1, last + 1
                runs.add((a, b, first))
    return "REPAIRED" if len(runs) == 1 else "NOT_FOUND"


@given(st.data())
def test_the_table_against_brute_force(data: st.DataObject) -> None:
    words = data.draw(st.lists(st.sampled_from(["xyx", "yxy", "xxyyx", "XY", "\n", "yyyy"]), min_size=3, max_size=12))
    text = " ".join(words)
    a = data.draw(st.integers(0, len(text) - 1))
    b = data.draw(st.integers(a + 1, min(len(text), a + 25)))
    quote = data.draw(
        st.sampled_from([text[a:b], text[a:b].upper(), text[a:b].replace(" ", "  "), text[a:b] + "y", "x" + text[a:b]])
    )
    quote = data.draw(st.just(quote) | st.text("xyX ", min_size=1, max_size=16))
    if not quote.strip():
        return
    start = data.draw(st.integers(-1, len(text)))
    end = data.draw(st.integers(0, len(text) + 1))
    found = opened(text, quote, TextSelector(start, end))
    assert found.result == brute_force(text, quote, start, end)
    if found.result in ("EXACT", "MOVED"):
        assert normal(found.text or "").strip() == normal(quote).strip()


SELECTORS: st.SearchStrategy[Selector] = st.one_of(
    st.builds(TextSelector, st.integers(-2, 50), st.integers(-2, 50)),
    st.builds(TokenSelector, st.integers(-2, 50), st.integers(-2, 50), st.sampled_from(["", "/0", "/a"])),
    st.builds(LineSelector, st.integers(-2, 9), st.integers(-2, 9)),
    st.builds(CsvSelector, st.integers(-2, 9), st.none() | st.integers(-2, 9) | st.text(max_size=3)),
    st.builds(JsonSelector, st.sampled_from(["", "/0", "/a~1b/0", "/-", "//"])),
    st.builds(PageSelector, st.integers(-2, 9), st.none() | st.integers(-2, 9)),
    st.builds(QuoteSelector, st.text(max_size=20)),
)


@given(
    st.binary(max_size=200) | st.text(max_size=100).map(str.encode),
    st.text(max_size=30),
    st.lists(SELECTORS, max_size=3),
    st.sampled_from(["", "text/plain", "text/plain; charset=utf-16", "application/json; charset=zip"]),
)
@example(b"[" * 100_000, "a quote that is long enough", [JsonSelector("/0")], "")
@example(b'{"a": "\\ud800 and some more"}', "a quote that is long enough", [JsonSelector("/a")], "")
@example(b"\xff\xfe", "\uffff", [QuoteSelector("\uffff")], "")
def test_nothing_raises_on_bytes_from_anywhere(data: bytes, quote: str, picks: list[Selector], media: str) -> None:
    source = Source(data, media)
    evidence = Evidence(source.digest, tuple(picks), quote, prefix=quote[:2], suffix=quote[-2:])
    found = reopen(evidence, {source.digest: source})
    assert found.settles + found.returns + found.voids == 1
    assert (found.text is not None) or not found.settles
