"""What an import may load: the light core stays light."""

import subprocess
import sys

import pytest

HEAVY = {"torch", "scipy", "pandas", "pyarrow", "ray", "matplotlib", "hypothesis", "pytest"}


def loaded(code: str) -> set[str]:
    """The top-level packages a fresh interpreter has loaded after this code."""
    seen = f"{code}\nimport sys\nprint(*sorted({{m.partition('.')[0] for m in sys.modules}}))"
    run = subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, check=True, timeout=60)
    return set(run.stdout.split())


def test_import_fabula_is_next_to_nothing():
    assert not loaded("import fabula") & (HEAVY | {"numpy", "rich", "click"})


@pytest.mark.parametrize(
    "code",
    [
        "import fabula.verbs.scoring.score, fabula.verbs.scoring.compare",
        "import fabula, fabula.learn.options, fabula.verbs.training.simulate; fabula.train; fabula.predict",
        "import fabula; fabula.diagnose; fabula.stress; fabula.lint; fabula.convert; fabula.parse; fabula.baseline",
        "import fabula.match",
        "import fabula.io",
        "import fabula.benchmarks; list(fabula.benchmarks.room.all())",
        "import fabula; fabula.metric('SODA_c'); fabula.score; fabula.uniform",
    ],
)
def test_the_library_loads_numpy_and_little_else(code):
    assert not loaded(code) & (HEAVY | {"rich", "click"})


def test_the_command_line_stays_light():
    assert not loaded("import fabula.verbs.command_line") & HEAVY
    code = (
        "import importlib as i, fabula.verbs.command_line as c\nlist(map(i.import_module, c.find_modules().values()))"
    )
    assert not loaded(code) & HEAVY


def test_scoring_loads_no_extra():
    code = (
        "import fabula\n"
        "from fabula.data.stories import Corpus, Event, Segment, Story\n"
        "story = Corpus({'v': Story('v', (Event(Segment(0, 1)),))})\n"
        "assert fabula.score(story, story)['SODA_d'].value == 1\n"
    )
    assert not loaded(code) & (HEAVY | {"rich", "click"})
