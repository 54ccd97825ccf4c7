"""A benchmark's name stands in its folder, in learn's presets, in tests and in docs; in no other code.

Identifiers and literals are looked at, docstrings are not. Hosts are exempt: a host is named for the harness it serves.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.test_layers import FILES, HOUSE, room_of

NAMES = (
    "etbench|lmms|plm|vlmevalkit|tvr|qvhighlights|rvmr|ego4d|charades|didemo|timelens|omtg|timechat|tarsier|aurora"
    "|lsmdc|vg|visual_genome|activitynet|youcook2|tasty|soccernet|sodam|vantage|vidchapters|vtimellm|extremewhen|verified"
)
WORD = re.compile(rf"(?<![a-z0-9])(?:{NAMES})(?![a-z0-9])", re.IGNORECASE)
FREE = ("benchmarks", "hosts")  # whole packages
HARNESSES = "media/sampling/"  # a frame recipe is named for the harness that it reproduces
PRESETS = (
    "learn/tasks/noise.py",
    "learn/tasks/pss.py",
    "learn/tasks/vcmr.py",
    "learn/splits.py",
    "learn/models/pdvc.py",
)
ALLOWED = {
    # values of parameters that signatures and --format have printed since 0.1: their code stands in the folders
    "metrics/questions/autodq.py": "AutoDQ(read=tarsier|vlmevalkit)",
    "metrics/questions/choice.py": "Choice(read=plm|etbench)",
    "io/answers/times.py": "answers:vtimellm, a unit of numbers",
    # what `fabula predict vcmr --format` takes, and checkpoints say
    "learn/retrieval/answers.py": "--format tvr|qvhighlights",
    "learn/retrieval/decode.py": "the format of a protocol's answers",
    "learn/retrieval/highlights.py": "--format tvr is the default",
    "learn/retrieval/parts.py": "--format tvr is the default",
    "verbs/keywords.py": "the types of the same options",
    "learn/retrieval/queries.py": "--format tvr is the default",
    "io/subtitles/stores.py": "TVR's file of subtitles, which has no folder: it is no benchmark's reference",
    "media/token_costs.py": "the family of a model, as its recipe is called",
    # sentences that name one as an example
    "annotation/export.py": "a data card says whose pipeline made the captions",
    "evaluate/tasks.py": "help",
    "io/identity/fillin.py": "help",
    "learn/options.py": "help",
    "media/stores/features.py": "a hint",
    "metrics/moments/hl.py": "a hint, and whose metrics they are",
    "metrics/moments/mr.py": "whose metrics they are",
    "metrics/stories/soda_m.py": "a hint",
    "verbs/building/commands/host.py": "help; the host is called so",
    # the shape of objects in memory
    "documents/object_columns.py": "the format that a mapping of columns is like",
}


def find_docstrings(tree: ast.AST) -> set[int]:
    """The constants that are docstrings, by identity."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                found.add(id(first.value))
    return found


def spelled(node: ast.AST) -> Iterator[str]:
    """The identifiers and texts of a node."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    for field in ("id", "attr", "arg", "name", "module"):
        if isinstance(value := getattr(node, field, None), str):
            yield value


def is_citation(node: ast.AST) -> bool:
    """`paper: ClassVar[str] = "…"`: a metric names the paper that defines it."""
    return isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "paper"


def find_names(path: Path) -> Counter[str]:
    """How often a file names each benchmark."""
    text = path.read_text(encoding="utf-8")
    if not WORD.search(text) and not WORD.search(path.stem):
        return Counter()
    tree = ast.parse(text)
    passed = find_docstrings(tree) | {id(n.value) for n in ast.walk(tree) if is_citation(n)}
    texts = [text for node in ast.walk(tree) if id(node) not in passed for text in spelled(node)]
    return Counter(m[0].lower() for text in (path.stem, *texts) for m in WORD.finditer(text))


def test_no_other_code_names_a_benchmark() -> None:
    found = {path.relative_to(HOUSE).as_posix(): find_names(path) for path in FILES if room_of(path) not in FREE}
    found = {p: names for p, names in found.items() if names and p not in PRESETS and not p.startswith(HARNESSES)}
    assert found.keys() <= ALLOWED.keys(), {place: dict(found[place]) for place in found.keys() - ALLOWED.keys()}
    assert found.keys() >= ALLOWED.keys(), f"name no benchmark any more: {sorted(ALLOWED.keys() - found.keys())}"


def test_the_search_sees_what_it_should(tmp_path: Path) -> None:
    file = tmp_path / "toy.py"
    file.write_text('"""TVR."""\nread_tvr = tvr_lines = "tvr-lines"\npaper: str = "TVR-Ranking"\nverify = "observed"\n')
    assert find_names(file) == {"tvr": 3}
