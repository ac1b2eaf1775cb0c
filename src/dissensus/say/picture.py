"""A protocol as an SVG picture: states as boxes, moves as cards on the arrows between them.

The layout (layers, crossings, routes) is made by graphlay, the extra ``draw``. A card is laid out as a node between two
states, so that no caption lies over another, or over an arrow. Colours are those of Okabe & Ito (2008), and no colour
says what the text does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from xml.sax.saxutils import escape

from dissensus.errors import MissingExtra
from dissensus.say.drawing import LEGEND, Caption, caption, drawn, notes, states_of, title
from dissensus.say.protocol import Move, Protocol

FONT: Final = "DejaVu Sans, Verdana, Segoe UI, Helvetica, Arial, sans-serif"
BLACK, GREY, PALE = "#1a1a1a", "#595959", "#f4f4f4"
COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#aa4499", "#8a6d00")
_STATE, _ACT, _SMALL, _HEAD = 12.0, 11.0, 10.0, 15.0
_MARGIN, _PAD = 24.0, 7.0
_NARROWEST: Final = 460.0
_BOLD: Final = {True: ' font-weight="bold"', False: ""}
_NARROW: Final = frozenset("iljtfrI.,:;'|!()[] ")
_BROAD: Final = frozenset("mwMWQO@%→+−=<>")


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of text: pieces of ``(text, colour, bold)`` in one size."""

    pieces: tuple[tuple[str, str, bool], ...]
    size: float

    @property
    def width(self) -> float:
        return sum(_width(text, self.size) * (1.12 if bold else 1.0) for text, _, bold in self.pieces)

    @property
    def height(self) -> float:
        return self.size * 1.35


def _line(text: str, size: float, colour: str, *, bold: bool = False) -> _Line:
    return _Line(((text, colour, bold),), size)


@dataclass(frozen=True, slots=True)
class _Card:
    """The moves between two states, on one arrow."""

    source: str
    target: str
    lines: tuple[_Line, ...]
    colour: str

    @property
    def size(self) -> tuple[float, float]:
        return max(line.width for line in self.lines) + 2 * _PAD, sum(line.height for line in self.lines) + _PAD


def svg(protocol: Protocol, *, everything: bool = False) -> str:
    """``protocol`` as an SVG document.

    Args:
        protocol: what to draw.
        everything: draw what ``include:`` brought in with arrows as well, instead of listing it beneath.

    Raises:
        MissingExtra: graphlay is not installed.
    """
    moves = drawn(protocol, everything=everything)
    states = states_of(protocol, moves)
    colours = _colours(protocol)
    cards = _cards(moves, colours)
    drawing = _Drawing(states, cards, _laid_out(states, cards))
    return _document(protocol, drawing, colours, notes(protocol, everything=everything))


def _colours(protocol: Protocol) -> dict[str, str]:
    """A colour for each role: who begins, the partner, the others; platforms are grey."""
    order = dict.fromkeys([protocol.starter, protocol.partner, *protocol.roles])
    colours: dict[str, str] = {}
    for role in order:
        declared = protocol.roles.get(role)
        if declared is not None and declared.platform:
            colours[role] = GREY
        else:
            colours[role] = COLOURS[min(len(colours), len(COLOURS) - 1)]
    return colours


def _cards(moves: tuple[Move, ...], colours: Mapping[str, str]) -> tuple[_Card, ...]:
    between: dict[tuple[str, str], list[Caption]] = {}
    for move in moves:
        said = caption(move)
        here = between.setdefault((move.source, move.next), [])
        if said not in here:
            here.append(said)
    cards: list[_Card] = []
    for (source, target), captions in between.items():
        lines: list[_Line] = []
        alike: dict[tuple[str, str, str], list[str]] = {}
        for each in captions:
            alike.setdefault((each.parties, each.owes, each.terms), []).append(each.act)
        for (parties, *more), acts in alike.items():
            lines.append(_Line(((", ".join(acts), BLACK, True), (f"   {parties}", BLACK, False)), _ACT))
            lines += [_line(text, _SMALL, GREY) for text in more if text]
        senders = {each.sender for each in captions}
        colour = colours.get(captions[0].sender, GREY) if len(senders) == 1 else BLACK
        cards.append(_Card(source, target, tuple(lines), colour))
    return tuple(cards)


