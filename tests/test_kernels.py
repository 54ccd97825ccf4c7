"""Which kernels serve (FABULA_KERNELS=python|native|auto), and that both kinds refuse what they cannot use."""

import importlib.util
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import fabula
from fabula import _kernels
from fabula.benchmarks.tvr.predictions import translate_python
from fabula.core import notes
from fabula.core.errors import KernelError
from fabula.diagnosis._assignment import assignment_many_python
from fabula.documents.records.plain import Shape, find_extent_python
from fabula.evaluate.score import announce_twins
from fabula.match import ordered
from fabula.match.ordered import ordered_many_python, ordered_python
from fabula.stats.bootstrap import count_draws_python
from fabula.text.ptb.scanner import Automaton, Rule, Scanner
from fabula.text.rouge import lcs_python
from fabula.text.spice.pcfg import PHRASE, TAG, Grammar, Lexicon
from tests.twins.records import lift_tables_python, scan_records_python

ASK = (
    "import fabula\n"
    "from fabula import _kernels\n"
    "try:\n"
    "    print(fabula.match.ordered([[0, 1], [0.5, 0]]), _kernels.native() is not None)\n"
    "except fabula.FabulaError as error:\n"
    "    print(type(error).__name__, error)\n"
)


def asked(choice: str | None) -> str:
    env = {k: v for k, v in os.environ.items() if k != "FABULA_KERNELS"}
    env |= {} if choice is None else {"FABULA_KERNELS": choice}
    run = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, check=True, env=env, timeout=60)
    return run.stdout.strip()


def test_python():
    assert asked("python") == "(1.0, [(0, 1)]) False"


@pytest.mark.skipif(_kernels.NATIVE is None, reason="this install has no compiled kernels")
@pytest.mark.parametrize("choice", ["native", "auto", None])
def test_native(choice):
    assert asked(choice) == "(1.0, [(0, 1)]) True"


def test_bogus():
    assert asked("bogus") == "KernelError FABULA_KERNELS is 'bogus'; it may be auto, python, native"


def test_native_demanded_and_absent(monkeypatch):
    monkeypatch.setattr(_kernels, "NATIVE", None)
    with pytest.raises(KernelError, match="no compiled kernels"), _kernels.using("native"):
        pass
    with _kernels.using("auto"):
        assert _kernels.native() is None
        assert ordered([[1]]) == (1.0, [(0, 0)])


def test_using_is_undone():
    before = _kernels.native()
    with pytest.raises(ZeroDivisionError), _kernels.using("python"):
        assert _kernels.native() is None
        raise ZeroDivisionError
    assert _kernels.native() is before
    with pytest.raises(KernelError, match="it may be"), _kernels.using("bogus"):
        pass
    assert _kernels.native() is before


def test_threads(monkeypatch):
    monkeypatch.delenv("FABULA_THREADS", raising=False)
    assert _kernels.threads() == _kernels.processors() <= (os.cpu_count() or 1)
    monkeypatch.setenv("FABULA_THREADS", "3")
    assert _kernels.threads() == 3
    for wrong in ("0", "-1", "two", "3000000000", "9" * 5000):
        monkeypatch.setenv("FABULA_THREADS", wrong)
        with pytest.raises(KernelError, match="it is a number from 1 to 1024"):
            _kernels.threads()


@pytest.mark.parametrize(
    ("limit", "period", "share"),
    [
        *(("max 100000", None, None), ("200000 100000", None, 2), ("150000 100000", None, 2)),
        *(
            ("50000 100000", None, 1),
            ("-1", "100000", None),
            ("300000", "100000", 3),
            ("", None, None),
            ("no number", None, None),
        ),
    ],
)
def test_the_share_of_a_container(tmp_path, limit, period, share):
    (tmp_path / "cpu.max").write_text(f"{limit}\n")
    if period is not None:
        (tmp_path / "cpu.cfs_period_us").write_text(f"{period}\n")
    assert _kernels.container_share((tmp_path / "none", tmp_path / "cpu.max")) == share


# --- what a kernel is given ------------------------------------------------------------------------------------------

COMPILED = pytest.mark.skipif(_kernels.NATIVE is None, reason="this install has no compiled kernels")
FUZZ = Path(__file__).parent.parent / "tools" / "sanitize_fuzz.py"
native = _kernels.NATIVE


def load_fuzz():
    spec = importlib.util.spec_from_file_location("sanitize_fuzz", FUZZ)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.prepare()
    return module


