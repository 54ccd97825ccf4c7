"""Other packages: the one of docs/adding-a-metric.md is built, installed and used; broken ones cost one line each."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import fabula
from fabula import demo
from fabula.core.errors import FabulaError, SpecError
from fabula.metrics import metric, room
from fabula.verbs.command_line import fabula as command

PAGE = Path(__file__).parents[1] / "docs" / "adding-a-metric.md"
REFS = list(demo.REFERENCES.values())
GOOD, OVER = demo.SYSTEMS["good"], demo.SYSTEMS["over_segmenting"]


def files_of_page() -> dict[str, str]:
    """The three files: two under their names, the third is the metric on top of the page."""
    text = PAGE.read_text(encoding="utf-8")
    found = dict(re.findall(r"`([\w/.]+\.(?:py|toml))`:\n\n```\w+\n(.*?)```", text, flags=re.S))
    metric = re.search(r"```python\n(.*?)```", text, flags=re.S)
    assert metric is not None and "`count_metrics/count_match.py`, the file above word for word" in text
    return {**found, "count_metrics/count_match.py": metric.group(1)}


def put(site: Path, name: str, points: str, **modules: str) -> None:
    """A package as pip would install it."""
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)
    for module, source in modules.items():
        (site / f"{module}.py").write_text(source)


def invoke(*args: object):
    done = CliRunner().invoke(command, list(map(str, args)))
    if isinstance(done.exception, FabulaError):
        raise done.exception
    return done


# -- the package of the page -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """Built and installed by pip, without an index."""
    for module in ("pip", "setuptools"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    if not PAGE.exists():
        pytest.skip("docs/ is not beside the package: not a checkout")
    source, site = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    files = files_of_page()
    assert set(files) == {"pyproject.toml", "count_metrics/__init__.py", "count_metrics/count_match.py"}
    for name, text in files.items():
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_text(text, encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]
    done = subprocess.run(
        [*pip, "--no-build-isolation", "--target", site, source], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return site


@pytest.fixture
def run(installed, tmp_path):
    """fabula in a process that finds the package."""

    def call(*args: object) -> str:
        env = {**os.environ, "PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "fabula", *map(str, args)]
        done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def test_it_is_listed_with_its_package(run):
    (line,) = [line for line in run("list", "metrics").splitlines() if line.startswith("CountMatch")]
    assert "yourself, this year" in line and "[count-metrics 1.0]" in line


def test_it_scores_with_an_interval_and_appears_in_the_page(run, tmp_path):
    run("score", GOOD, "--refs", *REFS, "-m", "CountMatch(refs=best),SODA_d", "--ci", "--json", "r.json",
        "--html", "r.html")  # fmt: skip
    found = json.loads((tmp_path / "r.json").read_text())["scores"]["CountMatch"]
    low, high = found["ci"]
    assert low < found["value"] < high and found["signature"].startswith("CountMatch(refs=best,")
    assert "CountMatch" in (tmp_path / "r.html").read_text()
    # by hand: the ratio of the numbers of events, the better of the two annotators, the mean over videos
    refs, preds = [fabula.read(path)[0] for path in REFS], fabula.read(GOOD)[0]
    videos = {video for ref in refs for video in ref}

    def ratio(ref, video):
        a, b = len(ref[video]), len(preds[video])
        return min(a, b) / max(a, b)

    best = [max(ratio(ref, v) for ref in refs if v in ref) for v in videos]
    assert found["value"] == pytest.approx(sum(best) / len(best))


def test_it_compares_and_explains(run, tmp_path):
    run("compare", GOOD, OVER, "--refs", *REFS, "-m", "CountMatch", "--json", "c.json")
    told = (tmp_path / "c.json").read_text()
    assert "CountMatch" in told and '"p' in told
    assert "CountMatch" in run("diagnose", OVER, "--refs", *REFS, "-m", "CountMatch", "--resamples", "20")
    assert "CountMatch" in run("score", GOOD, "--refs", *REFS, "-m", "CountMatch", "--work", "w")  # shard by shard


def test_it_is_not_in_tables_that_did_not_ask(run):
    assert "CountMatch" not in run("score", GOOD, "--refs", *REFS, "--task", "procedure")


# -- an instance, without any package ----------------------------------------------------------------------------------

SCRIPT = """
import sys
import fabula
from fabula import demo
{metric}
if __name__ == "__main__":
    refs, (good, over, *_) = list(demo.REFERENCES.values()), demo.SYSTEMS.values()
    mine = Metric(refs="best")
    result = fabula.score(good, refs, metrics=["SODA_d", mine], ci=True)
    low, high = result["CountMatch"].ci["value"]
    assert low < result["CountMatch"].value < high
    assert "CountMatch" in str(fabula.compare([good, over], refs, metrics=[mine], resamples=50))
    assert "CountMatch" in str(fabula.diagnose(over, refs, metric=mine, resamples=20))
    from fabula.report.pages import make_page
    assert "CountMatch" in make_page([result], [good])
    for more in {engines}:
        other = fabula.score(good, refs, metrics=[mine], **more)
        assert other["CountMatch"].value == result["CountMatch"].value, more
