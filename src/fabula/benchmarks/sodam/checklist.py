"""TimeChat-Captioner's judge of checklists (Yao et al., ICML 2026): its prompt out of the user's own clone, by `ast`.

    git clone the repository, then FABULA_TIMECHAT_CAPTIONER=FOLDER

The prompt is the f-string `prompt` of Checklist_Score._build_prompt in Eval/eval_sodam.py; what it holds besides text
must be the points of a dimension (fmt_dim) and the caption (_norm_text). It is filled here: no line of the file runs.
The answer is JSON from its first "{" to its last "}", fences removed; without "by_dim" it is asked for again, four
times in all. A count is what int() makes of `correct_count`; one that it cannot make spoils the whole answer.
"""

from __future__ import annotations

import ast
import json
import os
import re
from pathlib import Path
from typing import Any

from fabula.core.errors import InputError, SpecError
from fabula.data.stories import DIMENSIONS, Checklist
from fabula.text.checklists.base import ChecklistJudge, Counts, OpenJudge

WHERE = "FABULA_TIMECHAT_CAPTIONER"
FILE = "Eval/eval_sodam.py"
PUBLISHED = "dfc04cfa8d1c46ea"  # at 9014445
LONGEST = 4 << 20  # bytes of a file of code
PARAMETERS = {"temperature": 0, "top_p": 0.001, "seed": 42}
Part = tuple[str, str]  # ("text", words), ("points", dimension) or ("caption", "")


def open_judge() -> ChecklistJudge:
    home = os.environ.get(WHERE, "")
    if not home:
        hint = f"clone github.com/yaolinli/TimeChat-Captioner and say where in ${WHERE}, or take judge=fabula"
        raise SpecError(f"the judge timechat-captioner reads its prompt from your own clone; {hint}")
    file = Path(home) / FILE
    parts = read_template(file)

    def messages(checklist: Checklist, caption: str) -> tuple[str, str]:
        return "", fill(parts, checklist, caption)

    about = "how many key points of each dimension a caption tells"
    source = f"TimeChat-Captioner {FILE}"
    return ChecklistJudge(
        "timechat-captioner", about, messages, read, 4, source, parameters=PARAMETERS, published=PUBLISHED
    )


def read_template(file: Path) -> list[Part]:
    """The prompt as text and places."""
    try:
        with file.open("rb") as stream:
            tree = ast.parse(stream.read(LONGEST))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError) as error:
        hint = f"${WHERE} is the folder of a clone of TimeChat-Captioner"
        raise InputError(f"cannot be read as Python ({type(error).__name__})", file=file, hint=hint) from None
    scorer = next((n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Checklist_Score"), None)
    for node in ast.walk(scorer) if scorer else ():
        if isinstance(node, ast.FunctionDef) and node.name == "_build_prompt":
            for line in node.body:
                if isinstance(line, ast.Assign) and isinstance(line.value, ast.JoinedStr):
                    return [read_part(part, file) for part in line.value.values]
    raise InputError("has no prompt in Checklist_Score._build_prompt", file=file, hint="is it the published version?")


def read_part(node: ast.expr, file: Path) -> Part:
    match node:
        case ast.Constant(value=str(text)):
            return "text", text
        case ast.FormattedValue(
            value=ast.Call(func=ast.Name(id="fmt_dim"), args=[ast.Constant(value=str(dimension))], keywords=[]),
            conversion=-1,
            format_spec=None,
        ):
            return "points", dimension
        case ast.FormattedValue(
            value=ast.Call(func=ast.Attribute(attr="_norm_text"), args=[ast.Name(id="pred_caption")], keywords=[]),
            conversion=-1,
            format_spec=None,
        ):
            return "caption", ""
    raise InputError(f"its prompt holds {ast.unparse(node)[:60]}", file=file, hint="is it the published version?")


def fill(parts: list[Part], checklist: Checklist, caption: str) -> str:
    points = {dimension: list(points_of) for dimension, points_of in checklist}
    folded = re.sub(r"\s+", " ", caption.strip())
    found = []
    for kind, value in parts:
        listed = json.dumps(points.get(value, []), ensure_ascii=False)
        found.append({"text": value, "points": listed, "caption": folded}[kind])
    return "".join(found)


def read(text: str, checklist: Checklist) -> Counts | None:
    found = load(text)
    if not found or "by_dim" not in found:
        return None
    try:
        by_dim = found["by_dim"] or {}
        return {d: int((by_dim.get(d, {}) or {}).get("correct_count", 0)) for d in DIMENSIONS}
    except (TypeError, ValueError, AttributeError, OverflowError):
        return {}


def load(text: str) -> Any:
    """What stands between the outermost braces; {} where that is no JSON."""
    body = text.strip()
    if body.startswith("```"):
        body = re.sub(r"\n?```$", "", re.sub(r"^```[a-zA-Z]*\n?", "", body)).strip()
    first, last = body.find("{"), body.rfind("}")
    if -1 < first < last:
        body = body[first : last + 1]
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict | list | str) else {}


CHECKLIST_JUDGE = OpenJudge("timechat-captioner", open_judge)