@COMPILED
def test_every_entry_point_has_hostile_rounds():
    public = {name.lower() for name in dir(native) if not name.startswith("_")}
    assert public == set(load_fuzz().ENTRIES)


@COMPILED
def test_hostile_arguments_are_refused_or_answered():
    fuzz = load_fuzz()
    finds = [fuzz.play(name, seed) for name in fuzz.ENTRIES for seed in range(60)]
    assert [find for find in finds if find] == []


@COMPILED
def test_threads_agree():
    assert load_fuzz().play("threads", 1) is None


RULES = [Rule("x", whole="y")]
CLASSES = bytes(65536)


def scanner_python(members, follow, accept, first, rules=RULES, ahead=(0,)):
    return Scanner(Automaton(CLASSES, members, follow, accept, first, list(rules), list(ahead), frozenset(" ")))


def scanner_native(members, follow, accept, first, rules=RULES, ahead=(0,)):
    packed = [(a, r.cut, r.again, r.kind, r.whole, r.empty, list(r.edits)) for r, a in zip(rules, ahead, strict=True)]
    return native.Scanner(CLASSES, members, follow, accept, first, packed, " ")


def grammar(**other):
    sound = {
        "binary": np.array([(0, 1, 2)], np.int32), "binary_scores": np.zeros(1, np.float32),
        "unary": np.zeros((0, 2), np.int32), "unary_scores": np.zeros(0, np.float32),
        "kind": np.array([PHRASE, TAG, TAG], np.uint8), "category": np.zeros(3, np.int32),
        "limits": np.full(3, np.inf, np.float32), "goal": 0,
    }  # fmt: skip
    return Grammar(**(sound | other))


def parse(choice, sentence, g=None, **other):
    sound = {"at": np.array([0, 1, 2]), "tags": np.array([1, 2], np.int32), "scores": np.zeros(2, np.float32)}
    with _kernels.using(choice):
        return (g or grammar()).trees([sentence], Lexicon(**(sound | other)))


def rules_of(choice):
    return scanner_python if choice == "python" else scanner_native


KERNELS = {
    "native": native
    and SimpleNamespace(
        ordered=native.ordered,
        ordered_many=native.ordered_many,
        assignment_many=native.assignment_many,
        count_draws=native.count_draws,
        lcs=native.lcs,
        translated=native.translated,
        lift=native.lift,
        extent=native.extent,
        records=lambda text, at, end, fields: native.records(text, at, end, True, fields, False, json.loads),
    ),
    "python": SimpleNamespace(
        ordered=ordered_python,
        ordered_many=ordered_many_python,
        assignment_many=assignment_many_python,
        count_draws=count_draws_python,
        lcs=lcs_python,
        translated=translate_python,
        lift=lift_tables_python,
        extent=find_extent_python,
        records=lambda text, at, end, fields: scan_records_python(text, at, end, True, Shape(fields)),
    ),
}
ONE = np.zeros(1)


def many(*shapes, cells=1, kernel="ordered_many", score=0.0):
    table, C = np.array(shapes, np.int64), np.full(cells, score)
    return lambda k, c: getattr(k, kernel)(C, table, np.zeros(len(table)), np.zeros(cells, bool))


