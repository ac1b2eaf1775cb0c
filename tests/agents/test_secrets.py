"""Keys are shown nowhere, in whatever form."""

from __future__ import annotations

import copy
import html
import json
import logging
import pickle
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.agents.secrets import HIDDEN, Secret, hide_keys, looks_like_secret, refuse_secrets
from dissensus.errors import SpecError

VALUE = "sk-canary-0123456789"
printable = st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=40)


def test_its_text_is_its_source() -> None:
    secret = Secret(VALUE, source="a vault")
    for shown in (repr(secret), str(secret), f"{secret}", "%s" % secret, repr([secret]), repr({"key": secret})):  # noqa: UP031
        assert "canary" not in shown
        assert "a vault" in shown
    assert secret.reveal() == VALUE


@pytest.mark.parametrize("write", [pickle.dumps, copy.copy, copy.deepcopy])
def test_it_is_not_written_anywhere(write: object) -> None:
    assert callable(write)
    with pytest.raises(TypeError, match="environment"):
        write(Secret(VALUE, source="a vault"))


@given(printable, st.text(max_size=20), st.text(max_size=20))
def test_no_form_of_it_is_left_in_a_text(value: str, before: str, after: str) -> None:
    secret = Secret(value, source="x")
    for form in (value, quote(value, safe=""), html.escape(value), json.dumps(value)[1:-1], repr(value.encode())[2:-1]):
        hidden = secret.hide(f"{before}{form}{after}")
        if value not in HIDDEN:
            assert value not in hidden.replace(HIDDEN, "\x00")
    assert secret.hide("nothing to see") == "nothing to see" or value in "nothing to see"


def test_keys_in_use_and_in_the_environment_are_hidden_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Secret(VALUE, source="a vault")
    monkeypatch.setenv("OTHER_TOKEN", "canary/9876543210")
    monkeypatch.setenv("SHORT_TOKEN", "on")
    monkeypatch.setenv("PLACE", "in-the-garden")
    text = f"{VALUE} canary/9876543210 {quote('canary/9876543210', safe='')} on in-the-garden"
    assert hide_keys(text) == f"{HIDDEN} {HIDDEN} {HIDDEN} on in-the-garden"
    assert repr(kept) == "<key from a vault>"


def test_placeholders_are_not_taken_out_of_words() -> None:
    assert Secret("none", source="x").hide("none of them") == "none of them"


@pytest.mark.parametrize("value", ["", " \n", "two\nlines-0123456789", "schlüssel-0123456789", "nul\x000123456789"])
def test_a_value_that_no_header_can_carry_is_refused_unseen(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SpecError) as caught:
        Secret(value, source="environment variable K")
    assert "0123456789" not in str(caught.value)
    if "\x00" not in value:
        monkeypatch.setenv("K", value)
        with pytest.raises(SpecError, match="K"):
            Secret.from_env("K")


def test_a_missing_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(SpecError, match="NO_SUCH_KEY") as caught:
        Secret.from_env("NO_SUCH_KEY")
    assert "export" in caught.value.next_step


def test_log_lines_of_the_http_libraries_are_cleaned(caplog: pytest.LogCaptureFixture) -> None:
    secret = Secret(VALUE, source="x")
    caplog.set_level(logging.DEBUG)
    for name in ("httpx2", "httpcore2.http11", "httpcore2.connection", "httpcore2.http2", "httpcore2.proxy"):
        logging.getLogger(name).debug("headers %r and %s", [(b"x-echo", VALUE.encode())], "more")
        logging.getLogger(name).debug("nothing here")
    assert "canary" not in caplog.text
    assert caplog.text.count(HIDDEN) == 5
    assert caplog.text.count("nothing here") == 5
    assert secret.reveal() == VALUE


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("api_key", "anything"),
        ("key", "x"),
        ("openai-api-key", "x"),
        ("access_token", "x"),
        ("password", "x"),
        ("Authorization", "x"),
        ("note", "sk-abcdefghijklmnop1234"),
        ("note", "hf_abcdefghijklmnop1234"),
        ("note", "Bearer abcdefgh1234"),
        ("note", "AKIAIOSFODNN7EXAMPLE"),
    ],
)
def test_what_looks_like_a_key(name: str, value: str) -> None:
    assert looks_like_secret(name, value)
    for nest in ({name: value}, {"a": {name: value}}, {"a": [{"b": {name: value}}]}):
        with pytest.raises(SpecError) as caught:
            refuse_secrets(nest)
        assert value not in str(caught.value).replace(name, "")
        assert "api_key_env" in caught.value.next_step


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("api_key_env", "OPENAI_API_KEY"),
        ("key_header", "Authorization"),
        ("max_tokens", "12"),
        ("max_tokens_field", "max_completion_tokens"),
        ("monkey", "bananas"),
        ("keyboard", "qwerty"),
        ("model", "Qwen/Qwen2.5-7B-Instruct"),
        ("persona", "You guard a secret"),
        ("api_key", ""),
        ("tokens", 5),
    ],
)
def test_what_does_not(name: str, value: object) -> None:
    assert not looks_like_secret(name, value)
    refuse_secrets({name: value})
