"""Lines of text as a PDF with real text in it: one font, one page after the other, nothing compressed.

The bytes are a function of the lines alone. Only what PDF 1.4 asks for is written: catalogue, pages, a font that every
reader has (Helvetica, WinAnsiEncoding), one content stream for each page, and the table of byte offsets.
"""

from __future__ import annotations

from collections.abc import Sequence

TOP, LEFT, STEP, SIZE = 800, 50, 16, 11
"""Points; a page is A4, 595 by 842."""


def pdf_of(pages: Sequence[Sequence[str]]) -> bytes:
    """A PDF file with the given lines on each page.

    Args:
        pages: lines of each page, one at least and at most 49, of characters that Windows-1252 has.

    Raises:
        ValueError: a line holds another character, or a page has too many lines.
    """
    first = 4
    kids = " ".join(f"{first + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, lines in enumerate(pages):
        content = _content(lines)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> "
            b"/Contents %d 0 R >>" % (first + 2 * number + 1)
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    return _file(objects)


def _content(lines: Sequence[str]) -> bytes:
    if len(lines) > (TOP - STEP) // STEP:
        raise ValueError(f"a page holds {(TOP - STEP) // STEP} lines, not {len(lines)}")
    moves = [b"%d %d Td" % (LEFT, TOP), *[b"0 %d Td" % -STEP] * (len(lines) - 1)]
    shown = [b"%s (%s) Tj" % (move, _escaped(line)) for move, line in zip(moves, lines, strict=True)]
    return b"\n".join([b"BT /F1 %d Tf" % SIZE, *shown, b"ET"])


def _escaped(line: str) -> bytes:
    """A literal string (PDF 1.4, section 3.2.3): brackets and backslashes escaped, the rest as the encoding has it."""
    data = line.encode("cp1252")
    for sign in (b"\\", b"(", b")"):
        data = data.replace(sign, b"\\" + sign)
    return data


def _file(objects: Sequence[bytes]) -> bytes:
    found = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(found))
        found += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(found)
    found += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    for offset in offsets:
        found += b"%010d 00000 n \n" % offset
    found += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table)
    return bytes(found)
