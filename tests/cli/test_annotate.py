"""fabula annotate, as a user types it."""

import json

import pytest

pytest.importorskip("httpx", reason="the extra llm is not installed")

from fabula.annotation import fake
from fabula.llm.fake import Server, send, serving
from tests.annotation.toys import write_moments


@pytest.fixture
def moments(tmp_path):
    return write_moments(tmp_path / "m.jsonl", 6).name


def test_from_the_plan_to_the_benchmark(fabula, moments, tmp_path):
    planned = fabula("annotate", "plan", moments, "--price", "1/2", "--blind", "--json", "-")
    assert planned.code == 0 and json.loads(planned.out)["total"]["calls"] == 36
    ran = fabula("annotate", "run", moments, "-s", "s.sqlite", "--blind", "--price", "1/2")
    assert ran.code == 0 and "6 done; 36 calls answered" in ran.err
    again = fabula("annotate", "retry", "-s", "s.sqlite", "--blind", "--empty")
    assert again.code == 0 and "6 done; 0 calls" in again.err
    told = fabula("annotate", "status", "-s", "s.sqlite")
    assert "6 done, 0 pending" in told.out and "static_fuse\t6" in told.out and "cost\t0.0" in told.out
    out = fabula("annotate", "export", "-s", "s.sqlite", "-o", "out", "--layouts", "potato")
    assert out.code == 0 and (tmp_path / "out" / "potato" / "config.yaml").is_file()
    stats = fabula("annotate", "stats", "out/train.jsonl", "--embedder", "hashing", "--words", "6", "--html", "s.html")
    assert stats.code == 0 and "train.jsonl\t6\t6\t5.500" in stats.out and "train.jsonl static" in stats.out
    assert "<svg" in (tmp_path / "s.html").read_text()
    assert fabula("lint", "out/train.jsonl").code == 0


def test_two_models(fabula, moments):
    ran = fabula("annotate", "ab", moments, "-s", "s.sqlite", "--blind", "--model-b", "other", "--sample", 4)
    assert ran.code == 0 and ran.out.startswith("\tdone\tscore") and "b − a\t" in ran.out
    told = fabula("annotate", "status", "-s", "s.sqlite")
    assert "recipes\t" in told.out
    assert "2 recipes" in fabula("annotate", "export", "-s", "s.sqlite", "-o", "out").err


def test_recorded_and_replayed(fabula, moments, tmp_path):
    assert fabula("annotate", "run", moments, "-s", "a", "--blind", "--record", "r.jsonl").code == 0
    assert len((tmp_path / "r.jsonl").read_text().splitlines()) == 36
    assert "6 done" in fabula("annotate", "run", moments, "-s", "b", "--blind", "--replay", "r.jsonl").err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("run", "m.jsonl", "-s", "s"), "--videos"),
        (("run", "none.jsonl", "-s", "s", "--blind"), "no such file"),
        (("run", "-s", "s", "--blind"), "holds no moments"),
        (("run", "m.jsonl", "-s", "m.jsonl", "--blind"), "cannot be used as a store"),
        (("run", "m.jsonl", "-s", "nowhere/s", "--blind"), "cannot be written"),
        (("run", "m.jsonl", "-s", "s", "--blind", "--budget", "1"), "price"),
        (("run", "m.jsonl", "-s", "s", "--blind", "--budget", "-1"), "--budget"),
        (("run", "m.jsonl", "-s", "s", "--blind", "--url", "ftp://x"), "--url"),
        (("run", "m.jsonl", "-s", "s", "--blind", "--replay", "none"), "no such file"),
        (("run", "m.jsonl", "-s", "s", "--videos", "none"), "no such folder"),
        (("run", "m.jsonl", "-s", "s", "--blind", "--prompts", "none"), "no such folder"),
        (("plan", "m.jsonl", "--price", "cheap"), "--price"),
        (("plan", "m.jsonl", "--probe", "3"), "--videos"),
        (("status", "-s", "none"), "no such store"),
        (("status", "-s", "m.jsonl"), "cannot be used as a store"),
        (("stats", "refs.json"), "desc_id"),
        (("stats", "m.jsonl"), "fig_desc"),
        (("stats", "m.jsonl", "--picture"), "--embedder"),
        (("ab", "m.jsonl", "-s", "s", "--blind"), "the same"),
        (("export", "-s", "none", "-o", "out"), "no such store"),
    ],
)
def test_slips_cost_one_line(fabula, moments, tmp_path, arguments, why):
    before = {f.name for f in tmp_path.iterdir()}
    ran = fabula("annotate", *arguments)
    assert ran.code == 2 and why in ran.err and len(ran.err.strip().splitlines()) == 1, ran.err
    assert {f.name for f in tmp_path.iterdir()} <= before | {"s"}


