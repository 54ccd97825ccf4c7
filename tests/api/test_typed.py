"""Public calls are typed: keywords as their options, signatures complete, wrong calls refused by mypy."""

from __future__ import annotations

import importlib
import inspect
import pickle
import pkgutil
import re
import subprocess
import sys
import types
import typing
from pathlib import Path

import pytest

import fabula
from fabula.jobs.runner import Runner
from fabula.learn.options import Run, Settings
from fabula.learn.tasks import room
from fabula.metrics import Metric, Wanted
from fabula.verbs import keywords as declared

WRONG = Path(__file__).parents[1] / "typing" / "wrong_calls.py"
NAMES = {"Runner": Runner, "Metric": Metric, "Wanted": Wanted}
WIDER = {"repair", "sets", "store"}  # text, or what a notebook has, is taken where an option holds a tuple or a path


def typed_calls() -> dict[str, typing.Any]:
    """The calls whose keywords are those of a class of keywords.py."""
    package = importlib.import_module("fabula.verbs")
    found = {}
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for name, call in vars(importlib.import_module(info.name)).items():
            own = inspect.isfunction(call) and call.__module__ == info.name
            if own and "Unpack[" in str(call.__annotations__.get("keywords")):
                found[f"{info.name.rpartition('.')[2]}.{name}"] = call
    return found


EVERY = typed_calls()
TASKS = {"train.train": ("Train", "Shape"), "predict.predict": ("Predict",), "analyse.analyse": ("Analyse",)}
TASKS["simulate.simulate_world"] = ("Simulate",)
CALLS = {name: call for name, call in EVERY.items() if name not in TASKS}


def keywords_of(call: typing.Any) -> dict[str, object]:
    name = re.fullmatch(r"Unpack\[(\w+)\]", call.__annotations__["keywords"])[1]
    return typing.get_type_hints(getattr(declared, name), localns=NAMES)


def members(hint: object) -> set[object]:
    """The types that a hint allows; of a path or a tuple also those that a user may write instead."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return {member for part in typing.get_args(hint) for member in members(part)}
    if hint is Path:
        return {str, Path}
    if typing.get_origin(hint) is tuple and typing.get_args(hint)[1:] == (...,):
        (item, _) = typing.get_args(hint)
        return {kind for one in members(item) for kind in (tuple[one, ...], list[one])}  # type: ignore[valid-type]
    return {hint}


def test_there_are_typed_calls():
    assert len(CALLS) >= 20 and {"score.score", "compare.compare", "judge.check"} <= CALLS.keys()


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_keywords_are_typed_as_their_options_are(call):
    own = list(inspect.signature(call, follow_wrapped=False).parameters.values())
    typed = keywords_of(call)
    options = {p.name: p.annotation for p in own if not isinstance(p.annotation, str)}
    assert typed.keys() == options.keys()
    for field, hint in options.items():
        if hint is typing.Any:  # the line in keywords.py says more
            continue
        if field in WIDER:
            assert members(hint) - {list[str]} <= members(typed[field]) | {Path}, field
        else:
            assert members(typed[field]) <= members(hint) and hint_core(hint) <= members(typed[field]), field


@pytest.mark.parametrize("name", TASKS)
def test_keywords_of_tasks_are_those_of_their_options(name):
    """Of all tasks together: a keyword that no task has is refused by a type checker, one of any task is not."""
    call, typed = EVERY[name], keywords_of(EVERY[name])
    kinds = [kind for task in room.all() for part in TASKS[name] if (kind := getattr(task, part)) is not None]
    if name == "train.train":
        kinds += [Settings, Run]
    options = [o for kind in kinds for o in kind.options()]
    own = {p.name for p in inspect.signature(call).parameters.values() if isinstance(p.annotation, str)}
    names = {o.name for o in options} - own
    unused = {"words", "tokenizer", "captions", "rewrites", "protocol", "format", "rate", "skip_bad"}  # read by others
    assert names <= typed.keys() and typed.keys() - names <= (unused if name == "analyse.analyse" else set())
    for o in options:
        if o.name in names and o.hint is not typing.Any:
            assert hint_core(o.hint) - {types.NoneType} <= members(typed[o.name]), o.name


def hint_core(hint: object) -> set[object]:
    """Types that must be allowed: those of the option itself."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return set(typing.get_args(hint))
    return {hint}


@pytest.mark.parametrize("name", [n for n in fabula.__all__ if inspect.isfunction(getattr(fabula, n))])
def test_public_calls_show_every_keyword_and_can_be_sent(name):
    call = getattr(fabula, name)
    kinds = {p.kind for p in inspect.signature(call).parameters.values()}
    assert inspect.Parameter.VAR_KEYWORD not in kinds or name == "metric"  # whose parameters are the metric's own
    assert pickle.loads(pickle.dumps(call)) is call
    assert call.__doc__


def test_an_unknown_keyword_names_its_neighbour():
    with pytest.raises(
        TypeError, match=r"score\(\) got an unexpected keyword argument 'metricz'; did you mean 'metrics'"
    ):
        fabula.score({}, {}, metricz="SODA_c")


@pytest.mark.slow
def test_wrong_calls_are_refused_by_mypy():
    pytest.importorskip("mypy")
    lines = WRONG.read_text(encoding="utf-8").splitlines()
    wrong = {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--follow-imports=silent", str(WRONG)]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=WRONG.parents[2])
    refused = {int(n) for n in re.findall(r"wrong_calls\.py:(\d+): error:", ran.stdout)}
    assert len(wrong) >= 20 and refused == wrong, ran.stdout + ran.stderr
