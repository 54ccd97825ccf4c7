"""A prompt out of the user's own install of the package that carries it: found by `ast`, never imported, never shipped.

A constant must be text made of literals. A function must only build text, lists and dicts of its arguments and of such
constants: every part of it is looked at before it runs, and it runs without builtins; what it adds, joins and fills in
has a longest length (_bounded.py). Whatever goes wrong in it costs one line. Where a function does more, the
expressions that build its messages can be read alone (`read_quoted`). What is in no package is looked for in the folder
of --judge-prompts, a clone of the repository or a folder of clones, which comes first for all of them.

    found = read_function("lmms-eval", "lmms_eval/tasks/plm_videobench/eval_utils.py", "get_caption_judge_prompt")
    found.value("G", "P")        found.source == "lmms-eval 0.7.3 lmms_eval/tasks/…:get_caption_judge_prompt"
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from fabula.core.errors import InputError, SpecError
from fabula.text.judges._bounded import HELPERS, bound_parts, fill_in, is_plain_format

METHODS = ("format", "join", "strip", "lstrip", "rstrip", "replace", "lower", "upper", "append")  # of text and lists
PARTS = (
    *(ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Assign, ast.AnnAssign, ast.Expr, ast.If, ast.IfExp),
    *(ast.Constant, ast.Name, ast.Load, ast.Store, ast.JoinedStr, ast.FormattedValue, ast.List, ast.Dict, ast.Tuple),
    *(ast.BinOp, ast.Add, ast.Call, ast.Attribute, ast.keyword, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not),
    *(ast.Compare, ast.Is, ast.IsNot, ast.Eq, ast.NotEq, ast.Subscript),
)
LONGEST = 4 << 20  # bytes of a file of code
CLONED = "github.com/"  # how what is to be cloned begins, where others are installed


@dataclass(frozen=True, slots=True)
class Found:
    """A constant or a function of an installed package, and where it was."""

    value: Any
    source: str  # package, version, file and name
    digest: str  # SHA-256 of its code, as `ast` writes it


def read_constant(package: str, path: str, name: str, pip: str = "", folder: Path | None = None) -> Found:
    """A text of a module, by its name."""
    tree, source = open_tree(package, path, pip, folder)
    value = constants(tree).get(name)
    if not isinstance(value, str):
        raise refuse(source, name, "is no text made of literals there")
    return Found(value, f"{source}:{name}", hashlib.sha256(value.encode()).hexdigest())


def read_function(package: str, path: str, name: str, pip: str = "", folder: Path | None = None) -> Found:
    """A function that only builds text."""
    tree, source = open_tree(package, path, pip, folder)
    node = find_function(tree, name)
    if node is None:
        raise refuse(source, name, "is no function there")
    bare = strip_hints(node)
    check_pure(bare, source)
    return make_function(bare, tree, source, name)


def read_quoted(
    package: str,
    path: str,
    name: str,
    names: Sequence[str],
    pick: Callable[[ast.FunctionDef], Sequence[ast.expr]],
    pip: str = "",
    folder: Path | None = None,
) -> Found:
    """The expressions that `pick` finds in a function, as a function of their variables, `names`."""
    tree, source = open_tree(package, path, pip, folder)
    node = find_function(tree, name)
    picked = [] if node is None else list(pick(node))
    if not picked:
        raise refuse(source, name, "holds no prompt there")
    found = ast.Tuple([strip_places(expr) for expr in picked], ast.Load())
    args = ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, [])
    quoted = ast.FunctionDef("quoted", args, [ast.Return(found)], [], **TYPELESS)
    check_pure(quoted, source)
    function = make_function(quoted, tree, source, name)

    def build(*args: object) -> tuple[str, ...]:
        texts: tuple[str, ...] = function.value(*args)
        if not all(isinstance(text, str) for text in texts):
            raise refuse(source, name, "builds something else than text")
        return texts

    return Found(build, function.source, function.digest)


def find_function(tree: ast.Module, name: str) -> ast.FunctionDef | None:
    return next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name), None)


def make_function(node: ast.FunctionDef, tree: ast.Module, source: str, name: str) -> Found:
    """A function that was looked at, as one that can be called; whatever it raises is one line."""
    try:
        digest = hashlib.sha256(ast.unparse(ast.fix_missing_locations(node)).encode()).hexdigest()
        module = ast.fix_missing_locations(ast.Module([bound_parts(node)], []))
        names: dict[str, object] = {"__builtins__": {}, **constants(tree), **HELPERS}
        exec(compile(module, source, "exec"), names)
    except (SyntaxError, ValueError, TypeError, NameError, RecursionError, MemoryError) as error:
        raise refuse(source, name, f"cannot be read ({type(error).__name__}: {error})") from None
    function = cast("Callable[..., object]", names[node.name])

    def build(*args: object) -> object:
        try:
            return function(*args)
        except Exception as error:  # whatever a stranger's code may raise
            raise refuse(source, name, f"does not take what it is given ({type(error).__name__}: {error})") from None

    return Found(build, f"{source}:{name}", digest)


def fill(text: str, name: str, **values: str) -> str:
    """A constant of a program with its variables filled in."""
    try:
        return fill_in(text, **values)
    except (ValueError, TypeError, LookupError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise SpecError(
            f"the prompt {name} cannot be filled in ({problem}); is it the version that the protocol names?"
        ) from None


def take_messages(messages: Any, source: str) -> tuple[str, str]:
    """System and user of two messages {"role", "content"}."""
    try:
        system, user = (message["content"] for message in messages)
    except (ValueError, TypeError, LookupError):
        system = user = None
    if not isinstance(system, str) or not isinstance(user, str):
        raise SpecError(f"{source}: builds no two messages; is it the version that the protocol names?")
    return system, user


TYPELESS: dict[str, Any] = {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}


def strip_places(expr: ast.expr) -> ast.expr:
    """The same expression, at no line of any file."""
    return ast.parse(ast.unparse(expr), mode="eval").body


def find_file(package: str, path: str, pip: str = "", folder: Path | None = None) -> tuple[Path, str]:
    """A file of an installed package, and the package with its version; nothing is imported. The folder comes first."""
    import importlib.util
    from importlib.metadata import PackageNotFoundError, distribution

    for home in () if folder is None else (folder, folder / package.rpartition("/")[2]):
        if (home / path).is_file():
            return home / path, f"{package} in a folder"
    if package.startswith(CLONED):
        lacking = f"; {folder} has no file {path}" if folder is not None else ""
        hint = f"git clone it, and say --judge-prompts FOLDER{lacking}"
        raise SpecError(f"this prompt is read from your own copy of {package}, which is no package; {hint}")
    head = path.partition("/")[0]
    try:
        installed = distribution(package)
        file, named = Path(str(installed.locate_file(path))), f"{package} {installed.version}"
    except PackageNotFoundError:
        spec = importlib.util.find_spec(head) if head.isidentifier() else None
        roots = list(spec.submodule_search_locations or ()) if spec else []
        file, named = (Path(roots[0]).parent / path, f"{package} (a folder)") if roots else (Path(), "")
    if not named:
        raise SpecError(f"this prompt is read from your own install of {package}; pip install {pip or package}")
    if not file.is_file():
        raise SpecError(f"{named} has no file {path}, where this prompt is known to be; pip install {pip or package}")
    return file, named


def open_tree(package: str, path: str, pip: str, folder: Path | None) -> tuple[ast.Module, str]:
    file, named = find_file(package, path, pip, folder)
    source = f"{named} {path}"
    try:
        with file.open("rb") as stream:
            data = stream.read(LONGEST + 1)
        if len(data) > LONGEST:
            raise ValueError(f"larger than {LONGEST} bytes")
        return ast.parse(data), source
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError) as error:
        raise InputError(f"cannot be read as Python ({type(error).__name__}: {error})", file=file) from None


def constants(tree: ast.Module) -> dict[str, str]:
    """Texts that a module gives names to; the last one counts."""
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            value = text_of(node.value)
            for target in (t for t in targets if isinstance(t, ast.Name)):
                found.pop(target.id, None)
                found |= {target.id: value} if value is not None else {}
    return found


def text_of(node: ast.expr) -> str | None:
    """A text made of literals: one, or several added."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = text_of(node.left), text_of(node.right)
        return None if left is None or right is None else left + right
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "strip":
        inner = text_of(node.func.value)
        return None if inner is None or node.args or node.keywords else inner.strip()
    return None


