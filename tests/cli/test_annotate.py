"""fabula annotate, as a user types it."""

import json

import pytest

pytest.importorskip("httpx", reason="the extra llm is not installed")

from tests.annotate.toys import write_moments


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
