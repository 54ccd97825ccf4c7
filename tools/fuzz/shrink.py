"""A find → a smaller one with the same fault: entries of trees first, then lines and bytes, then options."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import Any

from tools.fuzz.mutate import loosen, parents, write_tree
from tools.fuzz.watch import Case

Still = Callable[[Case], bool]


def shrink(case: Case, still: Still, tries: int = 400, seconds: float = 8.0) -> Case:
    """The smallest that was found in some seconds of processor time; `still` says whether a case has the fault."""
    left, until = [tries], time.process_time() + seconds

    def keeps(one: Case) -> bool:
        left[0] -= 1
        return left[0] >= 0 and time.process_time() < until and still(one)

    while left[0] > 0 and time.process_time() < until:
        smaller = next((one for one in candidates(case) if one.size() < case.size() and keeps(one)), None)
        if smaller is None:
            return case
        case = smaller
    return case


def candidates(case: Case) -> Iterator[Case]:
    """Cases a step smaller, the large steps first."""
    for name in case.files:
        yield with_files(case, {n: d for n, d in case.files.items() if n != name})
    for key in case.options:
        yield Case(case.target, case.files, {k: v for k, v in case.options.items() if k != key})
        if case.options[key] and isinstance(case.options[key], list | str):
            for part in cut(case.options[key]):
                yield Case(case.target, case.files, {**case.options, key: part})
    for name, data in case.files.items():
        for smaller in [*cut_tree(data), *cut(data)]:
            yield with_files(case, {**case.files, name: smaller})


def with_files(case: Case, files: dict[str, bytes]) -> Case:
    return Case(case.target, files, case.options)


def cut(data: Any) -> Iterator[Any]:
    """Without its half, its quarter, … anywhere."""
    step = len(data) // 2
    while step:
        for at in range(0, len(data), step):
            yield data[:at] + data[at + step :]
        step = step // 2 if len(data) < 200 or step > len(data) // 16 else 0


def cut_tree(data: bytes) -> Iterator[bytes]:
    """JSON, or JSON lines, without one of its entries."""
    try:
        text = data.decode()
        lines = [line for line in text.split("\n") if line.strip()]
        several = len(lines) > 1 and all(line.lstrip()[:1] in "{[" for line in lines)
        tree = loosen([json.loads(line) for line in lines] if several else json.loads(text))
    except (ValueError, RecursionError):
        return
    kind = "lines" if several else "json"
    for node in parents(tree):
        for at in range(len(node)):
            gone = node.pop(at)
            with suppress(ValueError, RecursionError):
                yield write_tree(Random(0), kind, tree)
            node.insert(at, gone)
