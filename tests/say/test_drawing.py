"""Pictures of protocols: everything is on them, and nothing lies outside or over something else."""

from __future__ import annotations

import builtins
import re
from itertools import combinations
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from dissensus.errors import MissingExtra
from dissensus.say.drawing import caption, drawn, mermaid, notes
from dissensus.say.picture import svg
from dissensus.say.protocol import RESUME, Protocol
from dissensus.say.protocol_file import load, shipped, shipped_protocol

SVG = "{http://www.w3.org/2000/svg}"
NAMES = shipped()


def drawing(protocol: Protocol, **options: Any) -> ET.Element:
    pytest.importorskip("graphlay", reason="the extra draw is not installed")
    return ET.fromstring(svg(protocol, **options))  # noqa: S314 - our own picture


def text_of(element: ET.Element) -> str:
    return "".join(element.itertext())


@pytest.mark.parametrize("name", NAMES)
def test_the_text_has_every_state_and_move(name: str) -> None:
    protocol = shipped_protocol(name)
    text = mermaid(protocol)
    names = dict(re.findall(r'state "(.*)" as (s\d+)', text))
    arrows = re.findall(r"^    (s\d+) --> (s\d+): (.*)$", text, re.MULTILINE)
    shown = drawn(protocol)
    assert len(arrows) == len(shown)
    for move, (source, target, label) in zip(shown, arrows, strict=True):
        assert (names[move.source], names[move.next]) == (source, target)
        assert label.startswith(f"{caption(move).act} {' or '.join(move.senders)} → {move.receiver}")
    ends = {names[state] for state, each in protocol.states.items() if each.final and state in names}
    assert set(re.findall(r"(s\d+) --> \[\*\]", text)) == ends
    assert f"[*] --> {names[protocol.start]}" in text
    for line in notes(protocol):
        assert line.replace(":", "#58;") in text
    assert all(state in names or state in "".join(notes(protocol)) for state in protocol.states)


@pytest.mark.parametrize("name", NAMES)
def test_everything_has_arrows_for_what_is_included(name: str) -> None:
    protocol = shipped_protocol(name)
    text = mermaid(protocol, everything=True)
    assert text.count(" --> s") - 1 == sum(move.next != RESUME for move in protocol.moves)
    assert all(f'state "{state}" as' in text for state in protocol.states)


def test_what_mermaid_reads_as_syntax_is_written_as_entities() -> None:
    source = """\
protocol: "a: \\"b\\""
roles: {a: one, b: one}
start: {state: start, role: a}
final: [end]
moves:
  - {in: start, act: inform, from: a, to: b, next: end, when: "x < 3 and name == 'q#;:'"}
"""
    text = mermaid(load(source, "p.yaml"))
    assert "s0 --> s1: inform a → b<br/>when x #lt; 3 and name == 'q#35;#59;#58;'" in text
    assert 'title: "a: \\"b\\" (fipa)"' in text


@pytest.mark.parametrize("name", NAMES)
def test_the_picture_has_every_state_and_move_and_all_moves_in_words(name: str) -> None:
    protocol = shipped_protocol(name)
    root = drawing(protocol)
    shown = drawn(protocol)
    states = {text_of(each) for each in root.iter(f"{SVG}g") if each.get("class") == "state"}
    listed = " ".join(notes(protocol))
    assert {move.source for move in shown} | {move.next for move in shown} <= states
    assert all(state in states or state in listed for state in protocol.states)
    cards = [text_of(each) for each in root.iter(f"{SVG}g") if each.get("class") == "move"]
    assert len(cards) == len({(move.source, move.next) for move in shown})
    for move in shown:
        said = caption(move)
        assert any(all(part in card for part in (said.act, said.parties, said.owes, said.terms)) for card in cards)
    described = root.find(f"{SVG}desc")
    assert described is not None
    assert text_of(described).count("→") == len(protocol.moves)


@pytest.mark.parametrize("name", NAMES)
def test_final_states_are_double_and_others_are_not(name: str) -> None:
    protocol = shipped_protocol(name)
    for group in drawing(protocol).iter(f"{SVG}g"):
        if group.get("class") == "state":
            boxes = group.findall(f"{SVG}rect")
            assert (len(boxes) == 2) == protocol.states[text_of(group)].final


