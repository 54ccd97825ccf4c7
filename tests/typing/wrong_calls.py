"""Calls with a mistake each, in the line that ends in `# wrong`: mypy --strict refuses them and nothing else here.

tests/api/test_typed.py runs mypy on this file; nobody runs the file itself.
"""

from __future__ import annotations

from pathlib import Path

import fabula
from fabula.data.result import Result

REFS = ["val_1.json", Path("val_2.json")]

result: Result = fabula.score("preds.json", REFS, metrics=["SODA_c"], task="dense", ci=True, judge_record="j.jsonl")
fabula.score({"v": [(0, 10, "a dog")]}, {"v": [(0, 10, "a dog")]}, repair="clip", cluster={"v": "film"})
fabula.compare({"a": "a.json", "b": Path("b.json")}, REFS, metrics="SODA_c,mIoU", resamples=100, test="bootstrap")
fabula.train("pss", data="steps.json", features="features", out="run", epochs=5)  # keywords of the task

fabula.score("preds.json", REFS, metricz="SODA_c")  # wrong
fabula.score("preds.json", REFS, metrics=3)  # wrong
fabula.score("preds.json", REFS, judge_failed="nil")  # wrong
fabula.score(3, REFS)  # wrong
fabula.score()  # wrong
fabula.score("preds.json", REFS, "SODA_c")  # wrong
fabula.score("preds.json", REFS, resume="yes")  # wrong
fabula.score("preds.json", REFS, frames=1.5)  # wrong
fabula.compare({"a": "a.json"}, REFS, work="folder")  # wrong
fabula.compare(["a.json", "b.json"], REFS, test="t")  # wrong
fabula.diagnose("preds.json", REFS, metrics="SODA_c")  # wrong
fabula.diagnose("preds.json", REFS, task="dense")  # wrong
fabula.protocols("preds.json", REFS, metrics="SODA_c")  # wrong
fabula.protocols("preds.json", REFS, only="soda-2021")  # wrong
fabula.lint("preds.json", fixed="copy.json")  # wrong
fabula.convert("preds.json")  # wrong
fabula.stress("SODA_c", ways="shift")  # wrong
fabula.power("preds.json", REFS, differences=0.1)  # wrong
fabula.plot("bars", "result.json")  # wrong
fabula.plot("intervals", "result.json", width="wide")  # wrong
fabula.baseline("unifrom", "val_1.json")  # wrong
fabula.baseline("same-id", "val_1.json", count=3)  # wrong
fabula.meta("rows.csv", "people.csv", statistics="tau_b")  # wrong
fabula.parse("answers.jsonl", unit=2)  # wrong
fabula.search("a dog", "store", limit="5")  # wrong
fabula.index("films", store="store", engine="spark")  # wrong
fabula.reward(3)  # wrong
fabula.uniform("val_1.json", count=3)  # wrong
fabula.predict("pss")  # wrong
fabula.cite(3)  # wrong
print(result.score)  # wrong
print(fabula.scores)  # wrong
