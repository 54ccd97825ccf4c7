"""Pages that say what there is, against what there is: result-json.md, stories.md, lint.md, cli.md, python.md."""

import json
import re
from pathlib import Path

import pytest

import fabula
from fabula import checks as checks_room
from fabula import metrics
from fabula.core.spec import choices, hints
from fabula.text import room as scorers
from tests.golden.test_golden import DEMO

DOCS = Path(__file__).parent.parent / "docs"
pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="docs/ is not beside the package: not a checkout")


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


# result-json.md -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made():
    refs = [DEMO / "annotator_1.json", DEMO / "annotator_2.json"]
    return fabula.score(DEMO / "good.json", refs, metrics="SODA_c,mIoU").to_dict()


def test_the_json_of_the_page_is_what_is_written(made):
    told = json.loads(re.search(r"```json\n(.*?)```", page("result-json.md"), re.DOTALL)[1])
    assert list(told) == list(made) and told["counts"] == made["counts"] and told["warnings"] == made["warnings"]
    for name, score in made["scores"].items():
        assert list(told["scores"][name]) == list(score)
        for key, value in score.items():
            said = told["scores"][name][key]
            if isinstance(value, str):  # with … where it is long
                assert re.fullmatch(".*".join(map(re.escape, said.split("…"))), value), key
            else:
                assert said == (value if value is None else round(value, 3)), key


def test_every_key_of_a_result_is_explained(made):
    text = page("result-json.md")
    for key in ("by_type", "by_threshold", *made["counts"], *made, *made["scores"]["mIoU"]):
        assert key in text, key


# stories.md ---------------------------------------------------------------------------------------------------------

ROW = re.compile(r"^\| ((?:`\w+`(?:, )?)+) \| ([^|]*) \| ([^|]*) \|", re.MULTILINE)


def parameters():
    """What the table says: parameter → its values, its default."""
    told = {}
    for names, values, default in ROW.findall(page("stories.md")):
        several = [part.split(" · ") for part in values.strip().split("; ")]
        defaults = [part.strip() for part in default.split(",")]
        for i, name in enumerate(re.findall(r"`(\w+)`", names)):
            told[name] = (several[min(i, len(several) - 1)], defaults[min(i, len(defaults) - 1)])
    return told


def test_parameters_of_stories_are_those_of_the_metrics():
    told, kinds = parameters(), [type(metrics.metric(name)) for name in ("SODA_a", "SODA_b", "SODA_c", "SODA_d")]
    for kind in kinds:
        for name, default in kind.defaults().items():
            if name in ("tiou", "columns"):  # thresholds; how CIDEr's corpus is laid out
                continue
            assert name in told, f"{kind.name} has {name}"
            allowed = choices(hints(kind)[name]) or ([s.name for s in scorers.all()] if name == "text" else None)
            if allowed:
                assert set(told[name][0]) == set(allowed), name
                first = told[name][0][0] if told[name][1].startswith("the first") else told[name][1]
                assert first.startswith(str(default)), name


def test_what_a_copy_scores():
    text = page("stories.md").partition("## A copy of the references scores 1")[2].partition("## ")[0]
    listed = re.search(r"In the default of (.*?)\.", text, re.DOTALL)[1]
    stories, captions = listed.split("; of ")
    names = {m.name for m in metrics.room.all() if not m.perfect_score}
    families = {"SODA_a", *(f"SODA_{x}" for x in "bcd")} if "SODA_a, b, c, d" in stories else set()
    said = families | set(re.findall(r"[A-Za-z]\w+", stories.replace("SODA_a, b, c, d", ""))) - {"and"}
    assert said <= names, said - names
    for name in re.findall(r"\b[A-Z]\w+", captions):
        assert name in names, name
    assert {n for n in names if n.startswith(("SODA", "Para"))} <= said


# lint.md ------------------------------------------------------------------------------------------------------------


def lint_rows():
    for line in page("lint.md").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 4:
            for check in re.findall(r"`([\w-]+)`", cells[0]):
                yield check, cells[1], cells[3]


def all_checks():
    from fabula.checks._check import Check

    found = {check.id: check for check in checks_room.checks()}
    for module in checks_room.kinds.modules():
        file = checks_room.kinds.load(module)
        for kind in file:
            for value in vars(__import__(type(kind).__module__, fromlist=["x"])).values():
                if isinstance(value, tuple) and value and all(isinstance(v, Check) for v in value):
                    found |= {c.id: c for c in value}
    return found


def test_every_check_is_on_the_page_with_its_level():
    checks, told = all_checks(), {name: level for name, level, _ in lint_rows()}
    for name, check in checks.items():
        assert told.get(name) == check.level, name


def test_the_run_on_the_page(tmp_path):
    """The files that the page speaks of, and what it says of them."""
    refs = {
        "v_kite": {"duration": 30.5, "timestamps": [[0, 10]], "sentences": ["A kite rises."]},
        "v_soup": {"duration": 9, "timestamps": [[0, 5]], "sentences": ["Soup."]},
    }
    events = [([0, 5], "a"), ([30, 12], "b"), ([20, 31], "c")]
    preds = {"results": {"v_kite": [{"timestamp": t, "sentence": s} for t, s in events]}}
    (tmp_path / "refs.json").write_text(json.dumps(refs))
    (tmp_path / "preds.json").write_text(json.dumps(preds))
    found = fabula.lint(tmp_path / "preds.json", tmp_path / "refs.json")
    block = re.search(r"\$ fabula lint preds\.json --refs refs\.json\n(.*?)```", page("lint.md"), re.DOTALL)[1]
    told = {line.split()[1]: line for line in block.splitlines() if not line.startswith("fabula:")}
    seen = {f.check: f for f in found.report.findings}
    assert set(told) == {name for name, f in seen.items() if f.level != "info"}
    for name, line in told.items():
        assert line.startswith(seen[name].level) and str(seen[name].places[0]) in line
        assert seen[name].about.startswith(line.rsplit("  ", 1)[1].strip().partition(" …")[0])


def test_rounding_is_no_fault():
    truth = {"v": {"duration": 30.5, "timestamps": [[0, 10], [10, 30.51]], "sentences": ["a", "b"]}}
    late = {"v": {"duration": 30.5, "timestamps": [[0, 10], [10, 30.53]], "sentences": ["a", "b"]}}
    for document, said in ((truth, False), (late, True)):
        text = json.dumps(fabula.lint(document).to_dict())
        assert ("past-duration" in text) == said


# python.md, cli.md --------------------------------------------------------------------------------------------------


def test_every_flag_of_cli_md_exists():
    from fabula.verbs.command_line import fabula as group

    flags = {o for name in group.list_commands(None) for p in group.get_command(None, name).params for o in p.opts}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", page("cli.md"))) - {"--version"} <= flags | {"--help"}


def test_messages_of_python_md_are_those_given():
    """The two faults that the page shows."""
    truth = {"v_1": {"duration": 30, "timestamps": [[0, 10]], "sentences": ["a"]}}
    good = {"timestamp": [0, 1], "sentence": "a"}
    bad = {"results": {"v_1": [good, good, good, {"timestamp": [0, float("nan")], "sentence": "a"}]}}
    pairs = [{"id": f"p_{i}", "cand": "a", "refs": {"a"} if i == 7 else ["a"]} for i in range(9)]
    for preds, refs in ((bad, truth), (pairs, ())):
        with pytest.raises(fabula.FabulaError) as error:
            fabula.score(preds, refs)
        assert str(error.value) in page("python.md")
