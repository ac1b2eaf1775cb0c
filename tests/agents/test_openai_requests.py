"""What is sent to each kind of server, by which route, and what is made of its answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from servers import Act, Seen, answer, chat, hang_up, hostile, response

from dissensus.agents.openai import OpenAI, OpenAIOptions
from dissensus.agents.openai.link import response_format
from dissensus.agents.openai.options import CAN, CAN_WITHOUT_TEMPLATE
from dissensus.errors import SpecError
from dissensus.script.calls import Capability, Extend, Generate, Score, Turn
from dissensus.script.outcomes import Extended, Outcome, Reply, Scores, TransportFailure

pytestmark = pytest.mark.anyio
TURNS = (Turn("system", "Be brief."), Turn("user", "What is 6 × 7?"))
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is 6 × 7?"}]
Routes = Mapping[str, Callable[[Any], object]]


def by_path(routes: Routes) -> Callable[[Seen, asyncio.StreamWriter], Any]:
    """Answer each path with what its function makes of the request's data; 404 elsewhere."""

    async def act(seen: Seen, writer: asyncio.StreamWriter) -> None:
        route = routes.get(seen.path)
        if route is None:
            writer.write(response(b'{"error": "no such route"}', status=404))
        else:
            writer.write(response(json.dumps(route(seen.data)).encode()))

    return act


async def call_server(routes: Routes, call: Generate | Extend | Score, **options: Any) -> tuple[Outcome, list[Seen]]:
    async with hostile(by_path(routes)) as server:
        model = OpenAI(OpenAIOptions(model="m", base_url=server.url, **options))
        outcome: Outcome
        if isinstance(call, Generate):
            outcome = await model.generate(call)
        elif isinstance(call, Extend):
            outcome = await model.extend(call)
        else:
            outcome = await model.score(call)
        await model.close()
        return outcome, server.seen


CHAT: Routes = {"/v1/chat/completions": lambda _data: chat()}


async def test_a_chat_request_holds_what_was_asked() -> None:
    call = Generate(turns=TURNS, temperature=0.25, max_tokens=77, seed=5, stop=("\n", "END"))
    outcome, seen = await call_server(CHAT, call, price_in=2.0, price_out=10.0)
    assert seen[0].data == {
        "model": "m",
        "messages": MESSAGES,
        "temperature": 0.25,
        "max_tokens": 77,
        "seed": 5,
        "stop": ["\n", "END"],
    }
    assert isinstance(outcome, Reply)
    assert (outcome.usage.tokens_in, outcome.usage.tokens_out) == (12, 3)
    assert outcome.usage.cost == pytest.approx((12 * 2 + 3 * 10) / 1e6)
    assert "authorization" not in seen[0].headers


async def test_the_same_call_is_sent_in_the_same_bytes() -> None:
    call = Generate(turns=TURNS, schema={"type": "object", "properties": {"b": {}, "a": {}}}, key="ask/ada")
    bodies = [(await call_server(CHAT, call))[1][0].body for _ in range(3)]
    assert len(set(bodies)) == 1


async def test_options_rename_leave_out_and_add_fields() -> None:
    _, seen = await call_server(
        CHAT,
        Generate(turns=TURNS),
        max_tokens_field="max_completion_tokens",
        omit=("temperature", "seed"),
        extra={"top_p": 0.5},
    )
    assert seen[0].data == {"model": "m", "messages": MESSAGES, "max_completion_tokens": 512, "top_p": 0.5}


async def test_a_key_is_sent_in_the_header_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", " canary-0123456789 \n")
    _, seen = await call_server(CHAT, Generate(turns=TURNS), api_key_env="SOME_KEY", key_header="api-key")
    assert seen[0].headers["api-key"] == "canary-0123456789"
    assert "authorization" not in seen[0].headers


async def test_a_query_in_the_address_goes_along() -> None:
    async with hostile(answer(chat())) as server:
        model = OpenAI(OpenAIOptions(model="m", base_url=f"{server.url}/?api-version=1"))
        await model.generate(Generate(turns=TURNS))
        await model.close()
        assert server.paths == ["/v1/chat/completions?api-version=1"]


