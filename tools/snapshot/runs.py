"""The catalogue of runs: every verb, format, protocol, metric and kernel, on bundled and golden inputs and artefacts.

Real data (../shared/data beside the clone) is run where it is there, under names of its own: "real: …".
"""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tools.snapshot import surface
from tools.snapshot.take import Parts, Run, rounded

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"
ARTEFACTS = ROOT / "tests" / "artefacts"
GOLDEN = ROOT / "tests" / "golden" / "inputs"
WIDTHS = (80, 200)
KERNELS = ("native", "python")
DEMO = (
    "good.json",
    "over_segmenting.json",
    "out_of_order.json",
    "annotator_1.json",
    "annotator_2.json",
    "captionsets.json",
)
BOTH = "--refs annotator_1.json annotator_2.json"

# verbs that print tables: to a pipe, and to terminals
TABLES = f"""
score good.json {BOTH} --json o.json --rows r.jsonl
score good.json {BOTH} --ci --resamples 200 --json o.json
score good.json {BOTH} --ci --cluster /^demo_(.)/ --resamples 200
score good.json {BOTH} -m SODA_c,PRF@0.5 --thresholds --signatures full --rows r.csv
score good.json {BOTH} -m SODA_d --rows r.parquet --html report.html --against over_segmenting.json
score good.json --refs annotator_1.json -m SODA_c --fail-under SODA_c=.9
score good.json --refs annotator_1.json --task procedure
score captionsets.json --refs captionsets.json --task identity --json o.json --rows r.jsonl
protocols good.json {BOTH} --json o.json
protocols good.json --refs annotator_1.json --only soda-2021,pdvc-2018
protocols good.json --refs annotator_1.json --explain soda-2021 densevid-2018
protocols preds_two.json --refs two.json --judges judge.jsonl --json o.json
compare good.json over_segmenting.json out_of_order.json {BOTH} --resamples 200 --json o.json
compare good.json over_segmenting.json {BOTH} -m SODA_c,mIoU --resamples 200 --latex
compare good.json over_segmenting.json {BOTH} -m SODA_c,mIoU --resamples 200 --markdown
compare good.json over_segmenting.json {BOTH} -m SODA_c --resamples 200 --fail-if-worse
diagnose good.json --refs annotator_1.json --json o.json
diagnose over_segmenting.json {BOTH} -m SODA_d
lint good.json --refs annotator_1.json --json o.json
lint over_segmenting.json
lint annotator_1.json
power good.json over_segmenting.json {BOTH} -m SODA_c --difference .01 --json o.json
power good.json {BOTH} -m SODA_c --difference .01 --correlation .8
stress SODA_c,mIoU --copies 1 --resamples 50 --json o.json
parse spoken.jsonl -o e.jsonl --audit audit.json
baseline uniform --refs annotator_1.json --count 5 -o u.json
baseline same-id --refs labels.csv -o s.csv
baseline all-different --refs labels.csv -o d.csv
cite SODA_c METEOR soda-2021
list
doctor
judge check good.json --refs annotator_1.json -j fabula --judge-url fake: --most 10 --json o.json
judge stress good.json --refs annotator_1.json -j fabula --judge-url fake: --most 5 --json o.json
score good.json -r annotator_1.json -m SODA_c(text=judge:fabula) --judge-url fake: --judge-record j.jsonl --json o.json
host codabench --refs annotator_1.json -m SODA_d --start 2027-01-01 -o bundle
host evalai --refs annotator_1.json -m SODA_d --start 2027-01-01 -o bundle
where lmms-eval
demo --copy tour
demo -m SODA_d -o reports
convert good.json out.jsonl --to fabula
convert annotator_1.json out.json --to activitynet
convert good.json out.parquet
"""
# what is refused: exit code 2 and one line
REFUSED = f"""
score nothing.json {BOTH}
score good.json
score good.json {BOTH} -m SODAc
score good.json {BOTH} -p soda-2020
score good.json {BOTH} --task captions
score good.json {BOTH} --seed 1
score good.json {BOTH} --metrics
scroe good.json
compare good.json {BOTH}
convert good.json good.csv
power good.json {BOTH} -m SODA_c
power good.json over_segmenting.json out_of_order.json {BOTH} -m SODA_c
lint nothing.json
plot intervals good.json -o p.svg
judge check good.json --refs annotator_1.json -j nobody --judge-url fake:
host nowhere --refs annotator_1.json -o b
predict pss nothing --features nothing -o o.json
train pss --data nothing --features nothing --out run
study new nothing.toml -o s
annotate run nothing.jsonl -s s.sqlite --blind
people show nothing.npz --page p.html
search dog --store nothing
"""
LISTS = (
    "metrics",
    "protocols",
    "formats",
    "scorers",
    "judges",
    "tasks",
    "extractors",
    "embedders",
    "faces",
    "readers",
    "training",
    "models",
)


def every() -> list[Run]:
    found = [
        *surface.runs(),
        *verbs(),
        *golden(),
        *formats(),
        *metrics(),
        *artefacts(),
        *real(),
    ]
    named = [replace(run, group=run.name.partition(":")[0]) for run in found]
    assert len({run.name for run in named}) == len(named), "two runs of one name"
    return named


def words_of(line: str) -> tuple[str, ...]:
    return tuple(line.split())


def demo_inputs() -> dict[str, Path]:
    import fabula

    folder = Path(fabula.__file__).parent / "demo"
    more = {"labels.csv": "identity/fitb-labels.ref.csv", "spoken.jsonl": "grounding/spoken.jsonl"}
    judged = ("inputs/two.json", "inputs/preds_two.json", "judge/judge.jsonl")
    return (
        {name: folder / name for name in DEMO}
        | {name: GOLDEN / path for name, path in more.items()}
        | {Path(path).name: ARTEFACTS / path for path in judged}
    )