REFUSED = {
    "a score that is no number": lambda k, c: k.ordered(np.array([[np.nan]])),
    "an infinite score": lambda k, c: k.ordered(np.array([[np.inf, 1.0]])),
    "shapes whose product overflows": many((2**32, 2**32), (1, 1)),
    "shapes whose sum overflows": many((2**62, 1), (2**62, 1), (2**62, 1), (2**62, 1), (1, 1)),
    "a negative shape": many((-1, -1)),
    "cells without a shape": many((1, 1), cells=2),
    "cells without an assignment": many((1, 1), cells=2, kernel="assignment_many"),
    "an assignment of a negative shape": many((-1, -1), kernel="assignment_many"),
    "an assignment whose shapes overflow": many((2**32, 2**32), (1, 1), kernel="assignment_many"),
    "an assignment of what is no number": many((1, 1), kernel="assignment_many", score=np.nan),
    "an assignment beyond what potentials hold": many((1, 1), kernel="assignment_many", score=-1e301),
    "a video that is not there": lambda k, c: k.count_draws(np.array([[0, 2]]), np.zeros((1, 2))),
    "a video before the first": lambda k, c: k.count_draws(np.array([[0, -1]]), np.zeros((1, 2))),
    "fewer weights than draws": lambda k, c: k.count_draws(np.array([[0, 1]]), np.zeros((1, 1))),
    "a negative token": lambda k, c: k.lcs([[-1]], [[0]]),
    "a token beyond all tables": lambda k, c: k.lcs([[2**63 - 1]], [[0]]),
    "numbers that fall": lambda k, c: k.translated(ONE, np.array([2, 1]), np.array([0, 1])),
    "fewer of ours": lambda k, c: k.translated(ONE, np.array([1, 2]), np.array([0])),
    "a negative mark": lambda k, c: k.lift(b"", "k", -1),
    "a mark beyond all numbers": lambda k, c: k.lift(b"", "k", 2**63 - 1),
    "an end beyond the text": lambda k, c: k.extent(b"[]\0", 0, 5),
    "a text without its end": lambda k, c: k.extent(b"[]x", 0, 2),
    "a start behind the end": lambda k, c: k.records(b"{}\0", 2, 1, ()),
    "an unknown kind of field": lambda k, c: k.records(b"{}\0", 0, 2, (("a", "b"),)),
    "a field twice": lambda k, c: k.records(b"{}\0", 0, 2, (("a", "text"), ("a", "text"))),
    "a position that follows and is not there": lambda k, c: rules_of(c)([b"\1"], [[1]], [0], [0]),
    "a first position that is not there": lambda k, c: rules_of(c)([b"\1"], [[]], [0], [-1]),
    "a rule that is not there": lambda k, c: rules_of(c)([b"\1"], [[]], [1], [0]),
    "positions of unequal width": lambda k, c: rules_of(c)([b"\1", b""], [[], []], [0, 0], [0]),
    "no positions": lambda k, c: rules_of(c)([], [], [], []),
    "a rule that replaces nothing": lambda k, c: rules_of(c)([b"\1"], [[]], [0], [0], [Rule("x", edits=(("", "y"),))]),
    "a rule that gives back less than nothing": lambda k, c: rules_of(c)([b"\1"], [[]], [0], [0], [Rule("x", cut=-1)]),
    "a rule of no kind": lambda k, c: rules_of(c)([b"\1"], [[]], [0], [0], [Rule("x", kind="odd")]),
    "a rule that never gets on": lambda k, c: rules_of(c)([b"\1"], [[]], [0], [0], [Rule("x", again=1)]).lines(["x"]),
    "a look-ahead without a blank": lambda k, c: rules_of(c)([b"\1"], [[]], [0], [0], RULES, [-1]).lines(["x"]),
    "a state that is not there": lambda k, c: parse(c, [0, 1], grammar(binary=np.array([(0, 1, 9)], np.int32))),
    "a goal that is not there": lambda k, c: parse(c, [0, 1], grammar(goal=3)),
    "a kind that is not there": lambda k, c: parse(c, [0, 1], grammar(kind=np.array([0, 1, 9], np.uint8))),
    "a rule's score that is no number": lambda k, c: parse(c, [0, 1], grammar(binary_scores=np.full(1, np.nan, "f4"))),
    "a limit that is no number": lambda k, c: parse(c, [0, 1], grammar(limits=np.full(3, np.nan, np.float32))),
    "fewer scores than tags": lambda k, c: parse(c, [0, 1], scores=np.zeros(1, np.float32)),
    "a lexicon without words": lambda k, c: parse(c, [0, 1], at=np.zeros(0, np.int64)),
    "a lexicon that falls": lambda k, c: parse(c, [0, 1], at=np.array([2, 1, 2])),
    "a word that is not there": lambda k, c: parse(c, [0, 2]),
    "a tag that is none": lambda k, c: parse(c, [0, 1], tags=np.array([0, 2], np.int32)),
    "too long a sentence": lambda k, c: parse(c, [0] * 600),
}


@pytest.mark.parametrize("choice", [pytest.param("native", marks=COMPILED), "python"])
@pytest.mark.parametrize("what", REFUSED)
def test_both_refuse(what, choice):
    with pytest.raises(ValueError):
        REFUSED[what](KERNELS[choice], choice)


@COMPILED
def test_a_circle_of_unary_rules_ends():
    circle = grammar(
        unary=np.array([(0, 0), (1, 0), (0, 1)], np.int32), unary_scores=np.full(3, 1, np.float32),
        binary=np.array([(0, 1, 2), (0, 0, 2)], np.int32), binary_scores=np.zeros(2, np.float32),
    )  # fmt: skip
    assert parse("native", [0, 1], circle) == parse("python", [0, 1], circle)