async def test_a_prompt_with_half_a_surrogate_pair_can_be_sent() -> None:
    outcome, seen = await call_server(CHAT, Generate(turns=(Turn("user", "a\ud800b"),)))
    assert isinstance(outcome, Reply)
    assert b"a\\ud800b" in seen[0].body


CLOSED = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}


async def test_a_schema_goes_along_where_the_server_can_keep_it() -> None:
    _, seen = await call_server(CHAT, Generate(turns=TURNS, schema=CLOSED))
    sent = seen[0].data["response_format"]
    assert sent == {"type": "json_schema", "json_schema": {"name": "answer", "schema": CLOSED, "strict": True}}
    outcome, seen = await call_server(CHAT, Generate(turns=TURNS, schema=CLOSED), capabilities=(Capability.CHAT,))
    assert isinstance(outcome, TransportFailure)
    assert outcome.cause == "capability"
    assert not seen


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (CLOSED, True),
        ({**CLOSED, "required": []}, False),
        ({**CLOSED, "additionalProperties": True}, False),
        ({"type": "object"}, False),
        ({**CLOSED, "properties": {"answer": {"type": "array", "items": {"type": "object"}}}}, False),
        ({**CLOSED, "properties": {"answer": {"anyOf": [{"type": "string"}, CLOSED]}}}, True),
        ({"type": "string"}, True),
    ],
)
def test_only_a_closed_schema_is_called_strict(schema: Mapping[str, object], strict: bool) -> None:
    sent: Any = response_format(schema)
    assert sent["json_schema"]["strict"] is strict


async def test_a_server_of_unknown_kind_neither_continues_nor_scores() -> None:
    for call in (
        Extend(turns=TURNS, text="6"),
        Extend(turns=TURNS, tokens=(1,)),
        Score(turns=TURNS, continuations=("4",)),
    ):
        outcome, seen = await call_server(CHAT, call)
        assert isinstance(outcome, TransportFailure)
        assert outcome.cause == "capability"
        assert "server" in outcome.problem
        assert not seen


@pytest.mark.parametrize("table", [CAN, CAN_WITHOUT_TEMPLATE])
def test_what_servers_are_said_to_do(table: Mapping[str, frozenset[Capability]]) -> None:
    for server, can in table.items():
        options = OpenAIOptions(
            model="m",
            base_url="http://127.0.0.1:1",
            server=server,  # type: ignore[arg-type]
            template="chat" if table is CAN else "none",
        )
        assert options.can == can
        assert Capability.CACHE_SLOT not in can
    slotted = OpenAIOptions(model="m", base_url="http://x", server="llama.cpp", slots=3)
    assert Capability.CACHE_SLOT in slotted.can


async def test_slots_and_cache_are_asked_for_on_llama_cpp_only() -> None:
    async with hostile(answer(chat())) as server:
        model = OpenAI(OpenAIOptions(model="m", base_url=server.url, server="llama.cpp", slots=2, cache_prompt=False))
        for key in ("vote/ask/ada", "vote/ask/ben", "round/2/ask/ada/3", "ask/eve", "cleo", ""):
            await model.generate(Generate(turns=TURNS, key=key))
        await model.close()
        assert [seen.data["id_slot"] for seen in server.seen] == [0, 1, 0, 0, 1, 0]
        assert all(seen.data["cache_prompt"] is False for seen in server.seen)
    _, seen = await call_server(CHAT, Generate(turns=TURNS, key="ask/ada"), server="vllm", slots=2)
    assert not {"id_slot", "cache_prompt"} & set(seen[0].data)


# --- vLLM


