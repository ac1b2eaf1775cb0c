"""The probe finds each way in which a back end can fail to continue a text, and finds nothing where there is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner

from dissensus.agents.probe import MARKS, Probed, probe
from dissensus.agents.scripted import Rule, Scripted
from dissensus.agents.scripted_tokens import BYTES, CHARACTERS
from dissensus.cli.main import main
from dissensus.script.calls import Capability, Extend
from dissensus.script.outcomes import Extended, Outcome, TransportFailure

pytestmark = pytest.mark.anyio
BIRDS = "\U0001f99c" * 8
STORY = "The river ran past the mill, and the miller counted every drop that went by without turning his wheel."
RULES = [Rule("single word", "yes"), Rule("Go on", BIRDS), Rule("", STORY)]
Change = Callable[[Extend, Extended], Outcome]


class Altered(Scripted):
    """A scripted model of bytes whose calls or outcomes are changed on the way."""

    def __init__(
        self,
        *,
        call: Callable[[Extend], Extend] = lambda call: call,
        outcome: Change = lambda _call, done: done,
        **more: Any,
    ) -> None:
        super().__init__(RULES, **({"tokenizer": BYTES} | more))
        self._change_call = call
        self._change_outcome = outcome

    async def extend(self, call: Extend) -> Outcome:
        done = await super().extend(self._change_call(call))
        return self._change_outcome(call, done) if isinstance(done, Extended) else done


async def probed(**more: Any) -> tuple[Probed, dict[str, str]]:
    found = await probe(Altered(**more))
    return found, {finding.check: finding.verdict for finding in found.findings}


async def test_nothing_is_wrong_with_a_model_of_bytes() -> None:
    found, seen = await probed(outcome=with_cache(1))
    assert set(seen.values()) == {"kept"}
    assert found.sound
    assert found.fidelity == "token_exact"


def with_cache(kept: float) -> Change:
    """The prompt's share that is said to come from a cache."""

    def change(_call: Extend, done: Extended) -> Extended:
        tokens_in = done.usage.tokens_in or 0
        return replace(done, usage=replace(done.usage, tokens_cached=int((tokens_in - 1) * kept)))

    return change


@pytest.mark.parametrize(
    ("kept", "words"), [(1.0, "nothing twice"), (0.5, "more is read again"), (0.0, "nothing was kept")]
)
async def test_the_cache_is_told_as_it_is(kept: float, words: str) -> None:
    found, _ = await probed(outcome=with_cache(kept))
    assert words in next(one.detail for one in found.findings if one.check == "cache")
    found, seen = await probed()
    assert seen["cache"] == "unknown"
    assert found.sound


async def test_a_chat_model_lacks_all_and_its_texts_could_only_be_quoted() -> None:
    found, seen = await probed(capabilities=frozenset({Capability.CHAT}))
    assert set(seen.values()) == {"lacks"}
    assert (found.fidelity, found.sound) == ("approximate", True)
    assert "finished chat turns" in found.findings[0].detail


async def test_a_model_that_takes_texts_alone() -> None:
    found, seen = await probed(capabilities=frozenset({Capability.CONTINUE}), tokenizer=CHARACTERS)
    assert (seen["ids"], seen["identity"], seen["space"], seen["end"]) == ("lacks", "kept", "kept", "kept")
    assert found.fidelity == "text_prefill"


async def test_a_limit_that_is_not_told_or_not_kept() -> None:
    _, seen = await probed(
        outcome=lambda _call, done: replace(done, finish="other" if done.finish == "length" else "stop")
    )
    assert seen["limit"] == "broken"
    _, seen = await probed(call=lambda call: replace(call, max_tokens=call.max_tokens + 1))
    assert seen["limit"] == "broken"


async def test_ids_that_are_not_read_or_not_given() -> None:
    found, seen = await probed(call=lambda call: replace(call, tokens=call.tokens and ()))
    assert (seen["ids"], seen["identity"], found.fidelity) == ("broken", "unknown", "text_prefill")
    _, seen = await probed(outcome=lambda _call, done: replace(done, tokens=None))
    assert seen["ids"] == "broken"


