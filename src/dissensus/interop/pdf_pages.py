"""The text of each page of a PDF (extra ``pdf``)."""

from __future__ import annotations

import io
import logging
import warnings
from typing import Final

from dissensus.errors import MissingExtra

MOST_PAGES: Final = 5_000


def pages_of(data: bytes) -> list[str]:
    """The text of each page, from the first; empty where a page has none, as in a scan. No page if it is no PDF.

    Raises:
        MissingExtra: the package that reads PDF is not installed.
    """
    try:
        from pypdf import PdfReader
    except ImportError:
        raise MissingExtra("Reading a PDF", extra="pdf") from None
    log = logging.getLogger("pypdf")
    level = log.level
    log.setLevel(logging.CRITICAL)  # it tells of each oddity of a file; what matters is whether a quote is in it
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader = PdfReader(io.BytesIO(data), strict=False)
            return [_text(reader, number) for number in range(min(len(reader.pages), MOST_PAGES))]
    except Exception:  # noqa: BLE001 - a file from anywhere breaks a parser in any way
        return []
    finally:
        log.setLevel(level)


def _text(reader: object, number: int) -> str:
    try:
        text: str = reader.pages[number].extract_text()  # type: ignore[attr-defined] # no import at this place
    except Exception:  # noqa: BLE001 - one broken page leaves the others
        return ""
    return text.encode("utf-8", "replace").decode()