# ── what is left to do is no success ───────────────────────────────────────────────────────────────────────────────


def refusing(status, body=None):
    """An endpoint that answers every call with this."""

    class Refusing(Server):
        async def respond(self, writer, asked, fault, head):
            return await send(writer, status, {"error": {"message": "not today"}} if body is None else body)

    return Refusing()


@pytest.mark.parametrize(
    ("server", "why"),
    [
        (lambda: refusing(400), "refused: 400: not today"),
        (lambda: refusing(204, b""), "refused: 204"),
        (lambda: refusing(200, b"x" * (5 << 20)), "length: a reply of more than 4 MB"),
        (lambda: refusing(200, {"choices": []}), "reply: the reply has no choices"),
        (lambda: Server(models=[{"id": "m", "max_model_len": 1}]), "context: about"),
    ],
)
def test_an_endpoint_that_refuses_every_call_is_no_success(fabula, tmp_path, server, why):
    moments = write_moments(tmp_path / "m.jsonl", 2).name
    with serving(server()) as bad:
        ran = fabula("annotate", "run", moments, "-s", "s", "--blind", "--url", bad.url, "-m", "m", "--retries", 0)
    assert ran.code == 3 and "2 failed; 0 calls answered" in ran.err and why in ran.err, ran.err
    with serving(Server(reply=fake.reply)) as good:
        again = fabula("annotate", "run", "-s", "s", "--blind", "--url", good.url, "--model", "m")
    assert again.code == 0 and "2 done" in again.err


def test_models_that_answer_and_nothing_that_stands_is_empty(fabula, tmp_path):
    moments = write_moments(tmp_path / "m.jsonl", 2).name
    with serving(Server(reply=lambda body: "1. at 0:12\n2. frame 3")) as server:
        ran = fabula("annotate", "run", moments, "-s", "s", "--blind", "--url", server.url, "--model", "m")
    assert ran.code == 0 and "2 empty" in ran.err and "retry --empty" in ran.err


def test_a_budget_that_stops_a_run_is_told_by_its_code(fabula, moments):
    ran = fabula("annotate", "run", moments, "-s", "s", "--blind", "--price", "1/2", "--budget", "0.0001")
    assert ran.code == 3 and "stopped: the budget" in ran.err and "6 moments are left" in ran.err


def test_an_endpoint_without_a_model_says_what_it_offers(fabula, moments):
    with serving(Server(models=[{"id": "small"}, {"id": "large"}, {"id": 7}])) as server:
        ran = fabula("annotate", "run", moments, "-s", "s", "--blind", "--url", server.url)
    assert ran.code == 2 and "say --model; it offers small, large" in ran.err
    ran = fabula("annotate", "run", moments, "-s", "s", "--blind", "--url", "http://127.0.0.1:9/v1")
    assert ran.code == 2 and ran.err.strip().endswith("say --model")


def test_the_fake_endpoint_has_two_spellings(fabula, moments):
    assert fabula("annotate", "run", moments, "-s", "s", "--blind", "--url", "fake").code == 0


def test_retry_needs_no_tries_said_again(fabula, tmp_path):
    moments = write_moments(tmp_path / "m.jsonl", 3).name
    fault = ["refuse"]
    server = Server(reply=fake.reply, fault=lambda n, body: "shape" if fault and "boys" not in str(body) else None)
    shared = ("-s", "s", "--blind", "--model", "m", "--retries", 0)
    with serving(server):
        ran = fabula("annotate", "run", moments, *shared, "--url", server.url, "--tries", 1)
        assert ran.code == 3
        fault.clear()
        again = fabula("annotate", "retry", *shared, "--url", server.url)
    assert again.code == 0 and "3 done" in again.err
    assert len(json.loads(fabula("annotate", "status", "-s", "s", "--json", "-").out)["recipes"]) == 1