"""


@pytest.mark.parametrize("engine", ["local", pytest.param("ray", marks=pytest.mark.slow)])
def test_an_instance_of_ones_own(tmp_path, engine):
    """Of a class in a script, which no worker could import."""
    engines = [{"work": str(tmp_path / "work")}]
    if engine == "ray":
        pytest.importorskip("ray", reason="ray is not installed: pip install 'fabula[ray]'")
        engines = [{"engine": "ray"}]
    source = files_of_page()["count_metrics/count_match.py"].replace("from __future__ import annotations", "")
    (tmp_path / "mine.py").write_text(SCRIPT.format(metric=source, engines=engines))
    done = subprocess.run(
        [sys.executable, "mine.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]


# -- what is broken ----------------------------------------------------------------------------------------------------

BROKEN = """
[fabula.metrics]
NoModule = nowhere:Metric
NoName = broken_things:Nothing
Raises = broken_raises:Metric
Exits = broken_exits:Metric
Ends = broken_ends:Metric
Number = broken_things:NUMBER
Bare = broken_things:Bare
Other = broken_things:Named
SODA_c = broken_things:Named
[fabula.protocols]
nothing = broken_things:NUMBER
[fabula.formats]
nothing = broken_things:NUMBER
empty = broken_things:EMPTY
[fabula.scorers]
nothing = broken_things:NUMBER
[fabula.extractors]
nothing = broken_things:NUMBER
[fabula.tasks]
nothing = broken_things:NUMBER
[fabula.readers]
nothing = broken_things:NUMBER
deaf = broken_things:DEAF
"""
THINGS = """
from dataclasses import dataclass
from typing import ClassVar
from fabula.io import Format
from fabula.metrics import Metric
from fabula.metrics.stories import StoryMetric
from fabula.io.answers.readers import Reader
NUMBER = 7
DEAF = Reader(name="deaf", about="", read=None)
EMPTY = Format(name="empty", about="", holds="either", tasks=("dense",))
class Bare(Metric):
    name = "Bare"
@dataclass(frozen=True, kw_only=True)
class Named(StoryMetric):
    name: ClassVar[str] = "AnotherName"
    def unit(self, ref, pred, ctx):
        return {"value": 0.0}