@COMPILED
def test_results_are_not_written_into_a_copy():
    with pytest.raises(TypeError):
        native.ordered_many(np.zeros(1), np.array([(1, 1)]), np.zeros(1, np.float32), np.zeros(1, bool))
    with pytest.raises(TypeError):
        native.ordered_many(np.zeros(1), np.array([(1, 1)]), np.zeros(1), np.zeros(1, np.int8))


@COMPILED
def test_numbers_that_begin_at_an_odd_byte_are_refused():
    odd = np.frombuffer(bytearray(17), np.uint8, 16, 1).view(np.float64)
    with pytest.raises(ValueError, match="begin at a multiple"):
        native.ordered_many(np.zeros(2), np.array([(1, 1), (1, 1)]), odd, np.zeros(2, bool))


@COMPILED
@pytest.mark.parametrize("threads", [0, -1, 1, 4, 3_000_000_000, 2**63 - 1, -(2**63)])
def test_any_number_of_threads(threads):
    cost, size = np.zeros((64, 40, 40)), np.full(64, 40)
    pairs, counts = np.zeros((2, 64, 40), np.int64), np.zeros(64, np.int64)
    native.ordered_batch(cost - 1, size, size, pairs[0], pairs[1], counts, threads)
    assert counts.tolist() == [40] * 64


@COMPILED
def test_what_fails_in_a_helper_thread_is_said_by_the_call():
    cost, size = np.zeros((64, 40, 40)), np.full(64, 40)
    cost[63, 39, 39] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        native.soft_ordered(cost, size, size, 0.1, "logsumexp", np.zeros(64), np.zeros_like(cost), 4)


NO_THREADS = """
import numpy as np, threading
from fabula._kernels import NATIVE as native
try:
    threading.Thread(target=int).start()
    print("a thread could start")
except RuntimeError:
    cost, size = np.zeros((64, 40, 40)), np.full(64, 40)
    pairs, counts = np.zeros((2, 64, 40), np.int64), np.zeros(64, np.int64)
    native.ordered_batch(cost - 1, size, size, pairs[0], pairs[1], counts, 8)
    assert counts.tolist() == [40] * 64
    print("done alone")
"""


@COMPILED
def test_threads_that_cannot_start_are_done_without():
    def ask_for_large_stacks():  # a stack of 64 TB for each thread: no second one fits
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 46, resource.RLIM_INFINITY))

    if resource.getrlimit(resource.RLIMIT_STACK)[1] != resource.RLIM_INFINITY:
        pytest.skip("the size of stacks has a limit here")
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"} | {"OPENBLAS_NUM_THREADS": "1"}
    env.pop("PYTHONPATH", None)  # not the kernels of a sanitizer, which have stacks of their own
    run = subprocess.run(
        [sys.executable, "-c", NO_THREADS], preexec_fn=ask_for_large_stacks, capture_output=True, text=True, env=env
    )
    if "could start" in run.stdout:
        pytest.skip("threads start here whatever the size of their stacks")
    assert (run.stdout, run.stderr) == ("done alone\n", "")


HELD = """
import ctypes
from fabula._kernels import NATIVE
held = NATIVE.Sentences()
ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))  # as a library does that never lets go
"""


@pytest.mark.skipif(_kernels.NATIVE is None, reason="no compiled kernels")
def test_what_somebody_still_holds_at_the_end_is_no_wall_of_words():
    """Where torch is loaded, objects of ours live until the process is over; nanobind listed them as leaked."""
    for more, said in (({}, False), ({"FABULA_LEAKS": "1"}, True)):
        ran = subprocess.run([sys.executable, "-c", HELD], capture_output=True, text=True, env=os.environ | more)
        assert ran.returncode == 0 and ("nanobind: leaked" in ran.stderr) == said, ran.stderr


def test_the_first_scoring_says_once_that_kernels_are_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    monkeypatch.setattr(notes, "listeners", [heard.append])
    monkeypatch.setattr(_kernels, "NATIVE", None)
    announce_twins.cache_clear()
    refs = {"v": {"timestamps": [[0, 9]], "sentences": ["a dog runs"], "duration": 10}}
    for _ in range(2):
        found = fabula.score({"v": [{"timestamp": [0, 8], "sentence": "the dog ran"}]}, refs, metrics="SODA_d,PRF")
        assert not any("kernel" in line for line in found.warnings)
    assert heard == ["kernels not compiled: about 15 times slower"]
    announce_twins.cache_clear()
