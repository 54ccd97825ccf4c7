"""Run the commands behind measured figures of README and docs, and look whether the pages still say what they print.

    python tools/figures.py            all of them; exit code 1 where a page and a command disagree
    python tools/figures.py --quick    those that take seconds
    python tools/figures.py --page X   those of one page (docs/compare.md)
    python tools/figures.py --counts   counts of released captions that no other command prints

A figure is a page, the text in it, and the command that gives it: the numbers of the text must stand in the output, in
this order, rounded as the page rounds them (.4371 is 43.71 there). Without a text it is the block of the page that
begins with `$ command`, all its lines. Commands run in a folder with the bundled stories; DATA is ../shared/data, and
what needs it is passed over where it is absent. Outputs of commands on a terminal stand in docs/tutorial.md, which
tools/tutorial.py checks. Figures of training runs and times name their command where they stand and are not made
again here.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
DATA = ROOT.resolve().parent / "shared" / "data"
NUMBER = re.compile(r"[-+−]?(?:\d[\d,]*)?\.?\d+")


class Figure(NamedTuple):
    page: str
    text: str  # stands in the page; "": the block that begins with the command
    command: str
    quick: bool = False


REFS = "--refs annotator_1.json annotator_2.json"
ANET, YC2, QV = "DATA/anet_captions", "DATA/youcook2_pss/yc2_my_test.json", "DATA/qvhighlights"
BMT = f"fabula score DATA/anet_preds_bmt/captioning_results_val_{{0}}_e26.json --refs {ANET}/val_{{0}}_no_missings.json"
TIMECHAT = "fabula score DATA/timechat_yc2_dvc/pred_anet_format.json --refs DATA/timechat_yc2_dvc/gt_anet_format.json"
UNIFORM = f"fabula baseline uniform --refs {YC2} {{}} -o u.json && fabula score u.json --refs {YC2} -p pss-2022"
TASTY = "DATA/tasty/tasty_{}_anet_format_v2.json"
BOTH = (
    f"fabula baseline uniform --refs {TASTY.format('val')} {{0}} -o v.json && "
    f"fabula baseline uniform --refs {TASTY.format('test')} {{0}} -o t.json && "
    "python -c \"import json; v, t = (json.load(open(f)) for f in ('v.json', 't.json')); "
    "v['results'] |= t['results']; json.dump(v, open('u.json', 'w'))\" && "
    f"fabula score u.json --refs {TASTY.format('val')} {TASTY.format('test')} --task procedure "
    "-m 'SODA_d(missing=drop,order=predictions,segments=raw,eps=1e-8)'"
)  # 400 videos in either file: the mean of the two sets is that of all videos
ONE = f"fabula score {ANET}/val_2.json --refs {ANET}/val_1.json -p soda-2021 -m SODA_c SODA_d"
MERGED = f"{BMT.format(1)} {ANET}/val_2_no_missings.json -p soda-2021 -m SODA_c"
TINY = f"fabula score {ANET}/densevid_tiny_sample.json --refs {ANET}/val_1.json -p soda-2021"
COCO = "fabula score results.json --refs annotations.json -p coco --json -"
MAP = f"--refs {QV}/highlight_val_release.jsonl -m MR_mAP"
FITB = "--refs DATA/lsmdc_fillin/references_val_new.csv --sets DATA/lsmdc_fillin/valSets.csv -p lsmdc-fillin --json -"
IDS = "fabula baseline {} --refs DATA/lsmdc_fillin/references_val_new.csv -o ids.csv && fabula score ids.csv " + FITB
SILENCE = (
    'fabula stress "SODA_c(missing=empty,text=bertscore:minilm,tok=none)" "SODA_c(text=bertscore:minilm,tok=none)" '
    "SODA_c --ways unrelated,silence"
)
REFUSE = 'fabula stress DVC_METEOR "DVC_METEOR(missing=drop)" PRF@0.5 --ways refuse'
QUIZ = (
    "fabula stress AutoDQ 'AutoDQ(missing=drop,count=any)' VDC 'VDC(zeros=drop)' Choice 'Choice(read=plm)' "
    "--corpus questions.jsonl"
)
EXPLAIN = f"fabula protocols out_of_order.json {REFS} --explain soda-2021 vid2seq"
SYSTEMS = "good.json over_segmenting.json out_of_order.json"
FLICKR = "fabula reproduce run flickr8k --data DATA/flickr8k_human | grep '| here |'"  # ours, not the printed ones
COUNTS = "python tools/figures.py --counts"
REPRO = "docs/reproduction.md"

FIGURES = (
    Figure("README.md", "", "make demo", True),
    Figure("docs/compare.md", "", f"fabula compare {SYSTEMS} {REFS} --metrics SODA_c,SODA_d,mIoU", True),
    Figure("docs/diagnose.md", "", f"fabula diagnose out_of_order.json {REFS}", True),
    Figure("docs/diagnose.md", "27.44 | .951 | .817 | .357 | .988", f"fabula diagnose good.json {REFS}"),
    Figure("docs/diagnose.md", "4.09 | .496 | .893 | .111 | .836", f"fabula diagnose over_segmenting.json {REFS}"),
    Figure("docs/protocols.md", "", EXPLAIN),
    Figure("docs/stress.md", "", "fabula stress"),
    Figure("docs/stress.md", "1.98", REFUSE),
    Figure("docs/dense-2026.md", "| .12 | .12 | .02 |", SILENCE),
    Figure("docs/dense-2026.md", "| 1.00 | .54 | .54 |", SILENCE),
    Figure("docs/compare.md", "mIoU 91.17 | -2.9", "python reproduce/calibration.py few 20 --data DATA"),
    Figure("docs/meta.md", "METEOR 41.82", FLICKR),
    Figure("docs/meta.md", "CIDEr 43.89", FLICKR),
    Figure("docs/meta.md", "ROUGE-L 32.31", FLICKR),
    Figure("docs/meta.md", "30.78", FLICKR),
    Figure("docs/spice.md", "44.50, 44.58", "python tools/spice/agree.py DATA --part hold"),
    Figure("docs/stories.md", ".956)", f"fabula score {ANET}/val_1.json --refs {ANET}/val_1.json -m DVC_METEOR"),
    Figure("docs/stories.md", ".9917", f"fabula score shuffled.json --refs {ANET}/val_1.json -m 'SODA_c(order=start)'"),
    Figure("docs/moments.md", "from 32.20", f"fabula score {QV}/sample_val_preds.jsonl {MAP} -p qvhighlights"),
    Figure("docs/moments.md", "to 32.82", f"fabula score halved.jsonl {MAP} -p qvhighlights"),
    Figure("docs/moments.md", "falls to 16.42", f"fabula score halved.jsonl {MAP} --task highlights"),
    Figure("docs/identity.md", ".5933798415812808 | 0 | 1", IDS.format("all-different")),
    Figure("docs/identity.md", ".4066201584187187 | 1 | 0", IDS.format("same-id")),
    Figure("docs/annotate.md", "24,316", COUNTS),
    Figure("docs/annotate.md", "drop 59: 51", COUNTS),
    Figure("docs/annotate.md", "3,720 coarse test captions 3,718", COUNTS),
    Figure("docs/annotate.md", "3,697", COUNTS),
    Figure("docs/annotate.md", "2,313", COUNTS),
    Figure("docs/annotate.md", "27 released", COUNTS),
    Figure("docs/judges.md", "103,989", COUNTS),
    Figure("docs/questions.md", "| .50 | 1.00 | .50 | 1.00 | .50 | .50 |", QUIZ),
    Figure("docs/questions.md", "| .28 | .28 |", QUIZ),
    Figure("docs/questions.md", "| .00 | 1.00 |", QUIZ),
    Figure(REPRO, ".058600 .061757 .058282 |\n", ONE),
    Figure(REPRO, ".437074 .455177 .430971 |\n", ONE),
    Figure(REPRO, ".118989 .058061 .077260 |\n", MERGED),
    Figure(REPRO, ".009366 |\n", f"{TIMECHAT} -p soda-2021"),
    Figure(REPRO, ".021337 |\n", f"{TIMECHAT} -p soda-2021"),
    Figure(REPRO, ".008370 |\n", f"{TIMECHAT} -p soda-2021"),
    Figure(REPRO, ".187412 .193269 .177411 |\n", f"{TIMECHAT} -p soda-2021"),
    Figure(REPRO, ".058794 .086298 .042756 .336656 |\n", TINY),
    Figure(REPRO, ".107424 |\n", f"{BMT.format(1)} -p densevid-2018 -m METEOR"),
    Figure(REPRO, ".110587 |\n", f"{BMT.format(2)} -p densevid-2018 -m METEOR"),
    Figure(REPRO, ".84 1.04 2.70", f"{TIMECHAT} -p timechat"),
    Figure(REPRO, "9.26 2.54", f"{TIMECHAT} -p timechat"),
    Figure(REPRO, "| Fabula | .5793995754573356 | .40439129741018104 | .2785363856619147 | .1908290437674253 |", COCO),
    Figure(REPRO, "| .19525467177780284 | .39625269357570847 | .5997905185184199 |\n", COCO),
    Figure(REPRO, "29.02 31.67 29.47", UNIFORM.format("--count 8"), True),
    Figure(REPRO, "22.50 43.77 28.53", UNIFORM.format("--duration 19.6257")),
    Figure(REPRO, "30.47 30.47 30.47", UNIFORM.format("--reference-count")),
    Figure(REPRO, "35.11 42.47 36.83", BOTH.format("--count 10"), True),
    Figure(REPRO, "37.84 44.71 39.88 |", BOTH.format("--duration 6")),
    Figure(REPRO, "43.35 43.35 43.35", BOTH.format("--reference-count")),
    Figure(REPRO, "32.324 | 30.776 | 32.314 | 41.822 | 43.891", FLICKR),
)  # fmt: skip


def run(command: str, folder: Path, bin_folder: Path) -> str:
    """What it prints, with the commands of this environment."""
    root, data = shlex.quote(str(ROOT)), shlex.quote(str(DATA))  # a clone may lie in a path with a space
    line = re.sub(r"\bpython (?=(reproduce|bench|tools)/)", lambda _: f"python {root}/", command)
    line = re.sub(r"\bDATA\b", lambda _: data, line).replace("make demo", "fabula demo --out demo-report")
    paths = os.pathsep.join([str(bin_folder), os.environ.get("PATH", "")])
    ran = subprocess.run(
        ["sh", "-c", line], cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": paths}
    )
    if ran.returncode:
        return f"{command}: exit code {ran.returncode}: {ran.stderr.strip()[-300:]}"
    return ran.stdout


def needs_data(command: str) -> bool:
    """Whether it reads ../shared/data, or a file that `spoil_data` makes of it."""
    return bool(re.search(r"\bDATA\b|halved|shuffled|results|--counts", command))


def find_block(page: str, command: str) -> list[str]:
    """The lines below the command in its block of the page, as words; [] where there is none."""
    for block in re.findall(r"^```\w*\n(.*?)^```$", page, flags=re.M | re.S):
        text = re.sub(r" \\\n +", " ", block)
        for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
            first, _, rest = part.partition("\n")
            if re.split(r"  +#", first)[0].strip() == command and rest.strip():
                return [" ".join(line.split()) for line in rest.splitlines() if line.strip()]
    return []


def absent_lines(told: Sequence[str], printed: str) -> list[str]:
    """The lines of a page that a command does not print, but for … and where the report is."""
    made = {" ".join(line.split()) for line in printed.splitlines()}
    return [line for line in told if line not in made and line != "…" and not line.startswith("reports in ")]


def absent_number(text: str, printed: str) -> str:
    """The first number of the text that the output does not have behind those before it; "" where it has all."""
    words = (word.strip("[],;:()%*|").replace(",", "").replace("−", "-") for word in re.split(r"[\s|]+", printed))
    seen = iter([float(word) for word in words if re.fullmatch(r"[-+]?\d*\.?\d+(e-?\d+)?", word)])
    for number in NUMBER.findall(text):
        wanted = float(number.replace(",", "").replace("−", "-"))
        near = 0.5000001 * 10.0 ** -len(number.partition(".")[2]) if "." in number else 1e-9
        if not any(abs(one - wanted) <= near or abs(one / 100 - wanted) <= near for one in seen):
            return number
    return ""


def check(figures: Sequence[Figure], folder: Path, bin_folder: Path) -> list[str]:
    """What does not agree, a line each. A command that serves several figures runs once."""
    printed: dict[str, str] = {}
    faults = []
    for page, text, command, _ in figures:
        said = (ROOT / page).read_text(encoding="utf-8")
        block = [] if text else find_block(said, command)
        if text not in said or not (text or block):
            faults.append(f"{page} does not hold {text or f'a block $ {command}'!r}")
            continue
        if needs_data(command) and not DATA.exists():
            print(f"passed over, no ../shared/data: {command}")
            continue
        if command not in printed:
            printed[command] = run(command, folder, bin_folder)
        absent = absent_lines(block, printed[command]) if block else [absent_number(text, printed[command])]
        faults += [f"{page}: {line!r} is not what `{command}` prints" for line in absent if line]
        if any(absent) and ": exit code " in printed[command]:
            faults.append(printed[command])
    return faults


def lay_stories(folder: Path) -> None:
    """The bundled stories, as `fabula demo` writes them, and the 40 made-up questions of docs/questions.md."""
    for file in (ROOT / "src" / "fabula" / "demo").glob("*.json"):
        (folder / file.name).write_bytes(file.read_bytes())
    lines = []
    for k in range(40):
        events = [f"A person number {k} runs.", f"The dog number {k} jumps high."]
        asked = [{"question": f"Which thing is number {i}?", "answer": f"word{i}{k}"} for i in range(2)]
        options = [f"option {j} of {k}" for j in range(4)]
        told = {"references": [" ".join(events)], "events": events, "asked": asked, "options": options}
        lines.append(json.dumps({"id": k, **told, "gold": "ABCD"[k % 4]}) + "\n")
    (folder / "questions.jsonl").write_text("".join(lines), encoding="utf-8")


def spoil_data(folder: Path) -> None:
    """COCO's example, Moment-DETR's answers with every second list empty, ActivityNet's val_1 with events shuffled."""
    coco = DATA / "coco_fakecap"
    items = json.loads((coco / "vdtk_dataset_with_refs.json").read_text(encoding="utf-8"))
    refs = [{"image_id": item["_id"], "caption": text} for item in items for text in item["references"]]
    (folder / "annotations.json").write_text(json.dumps({"annotations": refs}), encoding="utf-8")
    (folder / "results.json").write_bytes((coco / "captions_val2014_fakecap_results.json").read_bytes())
    lines = [json.loads(line) for line in (DATA / "qvhighlights" / "sample_val_preds.jsonl").open(encoding="utf-8")]
    for entry in lines[1::2]:
        entry["pred_relevant_windows"] = []
    (folder / "halved.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in lines), encoding="utf-8")
    truth = json.loads((DATA / "anet_captions" / "val_1.json").read_text(encoding="utf-8"))
    rng = random.Random(7)
    for video in truth.values():
        events = list(zip(video["timestamps"], video["sentences"], strict=True))
        rng.shuffle(events)
        video["timestamps"], video["sentences"] = (list(part) for part in zip(*events, strict=True))
    (folder / "shuffled.json").write_text(json.dumps(truth), encoding="utf-8")


def count_released() -> None:
    """What rules of ours say of VERIFIED's released captions, and of ActivityNet's and the demo's."""
    import fabula
    from fabula import demo
    from fabula.annotation.candidates import LEAK, find_fault
    from fabula.annotation.disturb import every
    from fabula.text.judges.attempts import speaks_to_judge

    names = ("charades_fig_train", "charades_fig_test", "didemo_fig_val", "didemo_fig_test")
    files = [(DATA / "verified_fig" / f"{name}.jsonl").read_text(encoding="utf-8") for name in names]
    fig = [[json.loads(line) for line in text.splitlines()] for text in files]
    found = Counter(find_fault(r["fig_desc"], r["cog_desc"]) for rows in fig for r in rows)
    print("released captions", found.total(), "that screening would drop", found.total() - found[None])
    for why, n in found.most_common():
        print(n, why or "may stand")
    coarse = [r["cog_desc"] for r in fig[1]]
    print("coarse test captions of Charades-FIG", len(coarse))
    for kind in ("static", "dynamic"):
        print("with a disturbed one,", kind, sum(any(True for _ in every(caption, kind)) for caption in coarse))
    charades = fig[0] + fig[1]
    print("captions of Charades-FIG that tell a time", sum(bool(LEAK.search(r["fig_desc"])) for r in charades))
    print("moments of Charades-FIG that end after their video", sum(r["time"][1] > r["duration"] for r in charades))
    paths = [*demo.SYSTEMS.values(), *demo.REFERENCES.values(), *(DATA / "anet_preds_bmt").glob("*.json")]
    paths += [DATA / "anet_captions" / f"{name}.json" for name in ("train", "val_1", "val_2")]
    told = [e.caption for path in paths for story in fabula.read(path)[0].values() for e in story.events if e.caption]
    print("captions of the demo, of ActivityNet and of BMT", len(told))
    print("of these speak to a judge", sum(map(speaks_to_judge, told)))


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare figures of README and docs with what their commands print.")
    parser.add_argument("--quick", action="store_true", help="Only those that take seconds.")
    parser.add_argument("--page", default="", help="Only those of one page.")
    parser.add_argument("--counts", action="store_true", help="Print counts of released captions, and compare nothing.")
    asked = parser.parse_args()
    if asked.counts:
        return count_released()
    chosen = [f for f in FIGURES if (f.quick or not asked.quick) and asked.page in ("", f.page)]
    with tempfile.TemporaryDirectory() as name:
        lay_stories(Path(name))
        if DATA.exists():
            spoil_data(Path(name))
        faults = check(chosen, Path(name), Path(sys.executable).parent)
    print("\n".join([*faults, f"{len(chosen)} figures, {len(faults)} faults"]))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