def strip_hints(node: ast.FunctionDef) -> ast.FunctionDef:
    """The function without hints and decorators, which would be evaluated."""
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    bare = [a for a in (*every, node.args.vararg, node.args.kwarg) if a is not None]
    for arg in bare:
        arg.annotation = None
    node.returns, node.decorator_list = None, []
    for inner in ast.walk(node):
        if isinstance(inner, ast.AnnAssign):
            inner.annotation = ast.Constant("")
    return node


def check_pure(node: ast.FunctionDef, source: str) -> None:
    """Refuse what does more than build text."""
    called = {id(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}
    for part in ast.walk(node):
        if not isinstance(part, PARTS):
            raise refuse(source, node.name, f"does more than build text ({type(part).__name__})")
        if isinstance(part, ast.Attribute) and not (id(part) in called and part.attr in METHODS):
            raise refuse(source, node.name, f"does more than build text (.{part.attr})")
        if isinstance(part, ast.Call) and not isinstance(part.func, ast.Attribute):
            raise refuse(source, node.name, "does more than build text (it calls something)")
        if isinstance(part, ast.FormattedValue) and not is_plain_format(part):
            raise refuse(source, node.name, "does more than build text (a format of its own)")
        if isinstance(part, ast.Name) and part.id.startswith("__"):
            raise refuse(source, node.name, f"does more than build text ({part.id})")


def refuse(source: str, name: str, problem: str) -> SpecError:
    return SpecError(f"{source}: {name} {problem}; is it the version that the protocol names?")
