"""What an agent is told about itself: persona, reasoning style, language; and the names agents get by default."""

from __future__ import annotations

import difflib

from dissensus.errors import SpecError
from dissensus.script.styles import STYLES

NAMES = (
    "ada",
    "ben",
    "cleo",
    "dan",
    "eve",
    "finn",
    "gus",
    "hana",
    "ivo",
    "jo",
    "kim",
    "lea",
    "max",
    "nia",
    "oto",
    "pia",
    "quin",
    "rob",
    "sue",
    "tom",
    "uma",
    "vic",
    "wes",
    "xia",
)
"""Default names, in the order in which they are given."""

LANGUAGES = {
    "ar": "Arabic",
    "bn": "Bengali",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "hu": "Hungarian",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sv": "Swedish",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
    "zh": "Chinese",
}
"""ISO 639-1 codes that are spelt out for the agent; anything else is passed on as it was written."""


def name_of(index: int) -> str:
    """Default name of agent ``index``, counted from 0: ``ada``, ``ben`` … and, when they are used up, ``ada2``."""
    lap, place = divmod(index, len(NAMES))
    return NAMES[place] + (str(lap + 1) if lap else "")


def system_prompt(persona: str = "", style: str = "", language: str = "") -> str:
    """The system prompt: who the agent is, how it reasons, in which language it answers. Empty parts are left out.

    Raises:
        SpecError: there is no such style.
    """
    parts = [persona.strip()]
    if style:
        if style not in STYLES:
            near = difflib.get_close_matches(style, STYLES, n=1)
            hint = f'Did you mean "{near[0]}"?' if near else f"Known styles: {', '.join(STYLES)}."
            raise SpecError(f'There is no reasoning style "{style}".', next_step=hint)
        parts.append(STYLES[style].text)
    if language:
        parts.append(f"Answer in {LANGUAGES.get(language.lower(), language)}.")
    return "\n".join(part for part in parts if part)
