"""Options of an endpoint: defaults, both sides of every bound, and one line for each refusal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fabula.core.errors import SpecError
from fabula.llm import EndpointOptions


def test_defaults():
    options = EndpointOptions()
    assert (options.url, options.model, options.key_env, options.concurrency) == ("fake:", "fake", "OPENAI_API_KEY", 8)
    assert (options.rpm, options.tpm, options.timeout, options.retries, options.context) == (None, None, 120.0, 5, None)
    assert (options.price, options.schema, options.record, options.replay, options.prefix) == (
        (),
        "auto",
        None,
        None,
        "",
    )


def test_the_endpoint_that_ships_has_two_spellings():
    assert EndpointOptions(url="fake").url == "fake:" and EndpointOptions(url="fake").is_fake
    assert not EndpointOptions(url="fake").is_local


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:8000/v1", True),
        ("http://localhost/v1", True),
        ("http://[::1]:80/v1", True),
        ("https://api.example.org/v1", False),
        ("http://example.org:65535", False),
    ],
)
def test_addresses(url, local):
    options = EndpointOptions(url=url)
    assert options.url == url and options.is_local is local and not options.is_fake


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"url": "example.org/v1"}, "--url 'example.org/v1'; say http://host:port/v1, https://…, or fake:"),
        ({"url": "http:///v1"}, "--url 'http:///v1'; say http://host:port/v1"),
        ({"url": "http://host:0/v1"}, "--url 'http://host:0/v1'; say"),
        ({"url": "http://host:99999/v1"}, "--url is no address; say http://host:port/v1"),
        ({"url": "http://me@host/v1"}, "--url carries a name, a password or a query; keys come from the environment"),
        ({"url": "http://:word@host/v1"}, "--url carries a name"),
        ({"url": "http://host/v1?a=b"}, "(--key-env)"),
        ({"url": "http://host/v1#part"}, "--url carries a name"),
        ({"url": "ftp://host", "prefix": "judge-"}, "--judge-url 'ftp://host'"),
        ({"url": "http://me@host", "prefix": "judge-"}, "(--judge-key-env)"),
        ({"rpm": 0.0}, "--rpm 0; it must be a positive number"),
        ({"tpm": -2.5, "prefix": "judge-"}, "--judge-tpm -2.5; it must be a positive number"),
        ({"timeout": 1e12}, "--timeout 1e+12; it must be a positive number"),
        ({"timeout": 0.0}, "--timeout 0; it must be a positive number"),
        ({"record": "a", "replay": "b"}, "--record writes answers and --replay reads them; use one of the two"),
        ({"key_env": "9A"}, "--key-env names an environment variable; never put the key itself on a command line"),
        ({"key_env": ""}, "--key-env names an environment variable"),
        ({"key_env": "A-B"}, "--key-env names an environment variable"),
    ],
)
def test_refusals(wrong, told):
    with pytest.raises(SpecError, match=re.escape(told)):
        EndpointOptions(**wrong)


@pytest.mark.parametrize(
    "fine",
    [
        {"rpm": 1e-6, "tpm": 9e11, "timeout": 0.001},
        {"key_env": "_a9"},
        {"record": Path("a")},
        {"replay": Path("b")},
    ],
)
def test_the_last_values_that_are_taken(fine):
    options = EndpointOptions(**fine)
    assert {name: getattr(options, name) for name in fine} == fine


def test_the_key_is_read_without_the_spaces_around_it(monkeypatch):
    monkeypatch.setenv("MY_KEY", "  sk-1 \n")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert EndpointOptions(key_env="MY_KEY").read_key() == "sk-1" and EndpointOptions().read_key() == ""


def test_bounds_of_whole_numbers_on_the_command_line():
    bounds = {o.name: (o.about.at_least, o.about.at_most) for o in EndpointOptions.options()}
    assert {name: both for name, both in bounds.items() if both != (None, None)} == {
        **{"concurrency": (1, 10_000), "retries": (0, 100), "context": (1, None)}
    }


def test_lists_and_files_that_are_written():
    about = {o.name: o.about for o in EndpointOptions.options()}
    assert [name for name, a in about.items() if a.parts] == ["price"]
    assert [name for name, a in about.items() if a.writes] == ["record"]
    assert about["model"].flags == ("-m",)
    assert EndpointOptions(price="1/2, small=3/4").price == ("1/2", "small=3/4")
