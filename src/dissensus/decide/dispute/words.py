"""Words that may change what a quote says: none of them may be missing from, or added to, a repaired quote (rule 8)."""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEGATIONS: Final = _words(
    "no not never none nor neither nobody nothing nowhere without cannot hardly barely scarcely except unless"
    " non senza mai nessuno nessuna niente nulla"
    " nicht kein keine keinen keinem keiner keines nie niemals nichts ohne"
    " ne pas jamais aucun aucune rien sans"
    " nunca ningún ninguna ninguno nada sin jamás"
)
"""English, Italian, German, French, Spanish."""

NEGATING_STARTS: Final = ("un", "in", "im", "ir", "il", "non", "non-", "dis", "mis", "in-", "un-")
"""Beginnings that negate the word they stand before. A word in "less" that one side lacks counts without a list."""

NUMBER_WORDS: Final = _words(
    "zero two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion"
    " dozen half double triple twice thrice third quarter"
    " tre quattro cinque sette otto nove dieci cento mille"
    " zwei drei vier fünf sechs sieben acht neun zehn hundert tausend"
    " deux trois quatre cinq huit neuf dix"
    " dos tres cuatro cinco seis siete ocho nueve diez cien mil"
)
"""Digits in words. Left out are those that mostly mean something else, such as "one" or "due"."""

UNITS: Final = _words(
    "g kg mg t lb lbs oz gram grams kilogram kilograms tonne tonnes ton tons ounce ounces"
    " m mm cm km ft yd mi metre metres meter meters mile miles inch inches"
    " l ml cl dl litre litres liter liters gallon gallons"
    " s ms min h hr hrs w kw kwh v hz j kj cal kcal pa psi k c f b kb mb gb tb byte bytes"
    " percent pct ppm eur euro euros usd dollar dollars gbp cent cents chf jpy yen"
    " pcs box boxes carton cartons pallet pallets crate crates"
    " drum drums sack sacks bag bags roll rolls barrel barrels bottle bottles bale bales bundle bundles reel reels"
    " tray trays bucket buckets keg kegs jar jars"
)
"""Units in words and letters."""

UNITS_IN_PROSE: Final = _words(
    "second seconds minute minutes hour hours day days week weeks month months year years"
    " foot feet yard yards pound pounds degree degrees bar bit bits piece pieces case cases pack packs unit units in"
)
"""Words that are units at times: they matter where one side has one that the other has not."""
