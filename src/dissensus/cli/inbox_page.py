"""A question as one HTML file: both items side by side, what stands around each passage, and how to answer.

It holds no script and loads nothing. All that comes from claims, sources and people is text in it: whatever it says, it
is no markup, and characters that cannot be seen or that turn the direction of writing are shown by their number.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from dissensus.cli.inbox_text import how_to_answer, span

if TYPE_CHECKING:
    from dissensus.run.inbox import Answer, Question
    from dissensus.script.persons import Cited, Exhibit, Option

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_RESULTS: Final = {
    "EXACT": "stands there word for word",
    "REPAIRED": "stands there but for signs such as hyphens and white space",
    "MOVED": "stands at another place than was said",
    "CHANGED": "nothing was kept, and the live source is another",
    "NOT_FOUND": "does not stand there",
    "SOURCE_MISSING": "the source is not here",
    "OUT_OF_RANGE": "points beyond the source",
    "AMBIGUOUS": "stands at several places",
    "": "was not reopened",
}
_FINE: Final = frozenset({"EXACT", "REPAIRED", "MOVED"})
_ODD: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
STYLE: Final = """
:root { color-scheme: light dark; --line: #c8ccd2; --soft: #f4f5f7; --ink: #1c2128; --dim: #5b6470;
  --mark: #ffe27a; --bad: #a4262c; --good: #1f6f43; --paper: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --line: #3b424c; --soft: #22272e; --ink: #e3e7ec; --dim: #9aa4b0;
  --mark: #7a5f00; --bad: #ff8a8a; --good: #7ad3a0; --paper: #171b20; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem clamp(1rem, 3vw, 2.5rem) 3rem; max-width: 88rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, "Liberation Sans", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.45rem; line-height: 1.3; margin: .2rem 0 .6rem; }
h2 { font-size: 1.1rem; margin: 0 0 .6rem; }
h3 { font-size: .95rem; margin: 1.8rem 0 .5rem; }
p { margin: .4rem 0; }
.state, .small { color: var(--dim); font-size: .875rem; }
.late, .bad { color: var(--bad); font-weight: 600; }
.good { color: var(--good); font-weight: 600; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 1.25rem;
  margin: 1.25rem 0; align-items: start; }
.side { border: 1px solid var(--line); border-radius: .5rem; padding: 1rem 1.1rem; min-width: 0;
  overflow: clip; }
.name { display: inline-block; min-width: 1.7rem; padding: 0 .45rem; margin-right: .5rem; border-radius: .35rem;
  background: var(--ink); color: var(--paper); text-align: center; }
dl { display: grid; grid-template-columns: fit-content(40%) 1fr; gap: .15rem .9rem; margin: 0 0 .6rem; }
dt { color: var(--dim); } dd { margin: 0; min-width: 0; }
blockquote { margin: .5rem 0; padding-left: .8rem; border-left: 3px solid var(--line); color: var(--dim); }
figure { margin: 1rem 0 0; }
figcaption { font-size: .875rem; margin-bottom: .35rem; }
pre { margin: 0; padding: .7rem .8rem; background: var(--soft); border-radius: .35rem; white-space: pre-wrap;
  font: 13.5px/1.55 ui-monospace, "Liberation Mono", monospace; unicode-bidi: plaintext; }
mark { background: var(--mark); color: inherit; padding: .08em 0; font-weight: 600; }
.odd { color: var(--bad); border: 1px dotted; border-radius: .2em; padding: 0 .15em; font-size: .8em; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; vertical-align: top;
  padding: .4rem .8rem .4rem 0; border-top: 1px solid var(--line); }
th { min-width: 6.5rem; }
code { font: 13.5px/1.5 ui-monospace, "Liberation Mono", monospace; }
@media print { body { max-width: none; } .side { break-inside: avoid; } }
"""


def page(question: Question, exhibits: Sequence[Exhibit], *, shown: str, now: float) -> str:
    """The page.

    Args:
        question: what is asked.
        exhibits: its exhibits, reopened now.
        shown: SHA-256 of what is shown here, to which an answer is bound.
        now: the time, in seconds since 1970-01-01 UTC.
    """
    return "\n".join(_parts(question, exhibits, shown, now)) + "\n"


def _parts(question: Question, exhibits: Sequence[Exhibit], shown: str, now: float) -> Iterator[str]:
    yield "<!DOCTYPE html>"
    yield '<html lang="en">'
    yield '<head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="referrer" content="no-referrer">'
    yield f"<title>{plain(question.text[:120])}</title>"
    yield f"<style>{STYLE}</style></head>"
    yield "<body>"
    yield f'<p class="state">{_state(question, now)}</p>'
    yield f"<h1>{text(question.text)}</h1>"
    if exhibits:
        yield '<div class="sides">'
        for side in exhibits:
            yield from _side(side)
        yield "</div>"
    yield from _options(question.options)
    if question.state.value == "open":
        yield "<h3>How to answer</h3>"
        yield f"<pre>{text(how_to_answer(question, shown))}</pre>"
        yield (
            '<p class="small">The answer is bound to what is shown here. If a source has changed by then, it is refused'
            " and the question is asked again. The first answer that is accepted counts.</p>"
        )
    yield from _answers(question.answers)
    yield from _end(question, shown, now)
    yield "</body></html>"


def _state(question: Question, now: float) -> str:
    from dissensus.run.inbox_answers import when

    parts = [text(question.topic)] if question.topic else []
    parts.append(f"asked {text(when(question.asked_at))}")
    if question.version > 1:
        parts.append(f"asked again as version {question.version}")
    if question.state.value != "open":
        parts.append(question.state.value)
    elif question.overdue(now) and question.deadline_at is not None:
        late = span(now - question.deadline_at)
        parts.append(f'<span class="late">no answer: overdue by {late}, still open</span>')
    elif question.deadline_at is not None:
        parts.append(f"an answer is wanted by {text(when(question.deadline_at))}")
    if allowed := question.may_answer():
        parts.append(f"for {text(', '.join(allowed))}")
    return " · ".join(parts)


def _side(side: Exhibit) -> Iterator[str]:
    yield '<section class="side">'
    yield f'<h2><span class="name">{text(side.id)}</span>{text(side.title)}</h2>'
    if side.facts:
        yield "<dl>"
        for label, value in side.facts:
            yield f"<dt>{text(label)}</dt><dd>{text(value)}</dd>"
        yield "</dl>"
    if side.text:
        yield f"<blockquote>{text(side.text)}</blockquote>"
    for cited in side.cited:
        yield from _cited(cited)
    if not side.cited:
        yield '<p class="bad">No evidence was given.</p>'
    yield "</section>"


def _cited(cited: Cited) -> Iterator[str]:
    item = cited.item
    name = str(item.get("title") or item.get("live_ref") or item.get("id") or "source")
    tone = "good" if cited.result in _FINE else "bad"
    where = f", {text(cited.where)}" if cited.where else ""
    yield "<figure>"
    says = _RESULTS.get(cited.result, "")
    yield f'<figcaption><strong>{text(name)}</strong>{where}<br><span class="{tone}">{text(cited.result or "–")}</span>'
    yield f' <span class="small">{text(says)}</span>'
    if cited.live in ("CHANGED", "GONE"):
        what = "has other bytes now" if cited.live == "CHANGED" else "is gone"
        yield f'<br><span class="bad">The live source {what}.</span>'
    yield "</figcaption>"
    if cited.text is None:
        yield f"<pre>said to stand there: {text(str(item.get('quote', '')))}</pre>"
    else:
        yield f"<pre>{text(cited.before)}<mark>{text(cited.text)}</mark>{text(cited.after)}</pre>"
        quote = str(item.get("quote", ""))
        if cited.result not in ("EXACT", "") and quote != cited.text:
            yield f'<p class="small">quoted as: {text(quote)}</p>'
    facts = [f"sha256 {text(str(item.get('digest', '')))}"]
    facts += [f"{label} {text(str(item[key]))}" for key, label in _MORE if item.get(key)]
    yield f'<p class="small">{" · ".join(facts)}</p>'
    if cited.hint:
        yield f'<p class="small">{text(cited.hint)}</p>'
    yield "</figure>"


_MORE: Final = (("captured_at", "captured"), ("origin", "origin"), ("live_ref", "from"))


def _options(options: Sequence[Option]) -> Iterator[str]:
    yield "<h3>What may be answered</h3>"
    if not options:
        yield "<p>Any text.</p>"
        return
    yield "<table>"
    for option in options:
        notes = []
        if option.scopes:
            notes.append("say where each holds: " + " ".join(f"--scope {part}=TEXT" for part in option.scopes))
        if option.rule is not None:
            notes.append(f"can be made a standing rule, with --rule: {option.rule.get('says', '')}")
        more = "".join(f'<br><span class="small">{text(note)}</span>' for note in notes)
        yield f"<tr><th><code>{text(option.id)}</code></th><td>{text(option.text)}{more}</td></tr>"
    yield "</table>"


def _answers(answers: Sequence[Answer]) -> Iterator[str]:
    from dissensus.run.inbox_answers import when

    if not answers:
        return
    yield "<h3>Answers so far</h3><table>"
    for one in answers:
        fate = "accepted" if one.accepted else f"refused: {one.refused}"
        yield (
            f"<tr><td>{text(when(one.answered_at))}</td><td>{text(one.principal)}"
            f'<br><span class="small">{text(one.authenticated_by)}</span></td>'
            f"<td><code>{text(one.choice)}</code></td><td>{text(fate)}</td><td>{text(one.reason)}</td></tr>"
        )
    yield "</table>"


def _end(question: Question, shown: str, now: float) -> Iterator[str]:
    from dissensus.run.inbox_answers import when

    yield "<h3>What this page is</h3><dl>"
    rows = (
        ("question", question.id),
        ("record", question.record),
        ("version", str(question.version)),
        ("shown", f"sha256 {shown}"),
        ("reopened", when(now)),
    )
    for label, value in rows:
        yield f"<dt>{label}</dt><dd><code>{text(value)}</code></dd>"
    yield "</dl>"


def text(raw: str) -> str:
    """``raw`` as HTML text: no markup is left in it, and what cannot be seen is shown."""
    parts = []
    at = 0
    for odd in _ODD.finditer(raw.replace("\r\n", "\n")):
        parts.append(html.escape(odd.string[at : odd.start()]))
        parts.append(f'<span class="odd">U+{ord(odd[0]):04X}</span>')
        at = odd.end()
    return "".join([*parts, html.escape(raw.replace("\r\n", "\n")[at:])])


def plain(raw: str) -> str:
    """``raw`` for places that take no elements, such as the title."""
    visible = "".join(" " if unicodedata.category(char).startswith("C") else char for char in raw)
    return html.escape(" ".join(visible.split()))
