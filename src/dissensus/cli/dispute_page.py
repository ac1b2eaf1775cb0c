"""The course of a case as one HTML page that needs no other file, no script and no network."""

from __future__ import annotations

from html import escape
from typing import Final

from dissensus.decide.dispute.account import Account, chapters

_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;"
    "background:#fff}h1{font-size:1.5rem}h2{font-size:1.1rem;border-bottom:1px solid #ccc;margin-top:2rem}"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.3rem .6rem;"
    "border-bottom:1px solid #eee;overflow-wrap:anywhere;white-space:pre-wrap}th{width:9rem;font-weight:600}"
    "@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}td,th{border-color:#333}h2{border-color:#555}}"
)


def page_of(account: Account, record: str) -> str:
    """The page. All text of others is escaped."""
    case = account.case
    title = str(case.get("title") or case.get("id"))
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1><p>Case {escape(str(case.get('id')))}, told by its record {escape(record)}.</p>",
    ]
    for chapter in chapters(account):
        parts.append(f"<h2>{escape(chapter.title)}</h2><table>")
        parts += [f"<tr><th>{escape(label)}</th><td>{escape(text)}</td></tr>" for label, text in chapter.lines]
        parts.append("</table>")
    parts.append("</body></html>\n")
    return "\n".join(parts)
