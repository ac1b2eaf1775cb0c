"""The embedded local model: a GGUF file, no key, no server to set up, no network.

``load("qwen2.5-coder-0.5b")`` or ``load("path/to/model.gguf")``. The engine is llama.cpp's server (package
``xllamacpp``, extra ``local``) in a process of its own on this machine, started at the first call and shared by all
models of this process with the same file and settings. Calls go to it as token ids, so that no text can turn into a
control token (:mod:`dissensus.agents.llama_prompt`). A continuation that names its stream, a text that agents write
together, goes to a second process, which keeps what each of them has read (:mod:`dissensus.agents.llama_streams`).

Sampling at temperature above 0 follows llama.cpp's habit (``top_k`` 40, ``top_p`` 0.95, ``min_p`` 0.05), written down
here so that another build cannot change it. Log-probabilities are those of the model itself, before any of that.

The same seed gives the same text if the calls beside it are the same too: a call's numbers depend in the last digits
on what shares a batch with it.
"""

from __future__ import annotations

import importlib.util
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from dissensus.agents.catalogue import Located, locate
from dissensus.agents.llama_client import CallFailed, Client, total
from dissensus.agents.llama_continue import StreamEngine
from dissensus.agents.llama_engine import Engine, EngineDied, EngineSettings, StreamSettings, release, share
from dissensus.agents.llama_gguf import read_header
from dissensus.agents.llama_prompt import Prompter
from dissensus.agents.llama_score import Scored, score_text
from dissensus.agents.registry import read_options
from dissensus.errors import MissingExtra, ModelNotFound, SpecError
from dissensus.script.calls import Capabilities, Capability, Extend, Generate, Score
from dissensus.script.outcomes import Extended, Invalid, Outcome, Reply, Scores, TransportFailure, Usage