def _laid_out(states: Sequence[str], cards: Sequence[_Card]) -> Any:
    try:
        import graphlay
    except ImportError as error:
        raise MissingExtra("Drawing protocols as SVG", extra="draw") from error
    graph = graphlay.Graph()
    for state in states:
        graph.node(("state", state), width=_state_width(state), height=30.0)
    for number, card in enumerate(cards):
        width, height = card.size
        graph.node(("card", number), width=width, height=height)
        graph.edge(("state", card.source), ("card", number))
        graph.edge(("card", number), ("state", card.target))
    spacing = {"layer_gap": 22.0, "node_gap": 18.0, "dummy_gap": 14.0, "port_gap": 12.0, "stub": 8.0}
    cycles = {"strategy": "follow_flow"}  # the start is on top, also of what goes round
    return graphlay.layout(graph, options={"direction": "topbottom", "spacing": spacing, "cycles": cycles})


@dataclass(frozen=True, slots=True)
class _Drawing:
    """States and cards, and where the layout has put them: its nodes are the states, then the cards."""

    states: Sequence[str]
    cards: Sequence[_Card]
    layout: Any


def _document(protocol: Protocol, drawing: _Drawing, colours: Mapping[str, str], told: Sequence[str]) -> str:
    states, cards, layout = drawing.states, drawing.cards, drawing.layout
    heads = [_line(title(protocol), _HEAD, BLACK, bold=True)]
    feet = [_of_roles(protocol, colours), _line(LEGEND, _SMALL, GREY)]
    low, high = _bounds(layout)
    wide = max(high[0] - low[0], _NARROWEST, *(line.width for line in (*heads, *feet)))
    heads += [_line(part, _SMALL, GREY) for text in (protocol.title, protocol.source) for part in _wrapped(text, wide)]
    feet += [_line(part, _SMALL, GREY) for note in told for part in _wrapped(note, wide)]
    top = _MARGIN + sum(line.height for line in heads) + 26.0
    shift = (_MARGIN + (wide - (high[0] - low[0])) / 2 - low[0], top - low[1])
    bottom = top + high[1] - low[1] + 14.0
    height = bottom + sum(line.height for line in feet) + _MARGIN
    width = wide + 2 * _MARGIN
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    about = f'font-family="{FONT}" role="img" aria-labelledby="title what"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {about}>',
        f'<title id="title">{escape(title(protocol))}</title>',
        f'<desc id="what">{escape(_described(protocol))}</desc>',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    parts += _text_block(heads, _MARGIN, _MARGIN)
    parts.append(f'<g transform="translate({shift[0]:.1f} {shift[1]:.1f})">')
    parts += _arrows(cards, layout)
    parts += [_state(protocol, state, node, first=not number) for number, (state, node) in
              enumerate(zip(states, layout.nodes, strict=False))]  # fmt: skip
    for card, node in zip(cards, layout.nodes[len(states) :], strict=True):
        parts += _drawn_card(card, node)
    parts.append("</g>")
    parts += _text_block(feet, _MARGIN, bottom)
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _bounds(layout: Any) -> tuple[tuple[float, float], tuple[float, float]]:
    xs: list[float] = []
    ys: list[float] = []
    for node in layout.nodes:
        x, y, w, h = _box(node)
        xs += [x - 3, x + w + 3]
        ys += [y - 3, y + h + 3]
    for edge in layout.edges:
        xs += [point["x"] for point in edge["points"]]
        ys += [point["y"] for point in edge["points"]]
    return (min(xs), min(ys)), (max(xs), max(ys))


def _box(node: Any) -> tuple[float, float, float, float]:
    w, h = node["size"]["width"], node["size"]["height"]
    return node["center"]["x"] - w / 2, node["center"]["y"] - h / 2, w, h


def _arrows(cards: Sequence[_Card], layout: Any) -> list[str]:
    parts: list[str] = []
    for number, card in enumerate(cards):
        into, out = layout.edges[2 * number], layout.edges[2 * number + 1]
        for edge, pointed in ((into, False), (out, True)):
            points = [(point["x"], point["y"]) for point in edge["points"]]
            parts.append(f'<path d="{_route(points)}" fill="none" stroke="{card.colour}" stroke-width="1.4"/>')
            if pointed:
                parts.append(_head(points, card.colour))
    return parts


def _route(points: Sequence[tuple[float, float]]) -> str:
    """A path along ``points`` with round corners."""
    path = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for before, here, after in zip(points, points[1:], points[2:], strict=False):
        radius = min(7.0, _distance(before, here) / 2, _distance(here, after) / 2)
        entry, leaving = _towards(here, before, radius), _towards(here, after, radius)
        path.append(f"L{entry[0]:.1f} {entry[1]:.1f}Q{here[0]:.1f} {here[1]:.1f} {leaving[0]:.1f} {leaving[1]:.1f}")
    path.append(f"L{points[-1][0]:.1f} {points[-1][1]:.1f}")
    return "".join(path)


