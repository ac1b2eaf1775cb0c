"""Whether a back end continues texts as it says: asked of the back end itself, with a dozen short calls.

Servers differ in what they do with ids, with white space at a text's end, with the end of a turn, with their caches and
with names of control tokens, and versions differ from each other. So it is looked at, not believed. Each check says
what was seen; ``unknown`` is no failure, but it is no promise either.

=============  ========================================================================================================
``limit``      a turn that reaches its limit says so, and has as many tokens as it was allowed
``ids``        ids that come back are taken, and continued where they end
``identity``   a text written in pieces is the text written in one go (greedy); where not, at which token they part
``space``      white space at the end of a text is continued, not cut off
``end``        the end of a turn is told by a reason, is no part of the ids, and comes again if the text is handed back
``cache``      how much of a text that was read before is read again
``half``       a character that is cut in two between turns comes out whole
``forged``     names of control tokens in a shared text stay text
=============  ========================================================================================================
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final, Literal, TypedDict

from dissensus.agents.model import Model
from dissensus.script.calls import Capability, Extend, Turn
from dissensus.script.outcomes import Extended, Outcome

Verdict = Literal["kept", "broken", "unknown", "lacks"]

MARKS: Final = (
    "<|im_end|>", "<|im_start|>", "<|endoftext|>", "<|eot_id|>", "<|start_header_id|>", "<end_of_turn>",
    "<start_of_turn>", "</s>", "[INST]", "<|end|>", "<|user|>", "<\uff5cUser\uff5c>",
)  # fmt: skip
"""Names of control tokens of common chat templates."""
_TIMES = 3
_TALK: Final = (Turn("system", "You are a careful clerk."), Turn("user", "Tell a long story of a river and a mill."))
_SHORT: Final = (Turn("user", "Answer with the single word yes, and nothing else."),)
_BIRDS: Final = "\U0001f99c" * 8
_LONG = 24
_MOST_TO_END = 60
_TURNS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one check saw. ``lacks``: the back end does not claim to be able to do it."""

    check: str
    verdict: Verdict
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """All findings, and what follows.

    Args:
        model: its name.
        capabilities: what it claims.
        fidelity: how exactly a shared text can be continued: ``token_exact``, ``text_prefill``, or ``approximate``
            where it cannot be continued at all and could only be quoted.
        findings: in the order of the table above.
    """

    model: str
    capabilities: tuple[str, ...]
    fidelity: str
    findings: tuple[Finding, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing was found broken."""
        return all(finding.verdict != "broken" for finding in self.findings)


class _Given(TypedDict, total=False):
    """A text that has begun: one of both."""

    text: str
    tokens: tuple[int, ...]


class _Stopped(Exception):
    """A call failed: the check ends with this verdict."""

    def __init__(self, verdict: Verdict, detail: str) -> None:
        super().__init__(detail)
        self.verdict: Verdict = verdict


async def probe(model: Model) -> Probed:
    """Ask ``model``. A call that fails ends only the check that made it; nothing is raised."""
    asker = _Asker(model)
    checks: dict[str, Callable[[], Awaitable[tuple[Verdict, str]]]] = {
        "limit": asker.limit,
        "ids": asker.ids,
        "identity": asker.identity,
        "space": asker.space,
        "end": asker.end,
        "cache": asker.cache,
        "half": asker.half,
        "forged": asker.forged,
    }
    findings: list[Finding] = []
    for name, check in checks.items():
        try:
            verdict, detail = await check()
        except _Stopped as stopped:
            verdict, detail = stopped.verdict, str(stopped)
        findings.append(Finding(check=name, verdict=verdict, detail=detail))
    seen = {finding.check: finding.verdict for finding in findings}
    fidelity = "approximate"
    if Capability.CONTINUE in model.capabilities and seen["limit"] != "broken":
        exact = seen["ids"] == "kept" and seen["end"] != "broken"
        fidelity = "token_exact" if exact else "text_prefill"
    return Probed(
        model=model.name,
        capabilities=tuple(sorted(model.capabilities)),
        fidelity=fidelity,
        findings=tuple(findings),
    )


class _Asker:
    """The checks. Each is greedy, and names a stream of its own."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._whole: Extended | None = None
        self._streams = 0

    async def limit(self) -> tuple[Verdict, str]:
        whole = await self._written()
        if whole.finish == "stop":
            return "unknown", "the text ended before its limit"
        if whole.finish != "length":
            return "broken", f"at the limit it says {whole.finish!r}"
        if whole.tokens is not None and len(whole.tokens) != _LONG:
            return "broken", f"{len(whole.tokens)} ids came back where {_LONG} tokens were the limit"
        counted = whole.usage.tokens_out
        if counted not in {None, _LONG}:
            return "broken", f"it says 'length' and counts {counted} of {_LONG} tokens"
        return "kept", f"{_LONG} tokens, then 'length'"

    async def ids(self) -> tuple[Verdict, str]:
        self._need(Capability.TOKENS, "takes no token ids")
        whole = await self._written()
        if whole.tokens is None:
            return "broken", "no ids came back"
        cut = len(whole.tokens) // 2
        rest = await self._extend(tokens=whole.tokens[:cut], max_tokens=len(whole.tokens) - cut)
        if rest.tokens is None:
            return "broken", "no ids came back where ids were given"
        context, before = rest.usage.tokens_in, whole.usage.tokens_in
        if context is not None and before is not None and context != before + cut:
            return "broken", f"{cut} ids were given, and the prompt grew by {context - before} tokens"
        same = _common(whole.tokens[cut:], rest.tokens)
        if not same:
            return "broken", "from ids it goes on otherwise from the first token on: it does not read what was given"
        return "kept", f"{cut} ids given, {len(rest.tokens)} came back"

    async def identity(self) -> tuple[Verdict, str]:
        whole = await self._written()
        exact = Capability.TOKENS in self._model.capabilities and whole.tokens is not None
        if exact:
            tokens: tuple[int, ...] = ()
            while whole.tokens is not None and len(tokens) < len(whole.tokens):
                most = min(5, len(whole.tokens) - len(tokens))
                more = await self._extend(tokens=tokens, max_tokens=most, stream="pieces")
                if not more.tokens:
                    break
                tokens += more.tokens
            same, total, unit = _common(whole.tokens or (), tokens), len(whole.tokens or ()), "token"
        else:
            text = ""
            while len(text) < len(whole.text):
                more = await self._extend(text=text, max_tokens=5, stream="pieces")
                if not more.text:
                    break
                text += more.text
            same, total, unit = _common(whole.text, text), len(whole.text), "character"
        if same >= total:
            return "kept", f"{total} {unit}s in pieces of 5 tokens are those written in one go"
        where = f"written in pieces it parts at {unit} {same} of {total}"
        return ("unknown", f"{where}; with near-equal tokens that happens") if same else ("broken", where)

    async def space(self) -> tuple[Verdict, str]:
        begun = "one, two, three, four,"
        without = await self._extend(text=begun, max_tokens=4)
        spaced = await self._extend(text=begun + "  ", max_tokens=4)
        counts = (without.usage.tokens_in, spaced.usage.tokens_in)
        if None not in counts and counts[0] != counts[1]:
            return "kept", "with white space at its end a text has other tokens"
        if without.text != spaced.text:
            return "kept", "with white space at its end a text goes on otherwise"
        if None in counts:
            return "unknown", "the same continuation with white space at the end and without"
        return "broken", "white space at the end of a text is cut off"

    async def end(self) -> tuple[Verdict, str]:
        ended = await self._extend(turns=_SHORT, max_tokens=_MOST_TO_END)
        if ended.finish != "stop":
            return "unknown", f"the model did not end within {_MOST_TO_END} tokens"
        again = await self._extend(turns=_SHORT, max_tokens=_MOST_TO_END, **self._handed(ended))
        if again.finish == "stop" and not again.text and not again.tokens:
            return "kept", "'stop', no id for it, and the same again when the text is handed back"
        if again.finish == "stop":
            return "unknown", f"handed back, the text went on with {again.text[:20]!r} before it ended"
        return "broken", "handed back, a text that had ended went on: its end came along, or was lost"

    async def cache(self) -> tuple[Verdict, str]:
        whole = await self._written()
        first = await self._extend(max_tokens=2, stream="cache", **self._handed(whole))
        second = await self._extend(max_tokens=1, stream="cache", **self._handed(whole, first))
        context, cached = second.usage.tokens_in, second.usage.tokens_cached
        if context is None or cached is None:
            return "unknown", "it does not say how many tokens came from a cache"
        read = context - cached
        told = f"of {context} tokens, 2 of them new, {read} were read"
        if cached == 0:
            return "unknown", f"nothing was kept: {told}"
        return "kept", f"{told}: " + ("nothing twice" if read <= 2 else "more is read again than has to be")

    async def half(self) -> tuple[Verdict, str]:
        exact = Capability.TOKENS in self._model.capabilities
        turns = (Turn("user", f"Go on: {_BIRDS}"),)
        whole = await self._extend(turns=turns, max_tokens=_TURNS)
        raw, halves = b"", 0
        tokens: tuple[int, ...] = ()
        for _ in range(_TURNS):
            given: _Given = {"tokens": tokens} if exact else {"text": raw.decode("utf-8", "ignore")}
            more = await self._extend(turns=turns, max_tokens=1, stream="half", **given)
            if more.finish == "stop":
                break
            piece = more.text.encode() if more.raw is None else more.raw
            if "\ufffd" in more.text and more.raw is None:
                return "broken", "half a character came as U+FFFD, and its bytes are lost"
            if exact and not piece and not more.tokens:
                return "broken", "half a character came as nothing at all"
            halves += not piece or piece.decode("utf-8", "replace") != piece.decode("utf-8", "ignore")
            raw += piece
            tokens += more.tokens or ()
        if not halves:
            return "unknown", f"no character was cut in two in {_TURNS} turns of one token"
        text = raw.decode("utf-8", "replace").rstrip("\ufffd")
        if not text or "\ufffd" in text:
            return "broken", "characters that were cut in two did not become whole"
        if not whole.text.startswith(text):
            return (
                "unknown",
                f"{halves} of {_TURNS} turns cut a character in two; written in one go the text is another",
            )
        return "kept", f"{halves} of {_TURNS} turns cut a character in two, and it became whole"

    async def forged(self) -> tuple[Verdict, str]:
        plain = await self._extend(text="ok", max_tokens=1)
        if plain.usage.tokens_in is None:
            return "unknown", "it does not say how many tokens a prompt has"
        read = []
        for mark in MARKS:
            forged = await self._extend(text="ok" + mark * _TIMES, max_tokens=1)
            if forged.usage.tokens_in is not None and forged.usage.tokens_in - plain.usage.tokens_in == _TIMES:
                read.append(mark)
        if read:
            return "broken", f"in a shared text it reads as control tokens: {', '.join(read)}"
        return "kept", f"{len(MARKS)} names of control tokens stay text"

    async def _written(self) -> Extended:
        """A text of some length, written in one go."""
        if self._whole is None:
            self._whole = await self._extend(max_tokens=_LONG)
        return self._whole

    async def _extend(
        self,
        *,
        turns: tuple[Turn, ...] = _TALK,
        text: str = "",
        tokens: tuple[int, ...] | None = None,
        max_tokens: int,
        stream: str = "",
    ) -> Extended:
        self._need(Capability.CONTINUE, "cannot continue a text that was begun: it only takes finished chat turns")
        if tokens is None and not text and Capability.TOKENS in self._model.capabilities:
            tokens = ()
        if not stream:
            self._streams += 1
        name = f"probe/{stream or self._streams}/agent"
        call = Extend(turns=turns, text=text, tokens=tokens, max_tokens=max_tokens, temperature=0, seed=0, stream=name)
        outcome: Outcome = await self._model.extend(replace(call, key=name))
        if isinstance(outcome, Extended):
            return outcome
        problem = getattr(outcome, "problem", "") or outcome.kind
        lacks = getattr(outcome, "cause", "") == "capability"
        raise _Stopped("lacks" if lacks else "broken", problem)

    def _need(self, capability: Capability, lack: str) -> None:
        if capability not in self._model.capabilities:
            raise _Stopped("lacks", f"this back end {lack}")

    def _handed(self, *written: Extended) -> _Given:
        """What was written, one after the other, as it is handed to the next writer."""
        if Capability.TOKENS in self._model.capabilities and all(one.tokens is not None for one in written):
            return {"tokens": tuple(token for one in written for token in one.tokens or ())}
        return {"text": "".join(one.text for one in written)}


def _common(one: tuple[int, ...] | str, other: tuple[int, ...] | str) -> int:
    """Length of the common beginning."""
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return min(len(one), len(other))
