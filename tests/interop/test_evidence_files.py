"""Files as evidence: pinned, found by digest, altered, gone, too large, PDF and binary."""

from __future__ import annotations

import io
import json
import os
from hashlib import sha256
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from dissensus.cli.evidence import evidence as command
from dissensus.decide.dispute.evidence import CsvDialect, Evidence, PageSelector, TextSelector
from dissensus.decide.dispute.reopening import reopen
from dissensus.errors import SpecError, UsageError
from dissensus.interop.evidence_files import Folders, LiveFiles, dialect_of, media_of, open_source, pin, read_bytes
from dissensus.interop.evidence_items import read_items
from dissensus.interop.pdf_pages import pages_of

NOTE = "Delivery note 4711\nPallets: 10\nBoxes: 480, all whole\n"


def pdf_of(*pages: str) -> bytes:
    """A small PDF with one line of text on each page; none for an empty page."""
    kids = " ".join(f"{3 + 2 * n} 0 R" for n in range(len(pages)))
    font = f"{3 + 2 * len(pages)} 0 R"
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>"]
    for n, text in enumerate(pages):
        drawn = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET" if text else "0 0 m"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {4 + 2 * n} 0 R"
            f" /Resources << /Font << /F1 {font} >> >> >>"
        )
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    body, starts = "%PDF-1.4\n", []
    for n, each in enumerate(objects, 1):
        starts.append(len(body))
        body += f"{n} 0 obj\n{each}\nendobj\n"
    table = "".join(f"{start:010} 00000 n \n" for start in starts)
    size = len(objects) + 1
    body += f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer << /Size {size} /Root 1 0 R >>\n"
    return (body + f"startxref\n{body.index('xref')}\n%%EOF\n").encode()


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command, [str(each) for each in arguments])


