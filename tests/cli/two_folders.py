"""Two folders about forty orders with known truth: delivery notes as text and PDF, and a warehouse log as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

SHORT, TWICE, OTHER_UNIT, SPLIT, COPIED, DOUBTFUL, UNBOOKED, UNDELIVERED = (
    "4705", "4707", "4711", "4715", "4720", "4725", "4730", "4799",
)  # fmt: skip
SPECIAL = {
    SHORT: "disputed",  # the log has one pallet less
    TWICE: "settled",  # one booking stands twice: the log's report falls
    OTHER_UNIT: "incomplete",  # boxes and pallets, and nobody says how many
    SPLIT: "consistent",  # two notes
    COPIED: "consistent",  # one note, saved twice
    DOUBTFUL: "unchallenged",  # the note says "about"
    UNBOOKED: "unchallenged",  # no row
    UNDELIVERED: "unchallenged",  # no note
}


def truth() -> dict[str, str]:
    """How each order has to end."""
    return {str(4700 + n): "consistent" for n in range(40)} | SPECIAL


def make(base: Path, seed: int = 3) -> tuple[Path, Path]:
    """Write ``notes`` and ``warehouse`` in ``base``."""
    rng = Random(seed)  # noqa: S311 - a seeded sample
    notes, warehouse = base / "notes", base / "warehouse"
    (notes / "march").mkdir(parents=True)
    warehouse.mkdir()
    rows: list[str] = []
    for n in range(40):
        order, came = str(4700 + n), rng.randint(4, 30)
        day = f"2026-03-{1 + n % 28:02}"
        said = {OTHER_UNIT: "Received: 480 boxes", DOUBTFUL: f"Pallets received: about {came}"}
        parts = [came - 3, 3] if order == SPLIT else [came]
        for k, part in enumerate(parts):
            lines = [
                f"Delivery note DN-{100 + n}{k}", f"Order {order}", f"Date: {day}", f"Ordered: {came + 1} pallets",
                said.get(order, f"Pallets received: {part}"), "Signed: M. R.",
            ]  # fmt: skip
            if n % 5 == 1:
                (notes / f"note-{n:02}-{k}.pdf").write_bytes(pdf(lines))
            else:
                (notes / "march" / f"note-{n:02}-{k}.txt").write_text("\n".join(lines) + "\n")
            if order == COPIED:
                (notes / f"note-{n:02}-copy.txt").write_text("\r\n".join(lines) + "\r\n\r\n")
        if order == UNBOOKED:
            continue
        booked = {SHORT: came - 1, OTHER_UNIT: 10}.get(order, came)
        first = rng.randint(1, booked - 1)
        for k, part in enumerate((first, booked - first)):
            rows.append(f"B{n:02}{k},{order},{part},{day}T0{8 + k}:00")
        if order == TWICE:
            rows.append(rows[-1])
    rows.append(f"B999,{UNDELIVERED},5,2026-03-20T09:00")
    rng.shuffle(rows)
    (warehouse / "log.csv").write_text("\n".join(["booking,order,pallets,booked_at", *rows, ""]))
    return notes, warehouse


def pdf(lines: Sequence[str]) -> bytes:
    """One page of lines, as PDF 1.4 asks for it: catalogue, pages, font, content, table of offsets."""
    shown = "".join(f"({line}) Tj 0 -16 Td\n" for line in lines)
    content = f"BT /F1 11 Tf 50 800 Td\n{shown}ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources 6 0 R /Contents 5 0 R >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Font << /F1 3 0 R >> >>",
    ]
    found, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(found))
        found += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    start = len(found)
    found += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    return found + b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