def verbs() -> Iterator[Run]:
    inputs = demo_inputs()
    lines = [line for line in TABLES.splitlines() if line] + [f"list {what}" for what in LISTS]
    for line in lines:
        for columns in (None, *WIDTHS):
            yield Run(f"verb: {line} [{columns or 'pipe'}]", words_of(line), columns=columns, inputs=inputs)
    for line in filter(None, REFUSED.splitlines()):
        yield Run(f"refused: {line}", words_of(line), inputs=inputs)
    for line in lines[:2]:
        yield Run(f"verb: {line} [python]", words_of(line), kernel="python", inputs=inputs)
    for name, _ in surface.commands():
        words = () if name == "fabula" else tuple(name.split())
        yield Run(f"help: {name}", call=lambda w=words: helped(w))


def helped(words: tuple[str, ...]) -> Parts:
    """A help text is words; that there is one, and its exit code, are not."""
    from tools.snapshot.take import command

    code, out, err = command((*words, "--help"), ROOT, None)
    return {"exit": str(code), "streams": f"{bool(out)} {bool(err)}", "words": out}


def golden() -> Iterator[Run]:
    """Every golden case under its protocol, by both kernels; and by default, where its files say their task."""
    from tests.golden import test_golden

    for case in test_golden.CASES:
        protocol, one = case.values
        for kernel in KERNELS:
            name = f"golden: {case.id} [{kernel}]"
            yield Run(name, call=lambda p=protocol, c=one: describe(test_golden.score(p, c)), kernel=kernel)
    seen = set()
    for case in test_golden.CASES:
        _, one = case.values
        key = (one["preds"], *one["refs"])
        if key not in seen and "judge" not in one and "checklist" not in one:
            seen.add(key)
            yield Run(f"default: {one['preds']} {' '.join(one['refs'])}", call=lambda c=one: describe(by_default(c)))


def by_default(case: dict[str, Any]) -> Any:
    from tests.golden.test_golden import found

    import fabula

    options = {k: found(v) if k == "sets" else v for k, v in case.get("options", {}).items()}
    return fabula.score(found(case["preds"]), [found(r) for r in case["refs"]], **options)


def describe(result: Any) -> Parts:
    """The JSON, and the rows."""
    document = result.to_dict()
    warnings = document.pop("warnings")
    rows = {name: [rounded(dict(row)) for row in table.dicts()] for name, table in result.rows.items()}
    return {
        "json": json.dumps(rounded(document), indent=1),
        "rows": json.dumps(rows, default=str),
        "words": "\n".join(warnings),
    }


def formats() -> Iterator[Run]:
    """The example of every format: linted, and what is read converted into every format that is written."""
    from fabula.io import all_formats

    some = [format for format in all_formats() if format.example]
    able = [format for format in all_formats() if format.write and "dense" in format.tasks]
    for format in some:
        ending = format.pattern.split(", ")[0].removeprefix("*")
        name = f"example{ending}" if ending.startswith(".") else ending
        yield Run(
            f"format: lint {format.name}",
            call=lambda f=format, n=name: on_example(f, n, ("lint", n, "--format", f.name)),
        )
        for other in able if "dense" in format.tasks else ():
            target = "out.jsonl" if other.lines else f"out.{other.name}" if other.texts else "out.json"
            words = ("convert", name, target, "--from", format.name, "--to", other.name)
            yield Run(
                f"format: {format.name} to {other.name}", call=lambda f=format, n=name, w=words: on_example(f, n, w)
            )


def on_example(format: Any, name: str, words: tuple[str, ...]) -> Parts:
    from tools.snapshot.take import take

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / name
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(format.example, encoding="utf-8")
        return take(Run(name, words, inputs={name: source}))


def metrics() -> Iterator[Run]:
    """Every metric that needs no judge, by its name alone, on the demo; by both kernels.

    SPICE's parser in Python takes minutes on the demo: its golden cases are small and run by both.
    """
    from fabula.metrics import room

    inputs = demo_inputs()
    for name in room.names():
        for kernel in KERNELS[:1] if "SPICE" in name else KERNELS:
            words = (
                "score",
                "good.json",
                "--refs",
                "annotator_1.json",
                "annotator_2.json",
                "-m",
                name,
                "--json",
                "o.json",
                "--rows",
                "r.jsonl",
            )
            yield Run(f"metric: {name} [{kernel}]", words, kernel=kernel, inputs=inputs)


def artefacts() -> Iterator[Run]:
    """What is done with the artefacts of tests/artefacts: every line of its commands.txt, in a copy of the folder."""
    if (ARTEFACTS / "commands.txt").is_file():
        yield Run("artefact: every command", call=on_artefacts)


def on_artefacts() -> Parts:
    from tools import artefacts as made

    with tempfile.TemporaryDirectory(prefix="fabula-snapshot-") as place, contextlib.chdir(place):
        folder = Path(place) / "artefacts"
        shutil.copytree(ARTEFACTS, folder)
        made.stamp_inputs(folder)
        with contextlib.chdir(folder):
            lines = made.read_commands()
            return {line: json.dumps(rounded(made.observe(line, folder), 6), default=str) for line in lines}


def real() -> Iterator[Run]:
    """Real annotations and predictions, read where they lie."""
    listed = ROOT / "tests" / "snapshot-real.txt"
    if SHARED.is_dir() and listed.is_file():
        for line in listed.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                words = tuple(word.replace("DATA", str(SHARED)) for word in line.split())
                yield Run(f"real: {line}", words)