def vllm_choice(ids: list[int] | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "text": "rest", "finish_reason": "length", "stop_reason": None, "token_ids": ids, **more}
    return {"model": "m", "choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}


async def test_vllm_continues_a_begun_message_in_the_chat() -> None:
    ended = {
        "index": 0,
        "finish_reason": "length",
        "message": {"role": "assistant", "content": " is 42"},
        "token_ids": [7, 8],
    }
    outcome, seen = await call_server(
        {"/v1/chat/completions": lambda _data: {"choices": [ended]}},
        Extend(turns=TURNS, text="The answer", max_tokens=2, temperature=0),
        server="vllm",
    )
    sent = seen[0].data
    assert sent["messages"] == [*MESSAGES, {"role": "assistant", "content": "The answer"}]
    assert (sent["continue_final_message"], sent["add_generation_prompt"], sent["return_token_ids"]) == (
        True,
        False,
        True,
    )
    assert outcome == Extended(text=" is 42", tokens=(7, 8), finish="length", model="m", usage=outcome.usage)  # type: ignore[union-attr]


async def test_vllm_begins_a_message_where_nothing_is_written_yet() -> None:
    _, seen = await call_server(CHAT, Extend(turns=TURNS), server="sglang")
    assert seen[0].data["messages"] == MESSAGES
    assert "continue_final_message" not in seen[0].data


async def test_vllm_continues_ids_and_texts_that_a_template_would_trim_by_ids() -> None:
    routes: Routes = {
        "/tokenize": lambda data: {"tokens": [1, 2, 3] if "messages" in data else [50, 51]},
        "/v1/completions": lambda _data: vllm_choice([60, 61]),
    }
    outcome, seen = await call_server(routes, Extend(turns=TURNS, tokens=(90, 91), max_tokens=2), server="vllm")
    assert [one.path for one in seen] == ["/tokenize", "/v1/completions"]
    assert seen[0].data["messages"] == MESSAGES
    assert seen[0].data["add_generation_prompt"] is True
    assert seen[1].data["prompt"] == [1, 2, 3, 90, 91]
    assert isinstance(outcome, Extended)
    assert (outcome.text, outcome.tokens) == ("rest", (60, 61))
    _, seen = await call_server(routes, Extend(turns=TURNS, text="ends in ", max_tokens=2), server="vllm")
    assert seen[1].data == {"model": "m", "prompt": "ends in ", "add_special_tokens": False}
    assert seen[2].data["prompt"] == [1, 2, 3, 50, 51]


@pytest.mark.parametrize(
    ("finish", "reason", "tokens"),
    [("length", None, (60, 61)), ("stop", None, (60,)), ("stop", 2, (60,)), ("stop", "END", None)],
)
async def test_ids_stand_for_the_text_and_not_for_its_end(
    finish: str, reason: object, tokens: tuple[int, ...] | None
) -> None:
    routes: Routes = {
        "/tokenize": lambda _data: {"tokens": [1]},
        "/v1/completions": lambda _data: vllm_choice([60, 61], finish_reason=finish, stop_reason=reason),
    }
    outcome, _ = await call_server(routes, Extend(turns=TURNS, tokens=(), max_tokens=2), server="vllm")
    assert isinstance(outcome, Extended)
    assert outcome.tokens == tokens


async def test_the_prompt_of_the_same_turns_is_rendered_once() -> None:
    routes: Routes = {
        "/tokenize": lambda _data: {"tokens": [1, 2]},
        "/v1/completions": lambda _data: vllm_choice([3]),
    }
    async with hostile(by_path(routes)) as server:
        model = OpenAI(OpenAIOptions(model="m", base_url=server.url, server="vllm"))
        for number in range(5):
            await model.extend(Extend(turns=TURNS, tokens=(number,)))
        await model.close()
        assert server.paths.count("/tokenize") == 1


def prompt_entries(ids: list[int]) -> list[Any]:
    return [None, *({str(one): {"logprob": -one / 100, "rank": 1}, "7": {"logprob": -0.5}} for one in ids[1:])]


async def test_vllm_scores_all_continuations_in_one_request() -> None:
    def tokenize(data: Any) -> object:
        return {"tokens": [1, 2, 3] if "messages" in data else [len(data["prompt"]), 100]}

    def complete(data: Any) -> object:
        choices = [
            {"index": index, "text": "x", "finish_reason": "length", "prompt_logprobs": prompt_entries(ids)}
            for index, ids in enumerate(data["prompt"])
        ]
        return {"choices": choices[::-1], "usage": {"prompt_tokens": 10, "completion_tokens": 2}}

    routes: Routes = {"/tokenize": tokenize, "/v1/completions": complete}
    outcome, seen = await call_server(routes, Score(turns=TURNS, continuations=("yes", "", "maybe")), server="vllm")
    assert isinstance(outcome, Scores)
    assert outcome.logprobs == pytest.approx((-0.03 - 1.0, 0.0, -0.05 - 1.0))
    assert outcome.lengths == (2, 0, 2)
    assert seen[-1].data["prompt"] == [[1, 2, 3, 3, 100], [1, 2, 3, 5, 100]]
    assert sum(one.path == "/v1/completions" for one in seen) == 1


@pytest.mark.parametrize(("more", "begun"), [({"text": "so far"}, [6, 100]), ({"tokens": (9, 8)}, [9, 8])])
async def test_vllm_scores_what_might_come_next_of_an_answer_that_has_begun(
    more: dict[str, Any], begun: list[int]
) -> None:
    def tokenize(data: Any) -> object:
        assert data.get("add_special_tokens") is (None if "messages" in data else False)
        return {"tokens": [1, 2, 3] if "messages" in data else [len(data["prompt"]), 100]}

    def complete(data: Any) -> object:
        choices = [
            {"index": index, "text": "x", "finish_reason": "length", "prompt_logprobs": prompt_entries(ids)}
            for index, ids in enumerate(data["prompt"])
        ]
        return {"choices": choices, "usage": {"prompt_tokens": 10, "completion_tokens": 2}}

    routes: Routes = {"/tokenize": tokenize, "/v1/completions": complete}
    outcome, seen = await call_server(routes, Score(turns=TURNS, continuations=("yes",), **more), server="vllm")
    assert isinstance(outcome, Scores)
    assert outcome.logprobs == pytest.approx((-0.03 - 1.0,)), "the begun part is not scored"
    assert outcome.lengths == (2,)
    assert seen[-1].data["prompt"] == [[1, 2, 3, *begun, 3, 100]]


@pytest.mark.parametrize(
    "choices",
    [
        [{"index": 0, "prompt_logprobs": None}],
        [{"index": 0, "prompt_logprobs": [None]}],
        [{"index": 0, "prompt_logprobs": [None, {"9": {"logprob": -1}}]}],
        [{"index": 0, "prompt_logprobs": [None, {"2": {"logprob": float("nan")}}]}],
        [{"index": 0, "prompt_logprobs": [None, {"2": {"logprob": "-1"}}]}],
        [{"index": 0}, {"index": 1}],
    ],
)
async def test_scores_that_a_server_does_not_give_are_not_made_up(choices: list[Any]) -> None:
    routes: Routes = {
        "/tokenize": lambda data: {"tokens": [1] if "messages" in data else [2]},
        "/v1/completions": lambda _data: {"choices": choices},
    }
    outcome, _ = await call_server(routes, Score(turns=TURNS, continuations=("yes",)), server="vllm")
    assert isinstance(outcome, TransportFailure)
    assert outcome.cause == "capability"


async def test_a_gateway_without_the_tokenizer_is_a_lack_and_says_so() -> None:
    outcome, _ = await call_server({}, Extend(turns=TURNS, tokens=(1,)), server="vllm")
    assert isinstance(outcome, TransportFailure)
    assert (outcome.cause, outcome.status) == ("capability", 404)
    assert "tokenize" in outcome.problem


# --- base models


async def test_a_base_model_reads_its_turns_as_plain_text() -> None:
    routes: Routes = {"/v1/completions": lambda _data: vllm_choice()}
    call = Generate(turns=(Turn("system", "Sums."), Turn("user", "1 + 1 =")), stop=("\n",))
    outcome, seen = await call_server(routes, call, template="none")
    assert isinstance(outcome, Reply)
    assert (outcome.text, outcome.finish) == ("rest", "length")
    assert seen[0].data["prompt"] == "Sums.\n1 + 1 ="
    for server in ("openai", "vllm", "sglang"):
        _, seen = await call_server(
            routes, Extend(turns=call.turns, text=" 2, 1 + 2 ="), template="none", server=server
        )
        assert [one.data["prompt"] for one in seen] == ["Sums.\n1 + 1 = 2, 1 + 2 ="]
    ids: Routes = {**routes, "/tokenize": lambda data: {"tokens": [len(data["prompt"])]}}
    _, seen = await call_server(ids, Extend(turns=call.turns, tokens=(5,)), template="none", server="vllm")
    assert seen[-1].data["prompt"] == [len("Sums.\n1 + 1 ="), 5]
    outcome, seen = await call_server(routes, Extend(turns=call.turns, tokens=(5,)), template="none", server="sglang")
    assert isinstance(outcome, TransportFailure)
    assert not seen


async def test_a_base_model_is_scored_by_its_echo() -> None:
    def echo(data: Any) -> object:
        tokens = [*data["prompt"], "!"]
        numbers = [None, *([-1.0] * (len(tokens) - 1))]
        return {"choices": [{"index": 0, "text": "", "logprobs": {"tokens": tokens, "token_logprobs": numbers}}]}

    outcome, seen = await call_server(
        {"/v1/completions": echo},
        Score(turns=(Turn("user", "1 + 1 ="),), continuations=(" 2", " 11")),
        template="none",
        capabilities=(Capability.LOGPROBS,),
    )
    assert isinstance(outcome, Scores)
    assert (outcome.logprobs, outcome.lengths) == ((-2.0, -3.0), (2, 3))
    assert seen[0].data["echo"] is True


async def test_what_might_come_next_is_scored_by_its_echo_and_ids_are_refused() -> None:
    def echo(data: Any) -> object:
        tokens = [*data["prompt"], "!"]
        numbers = [None, *([-1.0] * (len(tokens) - 1))]
        return {"choices": [{"index": 0, "text": "", "logprobs": {"tokens": tokens, "token_logprobs": numbers}}]}

    async def scored(**more: Any) -> Any:
        call = Score(turns=(Turn("user", "1 + 1 ="),), continuations=("11",), **more)
        can = (Capability.LOGPROBS,)
        return await call_server({"/v1/completions": echo}, call, template="none", capabilities=can)

    outcome, seen = await scored(text=" well, ")
    assert isinstance(outcome, Scores)
    assert (outcome.logprobs, outcome.lengths) == ((-2.0,), (2,))
    assert seen[0].data["prompt"] == "1 + 1 = well, 11"
    refused, seen = await scored(tokens=(1,))
    assert isinstance(refused, TransportFailure)
    assert (refused.cause, seen) == ("capability", [])


async def test_a_server_that_ignores_echo_does_not_score() -> None:
    routes: Routes = {
        "/v1/completions": lambda _data: vllm_choice(logprobs={"tokens": ["x"], "token_logprobs": [-1.0]})
    }
    outcome, _ = await call_server(
        routes, Score(turns=TURNS, continuations=("a",)), template="none", capabilities=(Capability.LOGPROBS,)
    )
    assert isinstance(outcome, TransportFailure)
    assert outcome.cause == "capability"


# --- llama.cpp (the real engine is asked in test_openai_engine.py)


@pytest.mark.parametrize("tokens", [None, [5], [6, 5]])
async def test_scores_of_another_text_than_the_forced_one_are_refused(tokens: list[int] | None) -> None:
    routes: Routes = {
        "/apply-template": lambda _data: {"prompt": "<user>…<assistant>"},
        "/tokenize": lambda data: {"tokens": [1, 2, 5, 6] if data["content"].endswith("yes") else [1, 2]},
        "/completion": lambda _data: {
            "content": "yes",
            "tokens": tokens,
            "stop_type": "limit",
            "completion_probabilities": [{"logprob": -1.0}] * 2,
        },
    }
    outcome, seen = await call_server(routes, Score(turns=TURNS, continuations=("yes",)), server="llama.cpp")
    assert seen[-1].data["grammar"] == "root ::= <[5]> <[6]>"
    assert isinstance(outcome, TransportFailure)
    assert outcome.cause == "capability"


async def test_half_a_character_at_the_limit_is_left_out_of_the_text() -> None:
    routes: Routes = {
        "/apply-template": lambda _data: {"prompt": "p"},
        "/completion": lambda _data: {"content": "caf\ufffd", "tokens": [1, 2], "stop_type": "limit"},
    }
    outcome, _ = await call_server(routes, Extend(turns=TURNS, text="a"), server="llama.cpp")
    assert isinstance(outcome, Extended)
    assert (outcome.text, outcome.tokens) == ("caf", (1, 2))


# --- calls that take several requests

WHOLE: dict[str, Routes] = {
    "vllm": {
        "/tokenize": lambda data: {"tokens": [1, 2] if "messages" in data else [3]},
        "/v1/completions": lambda data: {
            "choices": [
                {
                    "index": 0,
                    "text": "x",
                    "finish_reason": "length",
                    "token_ids": [4],
                    "prompt_logprobs": prompt_entries([1, 2, 3]),
                }
            ]
            * (len(data["prompt"]) if isinstance(data["prompt"][0], list) else 1)
        },
    },
    "llama.cpp": {
        "/apply-template": lambda _data: {"prompt": "p"},
        "/tokenize": lambda data: {"tokens": [1, 2, 3] if len(data["content"]) > 1 else [1, 2]},
        "/completion": lambda _data: {
            "content": "x",
            "tokens": [3],
            "stop_type": "limit",
            "completion_probabilities": [{"logprob": -1.0}],
        },
    },
}
MANY: list[tuple[str, Extend | Score, int]] = [
    ("vllm", Extend(turns=TURNS, tokens=(3,)), 2),
    ("vllm", Extend(turns=TURNS, text="a "), 3),
    ("vllm", Score(turns=TURNS, continuations=("b", "c")), 4),
    ("vllm", Score(turns=TURNS, continuations=("",)), 1),
    ("llama.cpp", Extend(turns=TURNS, text="a"), 2),
    ("llama.cpp", Score(turns=TURNS, continuations=("b", "c")), 6),
    ("llama.cpp", Score(turns=TURNS, continuations=("",)), 2),
]
BROKEN: list[Act] = [
    answer({"error": "gone"}, status=500),
    answer({"error": "what is that"}, status=400),
    answer([]),
    answer({}),
    hang_up,
]


@pytest.mark.parametrize(("server", "call", "requests"), MANY)
async def test_one_failed_request_is_the_failure_of_the_whole_call(
    server: str, call: Extend | Score, requests: int
) -> None:
    fine = by_path(WHOLE[server])
    for bad in BROKEN:
        for broken in range(requests + 1):
            async with hostile(*[fine] * broken, bad, fine) as running:
                model = OpenAI(OpenAIOptions(model="m", base_url=running.url, server=server))  # type: ignore[arg-type]
                outcome = await (model.extend(call) if isinstance(call, Extend) else model.score(call))
                await model.close()
                if broken < requests:
                    assert isinstance(outcome, TransportFailure), (broken, outcome)
                    assert len(running.seen) == broken + 1
                else:
                    assert isinstance(outcome, Extended | Scores), outcome
                    assert len(running.seen) == requests


# --- options


@pytest.mark.parametrize(
    "wrong",
    [
        {"base_url": "localhost:8000/v1"},
        {"base_url": "ftp://host/v1"},
        {"base_url": "http://"},
        {"base_url": "http://[::1/v1"},
        {"base_url": "http://host:99999/v1"},
        {"base_url": "http://user:canary-pass@host/v1"},
        {"base_url": "http://host/v1?api_key=canary-pass"},
        {"base_url": "https//user:canary-pass@host/v1"},
        {"api_key_env": "NOT_SET_ANYWHERE"},
        {"key_header": "Authorization: Bearer canary\r\nX"},
        {"key_header": ""},
        {"model": ""},
        {"timeout_s": 0},
        {"concurrency": 0},
        {"tries": 0},
        {"extra": {"messages": []}},
        {"omit": ("model",)},
        {"extra": {"nested": {"api_key": "canary-pass"}}},
        {"extra": {"user": "sk-canarypass0123456789"}},
    ],
)
def test_wrong_options_are_refused_in_a_sentence_without_the_key(wrong: dict[str, Any]) -> None:
    with pytest.raises(SpecError) as caught:
        OpenAI(OpenAIOptions(**{"model": "m", "base_url": "http://127.0.0.1:1/v1", **wrong}))
    assert caught.value.next_step
    assert "canary" not in str(caught.value)