Tell = Callable[[str], None]
_log = logging.getLogger("dissensus.agents")
MOST_STREAMS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a user may set.

    Args:
        slots: calls worked on side by side; more wait. Each has a context of its own in memory.
        context: tokens of prompt and answer together; 0 is 4096, or what the model was made for if that is less.
        threads: threads of the engine; 0 counts idle physical cores at start (or ``DISSENSUS_LLAMA_THREADS``).
        flash_attention: whether the engine uses it; None leaves it to the engine.
        chat_template: a Jinja template in place of the model's own.
        gpu_layers: layers on a GPU where the engine was built for one; -1 for all that fit.
        top_k: sampling is among this many most likely tokens; 0 for all.
        top_p: sampling is among the most likely tokens that make up this much probability.
        min_p: sampling leaves out tokens less likely than this share of the most likely one.
        streams: texts under way at the same time, each as one agent reads it; the one used longest ago makes room.
        ingest: how agents read what others write: at the ``handover``, in ``lockstep`` with it, or as ``auto`` finds
            cheaper when it starts.
    """

    slots: int = 6
    context: int = 0
    threads: int = 0
    flash_attention: bool | None = None
    chat_template: str = ""
    gpu_layers: int = -1
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    streams: int = 64
    ingest: Literal["handover", "lockstep", "auto"] = "handover"


def load(reference: str, *, tell: Tell = _log.info, **options: Any) -> Llama:
    """The local model ``reference``: a name of the catalogue, or the path of a GGUF file.

    The engine is not started yet: that happens at the first call. ``tell`` is called, from a thread, with a line when
    loading begins and when it ends; by default the line goes to the log. ``options`` are those of :class:`Options`.

    Raises:
        ModelNotFound: the file is not there, is damaged, or is no chat model.
        SpecError: an option does not exist or has a wrong value.
        MissingExtra: the engine is not installed.
    """
    chosen = read_options(Options, options)
    if chosen.slots < 1 or min(chosen.context, chosen.threads, chosen.top_k, chosen.top_p, chosen.min_p) < 0:
        raise SpecError(
            "An option of the local model is wrong: slots is at least 1, and only gpu_layers may be negative.",
            next_step="Leave it out to take the default.",
        )
    if not 1 <= chosen.streams <= MOST_STREAMS:
        raise SpecError(f"There can be 1 to {MOST_STREAMS} streams.", next_step="Correct the option streams.")
    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingExtra("The embedded local model", extra="local")
    found = locate(reference)
    header = read_header(found.path)
    if not header.chat_template and not chosen.chat_template:
        raise ModelNotFound(
            f"{found.path.name} is a base model without a chat template: it continues texts and cannot be asked.",
            next_step="Take an instruct model, or give a template with the option chat_template.",
        )
    settings = EngineSettings(
        path=str(found.path.resolve()),
        slots=chosen.slots,
        context=chosen.context or min(4096, header.context or 4096),
        threads=chosen.threads,
        flash_attention=chosen.flash_attention,
        chat_template=chosen.chat_template,
        gpu_layers=chosen.gpu_layers,
    )
    streams = StreamSettings(
        path=settings.path,
        streams=chosen.streams,
        context=settings.context,
        threads=chosen.threads,
        flash_attention=chosen.flash_attention,
        gpu_layers=chosen.gpu_layers,
        ingest=chosen.ingest,
    )
    return Llama(found, settings, chosen, header.control_tokens, tell, tokenizer=header.tokenizer, streams=streams)


class Llama:
    """A :class:`~dissensus.agents.model.Model` on this machine, for one event loop at a time. Close it when done."""

    def __init__(
        self,
        found: Located,
        settings: EngineSettings,
        options: Options,
        control: frozenset[int],
        tell: Tell,
        *,
        streams: StreamSettings,
        tokenizer: str = "",
    ) -> None:
        self._found = found
        self._settings = settings
        self._options = options
        self._control = control
        self._tell = tell
        self.tokenizer = tokenizer
        """Digest of the vocabulary in the file."""
        self.streams = StreamEngine(streams, tell, name=self.name, tokenizer=tokenizer)
        """The process that keeps what agents have read of texts that they write together."""
        self._engine: Engine | None = None
        self._client: Client | None = None
        self._prompter: Prompter | None = None
        self._starting: Any = None
        self._loop: object = None

    @property
    def name(self) -> str:
        """``llama:NAME@DIGEST``: the model's name and the first 12 digits of the SHA-256 of its file."""
        return f"llama:{self._found.name}@{self._found.sha256[:12]}"

    @property
    def capabilities(self) -> Capabilities:
        """Everything."""
        return frozenset(Capability)

    async def generate(self, call: Generate) -> Outcome:
        """Chat in, one message out: Reply or a failure."""
        try:
            client, prompter = await self._ready()
            prompt = await prompter.chat(call.turns)
            if call.max_tokens < 1:
                return Reply(
                    text="", finish="length", model=self.name, usage=Usage(tokens_in=len(prompt), tokens_out=0)
                )
            sampling = self._sampling(call.temperature, call.seed, call.stop)
            if call.schema is not None:
                sampling["json_schema"] = call.schema
            done = await client.complete(prompt, max_tokens=call.max_tokens, **sampling)
            text, finish = done.text, done.finish
            kept = self._before_control(done.tokens)
            if len(kept) < len(done.tokens) and done.finish != "stop":
                # it went on after the end of its turn, with a turn of somebody else
                text = (await client.post("/detokenize", {"tokens": kept}))["content"]
                finish = "stop"
            text = _whole(text, finish)
        except CallFailed as failed:
            return failed.outcome
        if call.schema is not None and finish == "stop" and not _is_json(text):
            # the engine ignores a schema that it cannot compile and then answers freely
            return Invalid(
                problem="the reply is no JSON: the engine did not keep to the schema", text=text, usage=done.usage
            )
        return Reply(text=text, finish=finish, model=self.name, usage=done.usage)

    async def extend(self, call: Extend) -> Outcome:
        """Text or token ids in, at most ``max_tokens`` more out: Extended or a failure.

        ``tokens`` counts where both are given. The end of a turn is no part of the tokens that come back.
        """
        if call.tokens is not None and (wrong := self._control.intersection(call.tokens)):
            problem = f"Token {min(wrong)} steers the chat and cannot be part of a shared text."
            return TransportFailure(problem=problem, cause="other")
        try:
            client, prompter = await self._ready()
            prompt = await prompter.chat(call.turns)
            if call.stream:
                return await self._extend_stream(call, prompter, prompt)
            prompt += call.tokens if call.tokens is not None else await prompter.text(call.text)
            if call.max_tokens < 1:
                return Extended(text="", tokens=(), model=self.name, usage=Usage(tokens_in=len(prompt), tokens_out=0))
            sampling = self._sampling(call.temperature, call.seed, call.stop)
            if call.top_p is not None:
                sampling["top_p"] = call.top_p
            done = await client.complete(prompt, max_tokens=call.max_tokens, probabilities=1, **sampling)
            tokens, finish = self._before_control(done.tokens), done.finish
            text = done.text
            if len(tokens) < len(done.tokens) and finish != "stop":
                text = (await client.post("/detokenize", {"tokens": tokens}))["content"]
                finish = "stop"
            while tokens and call.stop and finish == "stop":
                # a stop text is cut out of the text; cut out the tokens that reach into it
                written = (await client.post("/detokenize", {"tokens": tokens}))["content"]
                if text.startswith(written):
                    break
                tokens = tokens[:-1]
        except CallFailed as failed:
            return failed.outcome
        known = done.logprobs[: len(tokens)]
        complete = tuple(token for token, _ in known) == tokens
        return Extended(
            text=_whole(text, finish),
            tokens=tokens,
            finish=finish,
            logprobs=tuple(logprob for _, logprob in known) if complete else None,
            model=self.name,
            usage=done.usage,
            sampled=done.usage.tokens_out,
            tokenizer=self.tokenizer,
        )

    async def _extend_stream(self, call: Extend, prompter: Prompter, prompt: list[int]) -> Outcome:
        how = {
            "temperature": call.temperature,
            "top_k": self._options.top_k,
            "top_p": self._options.top_p if call.top_p is None else call.top_p,
            "min_p": self._options.min_p,
            "seed": call.seed,
        }
        begun = call.tokens if call.tokens is not None else await prompter.text(call.text)
        outcome = await self.streams.extend(call, prompt, begun, how)
        template = prompter.template(call.turns)
        # a text that is cut into tokens anew may not be what was written
        return replace(
            outcome, template=template, fidelity="token_exact" if call.tokens is not None else "text_prefill"
        )

    async def score(self, call: Score) -> Outcome:
        """Log-probability of each continuation after the chat: Scores or a failure."""
        scored: dict[str, Scored] = {}
        if call.tokens is not None and (wrong := self._control.intersection(call.tokens)):
            problem = f"Token {min(wrong)} steers the chat and cannot be part of a shared text."
            return TransportFailure(problem=problem, cause="other")
        try:
            client, prompter = await self._ready()
            prompt = await prompter.chat(call.turns)
            begun = call.tokens if call.tokens is not None else await prompter.text(call.text)
            if call.stream:
                continuations = [await prompter.text(text) for text in call.continuations]
                return await self.streams.score(call, prompt, begun, continuations)
            prompt += begun
            # one after the other: each finds the prompt in its slot's cache, side by side each would read it anew
            for text in dict.fromkeys(call.continuations):
                scored[text] = await score_text(client, prompter, prompt, text)
        except CallFailed as failed:
            return failed.outcome
        return Scores(
            logprobs=tuple(scored[text].logprob for text in call.continuations),
            lengths=tuple(scored[text].length for text in call.continuations),
            model=self.name,
            usage=total([one.usage for one in scored.values()]),
        )

    async def close(self) -> None:
        """Let go of the engine; it ends with its last user. Safe to call twice."""
        import anyio

        engine, client = self._engine, self._client
        self._engine = self._client = self._prompter = None
        with anyio.CancelScope(shield=True):
            if client is not None:
                await client.close()
            await self.streams.close()
            if engine is not None:
                await anyio.to_thread.run_sync(release, engine)

    async def forget(self, prefix: str) -> None:
        """Free the streams whose names begin with ``prefix``: nobody goes on with them."""
        try:
            await self.streams.forget(prefix)
        except CallFailed as failed:
            _log.debug("streams were not freed: %s", failed)

    async def _ready(self) -> tuple[Client, Prompter]:
        """The engine, started if it does not run (any more), and a client for this event loop. Raises CallFailed."""
        import anyio

        loop = anyio.lowlevel.current_token()
        if loop != self._loop:
            # what belonged to another loop is let go of; it holds no open connection between calls
            self._loop, self._client, self._prompter, self._starting = loop, None, None, anyio.Lock()
        async with self._starting:
            if self._engine is None:
                self._engine = share(self._settings)
            engine = self._engine
            if engine.pid is None or not engine.address:
                try:
                    await anyio.to_thread.run_sync(engine.start, self._tell, abandon_on_cancel=True)
                except EngineDied as died:
                    raise CallFailed(TransportFailure(problem=str(died), cause="crashed")) from died
            if self._client is None or self._prompter is None or self._client.address != engine.address:
                self._client = Client(engine)
                self._prompter = Prompter(self._client.post)
            return self._client, self._prompter

    def _sampling(self, temperature: float, seed: int, stop: tuple[str, ...]) -> dict[str, Any]:
        options = self._options
        return {
            "temperature": temperature,
            "seed": seed,
            "stop": list(stop),
            "top_k": options.top_k,
            "top_p": options.top_p,
            "min_p": options.min_p,
        }

    def _before_control(self, tokens: tuple[int, ...]) -> tuple[int, ...]:
        """The tokens before the first that steers the chat, such as the end of the turn."""
        for place, token in enumerate(tokens):
            if token in self._control:
                return tokens[:place]
        return tokens


def _whole(text: str, finish: str) -> str:
    """The text without the beginning of a character that the length limit cut in two."""
    return text.rstrip("\ufffd") if finish == "length" else text


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