def lines_of(result: Result) -> list[dict[str, object]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


# --- pinning


def test_what_is_pinned_stays_when_the_file_changes(tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text(NOTE)
    pinned = pin(note, tmp_path / "evidence")
    assert pinned.digest == sha256(NOTE.encode()).hexdigest()
    assert pinned.media == "text/plain"
    item = Evidence(pinned.digest, (TextSelector(0, 18),), NOTE[:18], live_ref="note.txt")
    sources, live = Folders((tmp_path / "evidence",)), LiveFiles(tmp_path)
    for change, state in ((None, "SAME"), ("Pallets: 9", "CHANGED"), ("", "GONE")):
        if change:
            note.write_text(change)
        elif change == "":
            note.unlink()
        found = reopen(item, sources, live)
        assert (found.result, found.live) == ("EXACT", state)
    assert pin(pinned.stored, tmp_path / "evidence").stored == pinned.stored
    assert len(list((tmp_path / "evidence").iterdir())) == 1


def test_an_altered_copy_is_seen(tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text(NOTE)
    pinned = pin(note, tmp_path / "deep" / "evidence")
    pinned.stored.chmod(0o644)
    pinned.stored.write_text(NOTE.replace("10", "11"))
    note.unlink()
    item = Evidence(pinned.digest, (TextSelector(0, 8),), "Delivery")
    for folder in (tmp_path / "deep" / "evidence", tmp_path):
        found = reopen(item, Folders((folder,)))
        assert found.damaged
        assert found.voids
    note.write_text(NOTE)  # pinning again mends it
    assert reopen(item, Folders((pin(note, tmp_path / "deep" / "evidence").stored.parent,))).result == "EXACT"


def test_without_a_copy_the_live_file_decides_between_changed_and_missing(tmp_path: Path) -> None:
    item = Evidence(sha256(NOTE.encode()).hexdigest(), (TextSelector(0, 8),), "Delivery", live_ref="note.txt")
    sources, live = Folders((tmp_path / "none",)), LiveFiles(tmp_path)
    assert reopen(item, sources, live).result == "SOURCE_MISSING"
    (tmp_path / "note.txt").write_text(NOTE)
    assert reopen(item, sources, live).result == "EXACT"
    (tmp_path / "note.txt").write_text("else")
    assert reopen(item, sources, live).result == "CHANGED"


def test_a_file_of_200_megabytes(tmp_path: Path) -> None:
    large = tmp_path / "large.txt"
    with large.open("wb") as file:
        file.truncate(200_000_000)
    with pytest.raises(SpecError, match="larger than 100 MB") as error:
        pin(large, tmp_path / "evidence")
    assert error.value.next_step
    assert not (tmp_path / "evidence").exists()
    sources = Folders((tmp_path,))
    assert sources("0" * 64) is None
    assert sources.passed_over == [large]


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "none", tmp_path / "pipe"):
        with pytest.raises(SpecError) as error:
            read_bytes(path)
        assert error.value.next_step


def test_addresses_are_not_fetched(tmp_path: Path) -> None:
    for reference in ("https://example.org/a", "ftp://x", "http://[", "a\0b"):
        item = Evidence("0" * 64, (), "x", live_ref=reference)
        assert LiveFiles(tmp_path)(item) == "NOT_CHECKED"
    (tmp_path / "a b.txt").write_text("x")
    found = LiveFiles(tmp_path / "else")(Evidence("0" * 64, (), "x", live_ref=(tmp_path / "a b.txt").as_uri()))
    assert not isinstance(found, str)


@pytest.mark.parametrize(
    ("head", "name", "media"),
    [
        (b"%PDF-1.7", "a.txt", "application/pdf"),
        (b"\x89PNG\r\n\x1a\n", "a", "image/png"),
        (b"a,b\n", "a.CSV", "text/csv"),
        (b"{}", "a.json", "application/json"),
        (b"a", "", "text/plain"),
        (b"", "", "text/plain"),
        (b"a\0b", "a.txt", "application/octet-stream"),
        (b"\xe9t\xe9", "a.txt", "application/octet-stream"),
        ("é".encode("utf-16"), "a.txt", "text/plain; charset=utf-16"),
        (b"a" * 65_535 + "é".encode()[:1], "a.txt", "text/plain"),
    ],
)
def test_media(head: bytes, name: str, media: str) -> None:
    assert media_of(head, name) == media


def test_how_a_table_is_written_is_recorded(tmp_path: Path) -> None:
    assert dialect_of(b'a;b\n"1;0";2,5\n') == CsvDialect(";")
    assert dialect_of(b"a,b\n1,2\n") == CsvDialect()
    assert dialect_of(b"no table") == CsvDialect()
    table = tmp_path / "log.csv"
    table.write_text("id;qty\n1;2\n")
    assert json.loads(run("pin", table, "--store", tmp_path / "s", "--json").stdout)["dialect"] == {"delimiter": ";"}


# --- PDF


def test_a_pdf_by_page() -> None:
    pytest.importorskip("pypdf")
    data = pdf_of("Delivery note 4711", "Pallets received: 10 at the gate", "")
    assert pages_of(data) == ["Delivery note 4711", "Pallets received: 10 at the gate", ""]
    source = open_source(data)
    for page, result in ((2, "EXACT"), (1, "MOVED"), (3, "MOVED"), (4, "OUT_OF_RANGE")):
        item = Evidence(source.digest, (PageSelector(page),), "Pallets received: 10")
        assert reopen(item, {source.digest: source}).result == result


def test_a_pdf_without_text_and_a_broken_one() -> None:
    pytest.importorskip("pypdf")
    for data, result, why in (
        (pdf_of("", ""), "NOT_FOUND", "a scan"),
        (b"%PDF-1.7\n" + b"\xff" * 50, "OUT_OF_RANGE", "damaged"),
        (locked(pdf_of("Pallets received: 10"), "secret"), "OUT_OF_RANGE", "encrypted"),
    ):
        source = open_source(data)
        found = reopen(Evidence(source.digest, (PageSelector(1),), "Pallets received: 10"), {source.digest: source})
        assert found.result == result
        assert why in found.hint, "that is not said of a page that the file has not"


def locked(data: bytes, password: str) -> bytes:
    """The PDF, encrypted for those who know the password."""
    from pypdf import PdfReader, PdfWriter

    writer, out = PdfWriter(clone_from=PdfReader(io.BytesIO(data))), io.BytesIO()
    writer.encrypt(password, algorithm="RC4-128")
    writer.write(out)
    return out.getvalue()


def test_a_pdf_that_only_its_owner_may_change_is_read() -> None:
    pytest.importorskip("pypdf")
    assert pages_of(locked(pdf_of("Pallets received: 10"), "")) == ["Pallets received: 10"]


@given(st.binary(max_size=300), st.integers(0, 700))
def test_no_broken_pdf_raises(junk: bytes, place: int) -> None:
    pytest.importorskip("pypdf")
    whole = pdf_of("Pallets received")
    broken = whole[:place] + junk + whole[place + len(junk) :]
    assert all(isinstance(page, str) for page in pages_of(broken))


# --- the commands


def claims_file(folder: Path, *lines: object) -> Path:
    path = folder / "claims.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_check_prints_a_result_per_line(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text(NOTE)
    digest = sha256(NOTE.encode()).hexdigest()
    item = {"id": "e1", "digest": digest, "quote": "Pallets: 10", "selectors": [{"type": "line", "first": 2}]}
    good = claims_file(
        tmp_path,
        {"id": "c1", "subject": "order 1", "attribute": "pallets", "value": 10, "evidence": [item]},
        {**item, "id": "e2", "quote": "pallets:  10"},
    )
    result = run("check", good)
    assert result.exit_code == 0
    assert [line.split()[:2] for line in result.stdout.splitlines()] == [["EXACT", "c1/e1"], ["REPAIRED", "e2"]]
    assert "2 items of evidence: 1 EXACT, 1 REPAIRED" in result.stderr
    document = lines_of(run("check", good, "--json"))
    assert [each["result"] for each in document] == ["EXACT", "REPAIRED"]
    assert document[1]["text"] == "Pallets: 10"
    assert document[0]["claim"] == "c1"
    assert document[0]["source_sha256"] == digest


@pytest.mark.parametrize(
    ("change", "result"),
    [
        ({"quote": "Pallets: 11 and more"}, "NOT_FOUND"),
        ({"selectors": [{"type": "line", "first": 20}]}, "OUT_OF_RANGE"),
        ({"digest": "0" * 64}, "SOURCE_MISSING"),
        ({"digest": "0" * 64, "live_ref": "note.txt"}, "CHANGED"),
        (None, "INCOMPLETE"),
    ],
)
def test_check_ends_with_1_if_something_does_not_reopen(
    tmp_path: Path, change: dict[str, object] | None, result: str
) -> None:
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "note.txt").write_text(NOTE)
    (tmp_path / "note.txt").write_text(NOTE)
    digest = sha256(NOTE.encode()).hexdigest()
    item = {"digest": digest, "quote": "Pallets: 10", "selectors": [{"type": "line", "first": 2}]}
    path = claims_file(tmp_path, {"id": "c", "evidence": [] if change is None else [{**item, **change}]})
    found = run("check", path, "--sources", tmp_path / "sources", "--json")
    assert found.exit_code == 1
    assert [each["result"] for each in lines_of(found)] == [result]


@pytest.mark.parametrize(
    ("content", "line", "why"),
    [
        (b'{"id": "a"}\n{"id": }\n', 2, "no JSON"),
        (b'{"id": "a"}\n\n{"vaule": 1}\n', 3, "no key of a claim"),
        (b'{"id": "a"}\n\xff\n', 2, "UTF-8"),
        (b"", 0, "empty"),
        (b'{"digest": "abc", "quote": "x"}', 1, "SHA-256"),
        (b"5", 1, "mapping"),
    ],
)
def test_a_wrong_line_is_named_before_anything_is_printed(tmp_path: Path, content: bytes, line: int, why: str) -> None:
    path = tmp_path / "claims.jsonl"
    path.write_bytes(content)
    with pytest.raises(SpecError, match=why) as error:
        read_items(path)
    assert (error.value.path, error.value.line) == (str(path), line)
    assert error.value.next_step
    found = run("check", path)
    assert isinstance(found.exception, SpecError)
    assert found.stdout == ""


def test_pin_then_check(tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    files = {"note.txt": NOTE.encode(), "note.pdf": pdf_of("first", "Pallets: 10 came"), "p.png": b"\x89PNG\r\n\x1a\n"}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    store = tmp_path / "evidence"
    pinned = lines_of(run("pin", *(tmp_path / name for name in files), "--store", store, "--json"))
    assert [each["media"] for each in pinned] == ["text/plain", "application/pdf", "image/png"]
    path = claims_file(
        tmp_path,
        {"digest": pinned[0]["digest"], "quote": "Boxes: 480", "selectors": [{"type": "text", "start": 31, "end": 41}]},
        {"digest": pinned[1]["digest"], "quote": "Pallets: 10", "selector": {"type": "page", "page": 2}},
        {"digest": pinned[2]["digest"], "quote": "PNG", "selector": {"type": "text", "start": 0, "end": 3}},
    )
    found = lines_of(run("check", path, "--sources", store, "--json"))
    assert [each["result"] for each in found] == ["EXACT", "EXACT", "OUT_OF_RANGE"]


def test_a_folder_of_sources_that_is_not_there_is_no_missing_source(tmp_path: Path) -> None:
    item = {"digest": sha256(b"x").hexdigest(), "quote": "x"}
    found = run("check", claims_file(tmp_path, item), "--sources", tmp_path / "evidense")
    assert (found.exit_code, found.stdout) == (2, "")


def test_check_reads_a_table_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "stock.csv").write_text('\ufeffitem;qty;price\nbolt;2;1,50\n"nut; M8";3;2,75\n')
    digest = json.loads(run("pin", tmp_path / "stock.csv", "--store", tmp_path / "kept", "--json").stdout)["digest"]
    cells: list[tuple[dict[str, object], str]] = [
        ({"row": 3, "col": "item"}, "nut; M8"),
        ({"row": 2, "col": 3}, "1,50"),
        ({"row": 2}, "bolt;2;1,50"),
    ]
    items = [{"digest": digest, "quote": text, "selectors": [{"type": "csv", **cell}]} for cell, text in cells]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, items)))
    found = lines_of(run("check", tmp_path / "items.jsonl", "--sources", tmp_path / "kept", "--json"))
    assert [line["result"] for line in found] == ["EXACT"] * 3
    # the dialect that was told from the file is part of the result
    written = {"delimiter": ";", "quotechar": '"', "doublequote": True, "escapechar": ""}
    assert found[0]["selector"] == {"type": "csv", "row": 3, "col": "item", "dialect": written}


def test_a_debate_is_checked_as_it_is(tmp_path: Path) -> None:
    speech = {
        "speaker": "A",
        "content": [{"Quote": {"span": [0, 2]}}, {"Text": {"text": '"He left the house that day"'}}],
    }
    document = {
        "setup": {"sourceMaterial": {"X": {"contents": ["He", "left"]}}},
        "rounds": [{"SequentialSpeeches": {"speeches": {"0": speech, "1": {"speaker": "B", "content": []}}}}],
    }
    path = tmp_path / "debate.json"
    path.write_text(json.dumps(document))
    result = run("check", path, "--json")
    assert result.exit_code == 0
    assert [(each["result"], each.get("verified")) for each in lines_of(result)] == [("EXACT", None), (None, False)]
    assert "1 quotes typed without an anchor" in result.stderr


def test_a_file_without_any_evidence_is_no_clean_result(tmp_path: Path) -> None:
    path = tmp_path / "none.jsonl"
    path.write_text("[]")
    result = run("check", path)
    assert isinstance(result.exception, UsageError)
    assert "holds no claim and no evidence" in result.exception.message