"""


@pytest.fixture
def broken(tmp_path, monkeypatch) -> Path:
    site = tmp_path / "site"
    modules = {"broken_things": THINGS, "broken_raises": "1 / 0", "broken_exits": "import sys; sys.exit(3)"}
    modules["broken_ends"] = "class End(BaseException): ...\nraise End"
    put(site, "broken", BROKEN, **modules)
    monkeypatch.syspath_prepend(str(site))
    yield site
    for name in modules:
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("NoModule", "ModuleNotFoundError"),
        ("NoName", "AttributeError"),
        ("Raises", "ZeroDivisionError"),
        ("Exits", "SystemExit"),
        ("Ends", "End"),
        ("Number", "leads to an object of type int, where a metric is a class on top of fabula.metrics.base.Metric"),
        ("Bare", "reads '', which is none of stories, captions"),
        ("Other", "calls itself 'AnotherName'"),
    ],
)
def test_a_broken_metric_costs_one_line(broken, name, problem):
    with pytest.raises(SpecError) as error:
        metric(name)
    assert problem in str(error.value) and "\n" not in str(error.value)
    assert str(error.value).startswith(f"broken 1.0: the entry point '{name}' of fabula.metrics (")


@pytest.mark.parametrize(
    "what", ["metrics", "protocols", "formats", "scorers", "extractors", "training", "models", "readers"]
)
def test_lists_go_on_without_it(broken, what):
    done = invoke("list", what)
    assert done.exit_code == 0 and len(done.stdout.splitlines()) > 3
    if what != "models":
        assert "broken 1.0" in done.stderr and "Traceback" not in done.output
    for line in done.stderr.splitlines():
        assert line.startswith("fabula: warning: broken 1.0: ")


def test_ours_stays_ours(broken):
    assert metric("SODA_c").__module__ is not None and type(metric("SODA_c")).__module__.startswith("fabula.metrics")
    assert "its metric 'SODA_c' is skipped: Fabula has one of that name" in invoke("list", "metrics").stderr
    assert room.names().count("SODA_c") == 1


def test_scoring_goes_on_without_it(broken):
    done = invoke("score", GOOD, "--refs", REFS[0], "-m", "SODA_d")
    assert done.exit_code == 0 and "broken" not in done.output
    assert invoke("protocols", GOOD, "--refs", REFS[0], "--task", "procedure").exit_code == 0


def test_a_list_of_entry_points_that_cannot_be_read(tmp_path, monkeypatch):
    put(tmp_path, "garbled", "[fabula.metrics]\nthis line has no sign of equality\n")
    put(tmp_path, "sound", "[fabula.metrics]\nAnotherName = sound_thing:Named\n", sound_thing=THINGS)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert metric("AnotherName").name == "AnotherName"
    done = invoke("list", "metrics")
    assert "[sound 1.0]" in done.stdout
    assert "garbled 1.0: its entry points cannot be read" in done.stderr or not done.stderr


def test_two_packages_with_one_name(tmp_path, monkeypatch):
    put(tmp_path, "first", "[fabula.metrics]\nAnotherName = twin_thing:Named\n", twin_thing=THINGS)
    put(tmp_path, "second", "[fabula.metrics]\nanothername = twin_thing:Named\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(SpecError, match=r"'AnotherName' is offered by first 1\.0 and second 1\.0"):
        metric("AnotherName")
    assert "second 1.0: its metric 'anothername' is skipped" in invoke("list", "metrics").stderr


# -- the other doors ---------------------------------------------------------------------------------------------------

OTHERS = '''
"""Things of another package."""
import numpy as np
from fabula.data.stories import Event, Segment, Story
from fabula.io import Format
from fabula.metrics import metric
from fabula.benchmarks import Protocol
from fabula.text import OneByOne

class Letters(OneByOne):
    """Whether two sentences begin with the same letter."""
    name, version = "letters", "1"
    def pairs(self, candidates, references):
        return np.array([[float(c[:1] == r[:1]) for r in references] for c in candidates]).reshape(len(candidates), -1)

SCORER = Letters()
PROTOCOL = Protocol(name="house-rules", task="procedure", paper="us", repository="here", commit="0",
                    metrics=(metric("mIoU"),))
FORMAT = Format(
    name="triples", about="[[video, start, end], …]", holds="either", tasks=("procedure",),
    sniff=lambda head: isinstance(head.document, list) and isinstance(head.document[0], list),
    read_stories=lambda document, source: iter([Story(v, (Event(Segment(a, b)),)) for v, a, b in document]),
)
'''
POINTS = """
[fabula.scorers]
letters = other_things:SCORER
[fabula.protocols]
house-rules = other_things:PROTOCOL
[fabula.formats]
triples = other_things:FORMAT
"""


def test_scorers_protocols_and_formats(tmp_path, monkeypatch):
    put(tmp_path / "site", "others", POINTS, other_things=OTHERS)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    for what, name in (("scorers", "letters"), ("protocols", "house-rules"), ("formats", "triples")):
        (line,) = [line for line in invoke("list", what).stdout.splitlines() if line.startswith(name)]
        assert "[others 1.0]" in line
    assert fabula.score(GOOD, REFS[0], metrics="SODA_c(text=letters)")["SODA_c"].value > 0
    preds, refs = tmp_path / "p.json", tmp_path / "r.json"
    preds.write_text('[["a", 0, 10]]')
    refs.write_text('[["a", 0, 20]]')
    result = fabula.score(preds, refs, protocol="house-rules")  # the format is known by its shape
    assert result["mIoU"].value == 0.5
    assert fabula.score(preds, refs, metrics="mIoU", format="triples")["mIoU"].value == 0.5
    assert "house-rules" in invoke("protocols", preds, "--refs", refs).stdout
    sys.modules.pop("other_things")


def test_names_of_ours_do_not_look_for_packages():
    code = (
        "import sys, fabula\nfrom fabula import demo\n"
        "refs, preds = list(demo.REFERENCES.values()), demo.SYSTEMS['good']\n"
        "fabula.score(preds, refs, metrics='SODA_d,SODA_c(text=exact)')\n"
        "fabula.score(preds, refs, protocol='procnets')\n"
        "assert 'fabula.core.registry' in sys.modules and 'importlib.metadata' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