def _head(points: Sequence[tuple[float, float]], colour: str) -> str:
    tip = points[-1]
    before = next((point for point in reversed(points[:-1]) if _distance(point, tip) > 0), (tip[0], tip[1] - 1))
    length = _distance(before, tip)
    dx, dy = (tip[0] - before[0]) / length, (tip[1] - before[1]) / length
    back = (tip[0] - 8 * dx, tip[1] - 8 * dy)
    left, right = (back[0] - 4 * dy, back[1] + 4 * dx), (back[0] + 4 * dy, back[1] - 4 * dx)
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in (tip, left, right))
    return f'<polygon points="{corners}" fill="{colour}"/>'


def _distance(one: tuple[float, float], two: tuple[float, float]) -> float:
    return float(((one[0] - two[0]) ** 2 + (one[1] - two[1]) ** 2) ** 0.5)


def _towards(here: tuple[float, float], there: tuple[float, float], far: float) -> tuple[float, float]:
    length = _distance(here, there) or 1.0
    return here[0] + (there[0] - here[0]) * far / length, here[1] + (there[1] - here[1]) * far / length


def _state(protocol: Protocol, state: str, node: Any, *, first: bool) -> str:
    x, y, w, h = _box(node)
    declared = protocol.states.get(state)
    final = declared is not None and declared.final
    box = f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" rx="9" fill="{PALE}" stroke="{BLACK}"/>'
    if final:
        box += (
            f'<rect x="{x + 3:.1f}" y="{y + 3:.1f}" width="{w - 6:.1f}" height="{h - 6:.1f}" rx="6.5" fill="none"'
            f' stroke="{BLACK}"/>'
        )
    if first:
        box += f'<circle cx="{x + w / 2:.1f}" cy="{y - 16:.1f}" r="5" fill="{BLACK}"/>'
        box += f'<path d="M{x + w / 2:.1f} {y - 11:.1f}L{x + w / 2:.1f} {y:.1f}" stroke="{BLACK}" stroke-width="1.4"/>'
    text = f'<text x="{x + w / 2:.1f}" y="{y + h / 2 + _STATE * 0.36:.1f}" font-size="{_STATE:g}" fill="{BLACK}"'
    return f'<g class="state">{box}{text} text-anchor="middle">{escape(state)}</text></g>'


def _drawn_card(card: _Card, node: Any) -> list[str]:
    x, y, w, h = _box(node)
    place = f'x="{x:.1f}" y="{y:.1f}"'
    parts = [
        '<g class="move">',
        f'<rect {place} width="{w:.1f}" height="{h:.1f}" rx="3" fill="#ffffff" stroke="#d0d0d0"/>',
        f'<rect {place} width="3" height="{h:.1f}" fill="{card.colour}"/>',
    ]
    parts += _text_block(card.lines, x + _PAD + 1, y + _PAD / 2)
    parts.append("</g>")
    return parts


def _text_block(lines: Sequence[_Line], x: float, y: float) -> list[str]:
    parts: list[str] = []
    for line in lines:
        y += line.height
        spans = "".join(
            f'<tspan fill="{colour}"{_BOLD[bold]}>{escape(text)}</tspan>' for text, colour, bold in line.pieces
        )
        place = f'x="{x:.1f}" y="{y - line.height * 0.28:.1f}" font-size="{line.size:g}"'
        parts.append(f'<text {place} xml:space="preserve">{spans}</text>')
    return parts


def _of_roles(protocol: Protocol, colours: Mapping[str, str]) -> _Line:
    """The roles, each in the colour of what it sends."""
    pieces = [("roles: ", GREY, False)]
    for role in protocol.roles.values():
        pieces += [(role.name, colours[role.name], True), (f" ({role.count})   ", GREY, False)]
    return _Line(tuple(pieces), _SMALL)


def _wrapped(text: str, width: float) -> list[str]:
    if not text:
        return []
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if _width(longer, _SMALL) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(f"    {word}")
    return lines


def _described(protocol: Protocol) -> str:
    """Every move in words, for who cannot see the picture."""
    said = [(move, caption(move)) for move in protocol.moves]
    return " ".join(f"{move.source}: {each.act} {each.parties}: {move.next}." for move, each in said)


def _state_width(state: str) -> float:
    return max(64.0, _width(state, _STATE) + 24.0)


def _width(text: str, size: float) -> float:
    """Width of ``text`` in the widest of the fonts (DejaVu Sans), rather too much than too little."""
    letters = sum(
        0.41 if letter in _NARROW else 0.92 if letter in _BROAD else 0.74 if letter.isupper() else 0.65
        for letter in text
        if letter.isascii() or letter in _BROAD
    )
    return size * (letters + sum(1 for letter in text if not letter.isascii() and letter not in _BROAD))
