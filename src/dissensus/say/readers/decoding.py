"""One JSON value, also as programs write it that are less strict than the standard.

Strict JSON goes through msgspec. What only Python calls JSON (``NaN``, half of a surrogate pair) is read too: programs
that dump with the standard library write it, and an audit that stops there helps nobody. Such numbers become None,
such characters U+FFFD.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final

import msgspec

UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
"""Marks that a text of this encoding begins with."""


def decode(raw: bytes) -> Any:
    """The JSON value in ``raw``.

    Raises:
        ValueError: it is none; the message says why in words for people.
    """
    try:
        return msgspec.json.decode(raw)
    except RecursionError:
        raise ValueError("it is nested deeper than any log") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        if raw.startswith(UTF_16) or b"\0" in raw:
            raise ValueError("it is not UTF-8") from None
        try:
            return _clean(json.loads(raw))
        except UnicodeDecodeError:
            raise ValueError("it is not UTF-8") from None
        except RecursionError:
            raise ValueError("it is nested deeper than any log") from None
        except ValueError:
            why = str(error).removeprefix("JSON is malformed: ")
            raise ValueError(why[:1].lower() + why[1:]) from None


def _clean(value: Any) -> Any:
    """``value`` without what no JSON holds."""
    if isinstance(value, dict):
        return {_clean(key): _clean(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_clean(inner) for inner in value]
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