def boxes(root: ET.Element) -> list[tuple[float, float, float, float]]:
    found = []
    for group in root.iter(f"{SVG}g"):
        if group.get("class") in {"state", "move"}:
            box = group.find(f"{SVG}rect")
            assert box is not None
            x, y, width, height = (float(box.attrib[key]) for key in ("x", "y", "width", "height"))
            found.append((x, y, x + width, y + height))
    return found


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_one_reads_down_from_the_start(name: str, *, everything: bool) -> None:
    """Also where a conversation goes round, as an auction does."""
    tops = {}
    for group in drawing(shipped_protocol(name), everything=everything).iter(f"{SVG}g"):
        box = group.find(f"{SVG}rect")
        if box is not None and group.get("class") in {"state", "move"}:
            tops[text_of(group)] = float(box.attrib["y"])
    assert min(tops, key=lambda text: tops[text]) == shipped_protocol(name).start


@pytest.mark.parametrize("profile", ["fipa", "strict"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("everything", [False, True])
def test_nothing_overlaps_and_nothing_leaves_the_picture(name: str, profile: str, *, everything: bool) -> None:
    root = drawing(shipped_protocol(name, profile), everything=everything)
    for one, two in combinations(boxes(root), 2):
        assert one[2] <= two[0] or two[2] <= one[0] or one[3] <= two[1] or two[3] <= one[1]
    width, height = (float(number) for number in root.attrib["viewBox"].split()[2:])
    for x, y, line in texts(root, 0.0, 0.0):
        size = float(line.attrib["font-size"])
        middle = line.get("text-anchor") == "middle"
        long = width_of(line)
        assert x - (long / 2 if middle else 0) >= 0
        assert x + (long / 2 if middle else long) <= width
        assert y - size >= 0
        assert y <= height
    for points in re.findall(r'd="M([^"]*)"', ET.tostring(root, encoding="unicode")):
        assert all(-width <= float(number) <= width + height for number in re.findall(r"-?\d+\.\d", points))


def width_of(line: ET.Element) -> float:
    """Width of a text as it is set in DejaVu Sans, the widest of the fonts that the picture asks for."""
    matplotlib = pytest.importorskip("matplotlib", reason="it brings the font")
    image_font = pytest.importorskip("PIL.ImageFont")
    total = 0.0
    for piece in [line, *line]:
        name = "DejaVuSans-Bold.ttf" if piece.get("font-weight") == "bold" else "DejaVuSans.ttf"
        font = image_font.truetype(f"{matplotlib.get_data_path()}/fonts/ttf/{name}", 100)
        total += font.getlength(piece.text or "") / 100 * float(line.attrib["font-size"])
    return total


def test_captions_fit_on_their_cards() -> None:
    for name in NAMES:
        for group in drawing(shipped_protocol(name)).iter(f"{SVG}g"):
            if group.get("class") in {"state", "move"}:
                box = group.find(f"{SVG}rect")
                assert box is not None
                for line in group.iter(f"{SVG}text"):
                    assert width_of(line) <= float(box.attrib["width"]) - 6, text_of(line)


def texts(element: ET.Element, x: float, y: float) -> list[tuple[float, float, ET.Element]]:
    """Every line of text with its place, groups that are moved included."""
    if moved := re.match(r"translate\((\S+) (\S+)\)", element.get("transform", "")):
        x, y = x + float(moved[1]), y + float(moved[2])
    if element.tag == f"{SVG}text":
        return [(x + float(element.attrib["x"]), y + float(element.attrib["y"]), element)]
    return [found for child in element for found in texts(child, x, y)]


@pytest.mark.parametrize("name", ["fipa-brokering", "fipa-auction-english"])
def test_the_same_protocol_gives_the_same_bytes(name: str) -> None:
    pytest.importorskip("graphlay", reason="the extra draw is not installed")
    assert svg(shipped_protocol(name)) == svg(shipped_protocol(name))


def test_signs_of_markup_are_escaped() -> None:
    source = """\
protocol: p
title: a <b> & "c"
roles: {a: one, b: one}
start: {state: start, role: a}
final: [end]
moves:
  - {in: start, act: inform, from: a, to: b, next: end, when: "x < 3", opens: answer, by: 5, max: 2}
"""
    root = drawing(load(source, "p.yaml"))
    assert 'a <b> & "c"' in text_of(root)
    assert "when x < 3, at most 2 times, within 5 s" in text_of(root)


def test_without_graphlay_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "graphlay":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"dissensus\[draw\]"):
        svg(shipped_protocol("fipa-request"))