async def test_a_text_that_parts_from_itself_is_told_with_the_place() -> None:
    def after_some(call: Extend, done: Extended) -> Extended:
        late = call.tokens is not None and len(call.tokens) >= 10 and call.max_tokens == 5
        return replace(done, tokens=tuple(token ^ 1 for token in done.tokens or ())) if late else done

    found, seen = await probed(outcome=after_some)
    assert seen["identity"] == "unknown"
    assert "parts at token 10 of 24" in next(one.detail for one in found.findings if one.check == "identity")


async def test_white_space_that_is_cut_off() -> None:
    _, seen = await probed(call=lambda call: replace(call, text=call.text.rstrip()))
    assert seen["space"] == "broken"


async def test_an_end_that_comes_along_as_an_id() -> None:
    def with_end(_call: Extend, done: Extended) -> Extended:
        return replace(done, tokens=(*(done.tokens or ()), 0)) if done.finish == "stop" else done

    _, seen = await probed(outcome=with_end)
    assert seen["end"] in {"broken", "unknown"}

    def unheard(call: Extend, done: Extended) -> Extended:
        return replace(done, finish="length", text="!") if call.tokens and done.finish == "stop" else done

    _, seen = await probed(outcome=unheard)
    assert seen["end"] == "broken"


async def test_half_characters_that_are_lost() -> None:
    _, seen = await probed(
        outcome=lambda _call, done: replace(done, raw=None, text="\ufffd" if done.raw else done.text)
    )
    assert seen["half"] == "broken"
    _, seen = await probed(outcome=lambda _call, done: replace(done, raw=None, tokens=() if done.raw else done.tokens))
    assert seen["half"] == "broken"


async def test_names_of_control_tokens_that_are_read_as_such() -> None:
    def parsed(call: Extend, done: Extended) -> Extended:
        saved = 3 * (len(MARKS[0]) - 1) if call.text.endswith(MARKS[0]) else 0
        return replace(done, usage=replace(done.usage, tokens_in=(done.usage.tokens_in or 0) - saved))

    found, seen = await probed(outcome=parsed)
    assert seen["forged"] == "broken"
    assert found.findings[-1].detail.endswith(f": {MARKS[0]}")
    assert not found.sound


async def test_a_failing_call_ends_its_check_and_no_other() -> None:
    def spaced(call: Extend, done: Extended) -> Outcome:
        return TransportFailure(problem="no spaces, please", cause="status") if call.text.endswith(" ") else done

    found, seen = await probed(outcome=spaced)
    assert (seen["space"], seen["ids"], seen["forged"]) == ("broken", "kept", "kept")
    assert "no spaces" in next(one.detail for one in found.findings if one.check == "space")


# --- the command


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["model", "probe", *arguments])
    return done.exit_code, done.stdout or done.stderr


def test_the_command_prints_a_line_for_each_check() -> None:
    code, out = run(f"scripted:{STORY}", "--option", "tokenizer=byte")
    assert code == 0
    lines = out.splitlines()
    assert len(lines) == 10
    assert lines[1].split()[:2] == ["kept", "limit"]
    assert lines[-1] == "a shared text can be continued: token_exact"


def test_the_command_as_json() -> None:
    code, out = run(f"scripted:{STORY}", "--option", "capabilities=[chat]", "--json")
    assert code == 0
    data = json.loads(out)
    assert (data["fidelity"], data["sound"], data["capabilities"]) == ("approximate", True, ["chat"])
    assert {one["verdict"] for one in data["checks"]} == {"lacks"}


def test_what_is_broken_shows_in_the_exit_code() -> None:
    code, out = run(f"scripted:{STORY}", "--option", "dies_after=3")
    assert code == 1
    assert "the server has died" in out


def test_an_option_is_a_key_and_a_value() -> None:
    assert run("scripted:x", "--option", "byte")[0] == 2
    assert run("scripted:x", "--option", "tokenizr=byte")[0] == 2
