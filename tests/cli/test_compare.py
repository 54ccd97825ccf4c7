"""fabula compare and fabula score --ci as a user types them."""

import json

import pytest

from tests.cli.conftest import PREDS, REFS

SODA_D = ("--metrics", "SODA_d")


@pytest.fixture
def worse(tmp_path):
    """A second system, off by some seconds, and enough videos to tell."""
    refs = {f"v{i}": REFS["v_a"] for i in range(60)}
    good = {f"v{i}": PREDS["results"]["v_a"] for i in range(60)}
    bad = {
        v: [{**e, "timestamp": [e["timestamp"][0] + 2 + i % 3, e["timestamp"][1] + 2]} for e in events]
        for i, (v, events) in enumerate(good.items())
    }
    for name, content in {"many.json": refs, "a.json": {"results": good}, "b_&.json": {"results": bad}}.items():
        (tmp_path / name).write_text(json.dumps(content))


def test_ci_fills_the_json(fabula, tmp_path, worse):
    ran = fabula("score", "b_&.json", "--refs", "many.json", *SODA_D, "--ci", "--resamples", 500, "--json", "out.json")
    assert ran.code == 0, ran.err
    score = json.loads((tmp_path / "out.json").read_text())["scores"]["SODA_d"]
    low, high = score["ci"]
    assert low < score["value"] < high and score["signature"].endswith("|ci:bca-0.95-500-seed0")
    assert score["ci_method"] == "bca"
    lines = [line.split("\t") for line in ran.out.splitlines()]
    assert {"f1.low": f"{low * 100:.4f}", "f1.high": f"{high * 100:.4f}"}.items() <= {x[1]: x[2] for x in lines}.items()


def test_ci_says_how_and_the_seed_decides(fabula, worse):
    ask = ("score", "b_&.json", "--refs", "many.json", *SODA_D, "--ci", "--resamples", 200, "--method", "percentile")
    one, same, other = (fabula(*ask, "--seed", seed).out for seed in (1, 1, 2))
    assert one == same != other and "|ci:percentile-0.95-200-seed1" in one
    ran = fabula(*ask, "--level", 95)
    assert ran.code == 2 and "between 0 and 1" in ran.err


def test_compare_plain(fabula, worse):
    ran = fabula("compare", "a.json", "b_&.json", "--refs", "many.json", *SODA_D, "--resamples", 500)
    assert ran.code == 0, ran.err
    head, line, _, duels, duel, _, how = ran.out.splitlines()
    assert head == "metric\ta: a\tb: b_&"
    assert line.startswith("SODA_d\t80.00 [7")  # all videos alike say little of others
    assert duels.split("\t")[:2] == ["metric", "difference"] and duel.startswith("SODA_d\tb_& − a\t-")
    assert duel.endswith("\t0.0020\t0.0020\t*")  # 1/501
    assert how.startswith("approximate randomisation|resamples:500|seed:0|ci:bca+bounded-0.95|correction:holm")


def test_compare_json_and_bootstrap(fabula, worse):
    ran = fabula(
        "compare", "a.json", "b_&.json", "--refs", "many.json", *SODA_D, "--test", "bootstrap", "--resamples", 500,
        "--json", "-", "--names", "ours,theirs",
    )  # fmt: skip
    seen = json.loads(ran.out)
    assert seen["systems"] == ["ours", "theirs"] and seen["test"] == "bootstrap" and seen["videos"] == 60
    (duel,) = seen["metrics"]["SODA_d"]["differences"]
    assert duel["a"] == "ours" and duel["ci"][0] < duel["delta"] < duel["ci"][1] < 0 and duel["p"] == 1 / 501


def test_compare_latex_and_markdown_escape(fabula, worse):
    ask = ("compare", "a.json", "b_&.json", "--refs", "many.json", *SODA_D, "--resamples", 100)
    latex = fabula(*ask, "--latex").out
    assert r"\begin{tabular}{lrr}" in latex and r"b\_\&$^{b}$" in latex and r"SODA\_d & \textbf{80.00}$^{b}$" in latex
    assert "% SODA_d: SODA_d(refs=mean" in latex
    markdown = fabula(*ask, "--markdown").out
    assert r"| metric | a: a | b: b\_& |" in markdown and "**80.00** <sup>b</sup>" in markdown


def test_compare_latex_and_markdown_go_into_files(fabula, worse, tmp_path):
    files = ("a.json", "b_&.json")
    ask = ("--refs", "many.json", *SODA_D, "--resamples", 100)
    plain, printed = fabula("compare", *files, *ask).out, fabula("compare", *files, *ask, "--latex").out
    ran = fabula("compare", *files, *ask, "--latex", "t.tex", "--markdown", "t.md", "--json", "t.json")
    assert ran.code == 0 and ran.out == plain and (tmp_path / "t.tex").read_text() == printed
    assert "| metric | a: a |" in (tmp_path / "t.md").read_text() and (tmp_path / "t.json").is_file()
    assert fabula("compare", "--latex", *files, *ask).out == printed  # a system behind the flag is no file to write
    assert "cannot be written" in fabula("compare", *files, *ask, "--latex", "none/t.tex").err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("compare", "preds.json", "--refs", "refs.json"), "two or more"),
        (("compare", "preds.json", "preds.json", "--refs", "refs.json"), "twice"),
        (("compare", "preds.json", "refs.json", "--refs", "refs.json", "--names", "a"), "--names"),
        (("compare", "preds.json", "refs.json", "--refs", "refs.json", "--names", "a,a"), "stands twice"),
        (("compare", "preds.json", "refs.json", "--refs", "refs.json", "--names", ",b"), "a name is empty"),
        (("compare", "preds.json", "refs.json", "--refs", "refs.json", "--latex", "--markdown"), "say one of them"),
        (("compare", "preds.json", "refs.json", "--refs", "refs.json", "--alpha", "7"), "alpha 7; it must lie"),
        (("compare", "preds.json", "refs.json", "--refs", "refs.json", "--alpha", "nan"), "alpha nan"),
        (("compare", "preds.json", "refs.json", "--refs", "refs.json", "--test", "t"), "randomisation"),
        (("compare", "preds.json", "nothing.json", "--refs", "refs.json", *SODA_D), "no such file"),
    ],
)
def test_a_mistake_costs_one_line(fabula, arguments, said):
    ran = fabula(*arguments)
    assert ran.code == 2 and said in ran.err and "Traceback" not in ran.err
