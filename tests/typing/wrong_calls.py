"""Calls with a mistake each, in the line that ends in `# wrong`: mypy --strict refuses them and nothing else here.

tests/api/test_typed.py runs mypy on this file; nobody runs the file itself.
"""

from __future__ import annotations

from pathlib import Path

import fabula
from fabula.data.result import Result
from fabula.verbs.training.simulate import simulate_world

REFS = ["val_1.json", Path("val_2.json")]

result: Result = fabula.score("preds.json", REFS, metrics=["SODA_c"], task="dense", ci=True, judge_record="j.jsonl")
fabula.score({"v": [(0, 10, "a dog")]}, {"v": [(0, 10, "a dog")]}, repair="clip", cluster={"v": "film"})
fabula.compare({"a": "a.json", "b": Path("b.json")}, REFS, metrics="SODA_c,mIoU", resamples=100, test="bootstrap")
fabula.train("pss", data="steps.json", features="features", out="run", epochs=5, matcher="ordered")
fabula.predict("vcmr", "run", features=["a.h5"], data=Path("queries"), top=10, set_={"beam": 2})
simulate_world("micap", "world", difficulty="easy", train_films=3)

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
fabula.read_signs("film.mp4", kind="xml")  # wrong
fabula.ask("bench.json", videos=["films"], task="captions")  # wrong
fabula.ask_grid("bench.json", 2)  # wrong
fabula.reward(3)  # wrong
fabula.uniform("val_1.json", count=3)  # wrong
fabula.predict("pss")  # wrong
fabula.train("pss", data="steps.json", out="run", epochs="five")  # wrong
fabula.train("pss", data="steps.json", out="run", epoch=5)  # wrong
fabula.train("pss", data="steps.json", out="run", optimizer="sgd")  # wrong
fabula.train("vcmr", data="queries", out="run", train="coarse")  # wrong
fabula.train("pss", "steps.json", out="run")  # wrong
fabula.train("pss", data="steps.json", out="run", precision=16)  # wrong
fabula.predict("pss", "run", features=3)  # wrong
fabula.predict("vcmr", "run", data="queries", engine="spark")  # wrong
fabula.predict("noise", "run", data="moments", splits="test")  # wrong
fabula.analyse("micap", "run", data="sets", most="3")  # wrong
fabula.analyse("micap", "run", data="sets", figure=3)  # wrong
simulate_world("micap", "world", difficulty="harder")  # wrong
fabula.cite(3)  # wrong
print(result.score)  # wrong
print(fabula.scores)  # wrong
