"""What `fabula annotate` and its client must stand: kills, a busy endpoint, a million calls, the released benchmark.

    python bench/annotate.py kills        40 moments, killed 20 times at random; replayed without a network
    python bench/annotate.py rate         100 requests at once against a server with a limit of its own
    python bench/annotate.py million      plan, status and resume of a million calls
    python bench/annotate.py fig          Table 1 and Table 2 of Charades-FIG and DiDeMo-FIG (minutes: MiniLM)

Without a word all but the last are run. Real videos and files stand beside the project (../shared/data) or are named
with FABULA_DATA; where they are not there, moments are shown to nobody (--blind) and `fig` is left out.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fabula.annotation import fake
from fabula.annotation.moments import read_moments
from fabula.annotation.plan import plan, summarise
from fabula.annotation.recipe import Recipe, RecipeOptions
from fabula.annotation.run import Work
from fabula.annotation.store import Store
from fabula.llm import Call, EndpointOptions
from fabula.llm.fake import Server, serving
from fabula.llm.session import Session

DATA = Path(os.environ.get("FABULA_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
KEY = "sk-bench-0123456789abcdef"
KILLS = 20
FABULA = [sys.executable, "-m", "fabula", "annotate"]


def print_row(*cells: object) -> None:
    print("\t".join(map(str, cells)), flush=True)


def memory() -> int:
    """The most that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


# ── kills ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def make_moments(path: Path) -> tuple[int, list[str]]:
    """40 moments of the videos at hand; returns how many, and the flags that show them."""
    videos = sorted(f for f in (DATA / "videos").glob("*") if f.suffix in (".mp4", ".avi")) if DATA.is_dir() else []
    acts = ("a person moves", "something changes", "somebody does a thing", "the scene goes on")
    lengths = {f.name: length_of(f) for f in videos} or {f"v{i}": 20.0 for i in range(10)}
    lines = []
    for i in range(40):
        name = list(lengths)[i % len(lengths)]
        part, long = i // len(lengths), lengths[name]
        span = [round(long * part / 5, 2), round(long * (part + 1.5) / 5, 2)]
        words = f"{acts[part % 4]} in part {part} of {name}."
        lines.append({"desc_id": i, "video": name, "time": span, "cog_desc": words, "duration": long})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return len(lines), ["--videos", str(DATA / "videos")] if videos else ["--blind"]


def length_of(video: Path) -> float:
    from fabula.media.decode import Video

    seen = Video(video)
    for _ in seen.walk():
        pass
    return round(seen.duration, 2)


def contents(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """All of a store but the seconds that answers took."""
    db = sqlite3.connect(path)
    answers = "key, step, model, call, text, finish, tokens_in, tokens_out, price"
    tables = {"moments": "*", "frames": "*", "answers": answers, "outcomes": "*", "recipes": "*"}
    told = {t: sorted(db.execute(f"SELECT {c} FROM {t}").fetchall(), key=repr) for t, c in tables.items()}
    db.close()
    return told


def run_kills(folder: Path) -> None:
    moments = folder / "moments.jsonl"
    count, shown = make_moments(moments)
    environment = {**os.environ, "OPENAI_API_KEY": KEY}
    rng = random.Random(0)
    server = Server(reply=fake.reply, seconds=0.05, keep=lambda body, head: head["x-call"])

    def command(store: str, *more: str) -> list[str]:
        asked = ["--url", server.url, "--model", "fake", "--concurrency", "4"]
        options = [*asked, "--keyframes", "4", "--price", "1/2", *shown]
        return [*FABULA, "run", str(moments), "-s", str(folder / store), *options, *more]

    with serving(server):
        began = time.monotonic()
        subprocess.run(command("whole", "--record", str(folder / "record.jsonl")), check=True, env=environment)
        whole = time.monotonic() - began
        calls = len(server.log)
        server.log.clear()
        kept, asked_again = 0, 0
        for _ in range(KILLS):
            before = len(server.log)
            stored = keys_of(folder / "killed")
            process = subprocess.Popen(command("killed"), env=environment, stderr=subprocess.DEVNULL)
            wanted, deadline = before + rng.randrange(1, calls // KILLS + 8), time.monotonic() + 30
            while len(server.log) < wanted and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.005)
            time.sleep(rng.random() * 0.1)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            kept = len(keys_of(folder / "killed"))
            asked_again += len(stored & {key for _, key in server.log[before:]})
        subprocess.run(command("killed"), check=True, env=environment, stderr=subprocess.DEVNULL)
        answered = [body for status, body in server.log if status == 200]
    same = contents(folder / "killed") == contents(folder / "whole")
    print_row("moments", count, *shown[:1])
    print_row("calls of an unbroken run", calls, f"{whole:.1f} s")
    print_row("kills", KILLS, f"answers kept at the last kill: {kept}")
    print_row("store equal to that of an unbroken run", same)
    print_row("stored answers asked for again", asked_again)
    print_row("calls that were on their way when the process died, made again", len(answered) - len(set(answered)))
    assert same and not asked_again
    subprocess.run(
        [*command("replayed", "--replay", str(folder / "record.jsonl")), "--url", "http://127.0.0.1:9/v1"],
        check=True,
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    outs = []
    for name in ("whole", "killed", "replayed"):
        out = folder / f"out-{name}"
        subprocess.run([*FABULA, "export", "-s", str(folder / name), "-o", str(out)], check=True)
        outs.append({f.name: f.read_bytes() for f in out.iterdir()})
    print_row("files of the benchmark", len(outs[0]), "equal after replay", outs[0] == outs[2])
    print_row("files of the benchmark", len(outs[0]), "equal after kills", outs[0] == outs[1])
    assert outs[0] == outs[1] == outs[2]
    files = [f for f in folder.rglob("*") if f.is_file()]
    print_row("files searched for the key", len(files), "found in", sum(KEY.encode() in f.read_bytes() for f in files))


def keys_of(store: Path) -> set[str]:
    if not store.exists() or not store.stat().st_size:
        return set()
    db = sqlite3.connect(store)
    try:
        return {row[0] for row in db.execute("SELECT key FROM answers")}
    except sqlite3.OperationalError:  # killed before its tables were made
        return set()
    finally:
        db.close()


# ── rate ───────────────────────────────────────────────────────────────────────────────────────────────────────────

SERVER = """
import sys, time
from fabula.llm.fake import Server, serving
settings = eval(sys.argv[1], {})
server = Server(keep=lambda body, head: None, **settings)
with serving(server):
    print(server.port, flush=True)
    sys.stdin.read()
    print(server.most, sum(s == 200 for s, _ in server.log), sum(s == 429 for s, _ in server.log), flush=True)
"""


def run_rate(folder: Path) -> None:
    print_row(
        "server's own limit",
        "asked",
        "answered a second",
        "of the limit",
        "most at once",
        "429",
        "CPU a call",
        "bare sockets",
    )
    cases = [
        ({"seconds": 1.0, "slots": 50}, 50.0, {}, 2000),  # 50 wait while 50 are worked on
        ({"seconds": 0.5, "rate": 50.0}, 50.0, {"rpm": 50 * 60}, 2000),
        ({"seconds": 0.5, "slots": 50}, 100.0, {}, 3000),
        ({"seconds": 0.5, "rate": 100.0}, 100.0, {"rpm": 100 * 60}, 3000),
        ({"seconds": 0.25, "slots": 50}, 200.0, {}, 4000),
    ]
    for settings, limit, options, n in cases:
        process = subprocess.Popen(
            [sys.executable, "-c", SERVER, repr(settings)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdin and process.stdout
        port = int(process.stdout.readline())
        bare = asyncio.run(ask_barely(port, n // 2, 100)) if "slots" in settings else None
        calls = [Call("m", f"question {i}") for i in range(n)]
        asked = EndpointOptions(url=f"http://127.0.0.1:{port}/v1", concurrency=100, **options)
        began, worked = time.monotonic(), time.process_time()
        with Session(asked) as session:
            found = session.ask(calls)
        taken, worked = time.monotonic() - began, time.process_time() - worked
        process.stdin.close()
        most, fine, busy = map(int, process.stdout.read().split())
        process.wait()
        rate = len(found) / taken
        fine -= n // 2 if bare else 0
        print_row(f"{limit:g}/s", n, f"{rate:.1f}", f"{rate / limit:.1%}", most, busy, f"{1000 * worked / n:.2f} ms",
                  f"{bare:.1f}" if bare else "-")  # fmt: skip
        assert fine == n and most <= 100


async def ask_barely(port: int, n: int, width: int) -> float:
    """Answers a second of the same server to bytes written and read: what the machine's load leaves of its limit."""
    body = json.dumps(Call("m", "question").body()).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    left = iter(range(n))

    async def work() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in left:
            writer.write(head + body)
            told = (await reader.readuntil(b"\r\n\r\n")).lower()
            await reader.readexactly(int(told.partition(b"content-length:")[2].split(b"\r\n")[0]))
        writer.close()

    began = time.monotonic()
    await asyncio.gather(*(work() for _ in range(width)))
    return n / (time.monotonic() - began)


# ── a million ──────────────────────────────────────────────────────────────────────────────────────────────────────


def run_million(folder: Path) -> None:
    n, frames = 77_000, 8  # 8 + 5 calls each
    moments = folder / "many.jsonl"
    with moments.open("w") as out:
        for i in range(n):
            line = {
                "desc_id": i,
                "video": f"v{i % 9000}",
                "time": [i % 60, i % 60 + 8],
                "cog_desc": f"a person acts {i}",
            }
            out.write(json.dumps(line) + "\n")
    path = folder / "million"
    endpoint = EndpointOptions(price=("1/2",))
    recipe = Recipe.of(endpoint, RecipeOptions(blind=True))
    shown = Recipe.of(endpoint, RecipeOptions())
    began = time.monotonic()
    told = plan(read_moments(moments), shown, endpoint)
    print_row("plan", f"{told.most.calls:,} calls at most", f"{time.monotonic() - began:.1f} s", f"{memory()} MB")
    began = time.monotonic()
    with Store(path, work=True) as store:
        store.add_moments(read_moments(moments))
        print_row("moments into the store", f"{n:,}", f"{time.monotonic() - began:.1f} s", f"{memory()} MB")
        store.put_recipe(recipe.hash, recipe.to_dict())
        fill_answers(store, recipe, n, frames)
    base = memory()
    began = time.monotonic()
    with Store(path) as store:
        status = summarise(store)
        calls = sum(s["calls"] for s in status["steps"].values())
        print_row("status", f"{calls:,} calls", f"{time.monotonic() - began:.1f} s", f"{memory()} MB")
    began = time.monotonic()
    with Store(path, work=True) as store:
        store.add_moments(read_moments(moments))
        work = Work(store, recipe, endpoint)
        work.run()
        spent = time.monotonic() - began
        print_row(
            "resume", f"{work.answered} calls made for 10 moments", f"{spent:.1f} s", f"{memory()} MB ({base} before)"
        )


def fill_answers(store: Store, recipe: Recipe, n: int, frames: int) -> None:
    """SIMULATED: a million answers and all outcomes but ten, put there without a run."""
    steps = [*["static_frame"] * frames, "static_fuse", "dynamic_questions", "dynamic_answers", "dynamic_fuse", "judge"]
    call = json.dumps({"prompt": "x" * 600})
    with store.together():
        rows = (
            (f"{i:032x}{k}", step, "fake", call, "y" * 200, "stop", 300, 100, 1.0, 0.0005)
            for i in range(n)
            for k, step in enumerate(steps)
        )
        store.db.executemany("INSERT INTO answers VALUES (?,?,?,?,?,?,?,?,?,?)", rows)
        keys = [key for (key,) in store.db.execute("SELECT key FROM moments WHERE row > 10")]
        document = json.dumps({"chosen": {"text": "a", "branch": "static", "score": 1.0}})
        store.db.executemany(
            "INSERT INTO outcomes VALUES (?,?,?,?,?,?,?)",
            ((key, recipe.hash, "done", "static", 1.0, "a", document) for key in keys),
        )


# ── the released benchmark ─────────────────────────────────────────────────────────────────────────────────────────


def run_fig(folder: Path) -> None:
    from fabula.annotation.stats import distinctiveness, load_embedder, read_rows, remember

    place = DATA / "verified_fig"
    if not place.is_dir():
        print_row("no released files at", place)
        return
    embed = remember(load_embedder("minilm")())
    for name, files in {
        "charades": ("charades_fig_train.jsonl", "charades_fig_test.jsonl"),
        "didemo val+test": ("didemo_fig_val.jsonl", "didemo_fig_test.jsonl"),
    }.items():
        rows = [row for some in read_rows([place / file for file in files]).values() for row in some]
        began = time.monotonic()
        for side in ("coarse", "fine"):
            embed([getattr(row, side) for row in rows])
        middle, before = time.monotonic(), memory()
        told = distinctiveness(rows, embed, 0.01, 2)
        spent = f"embedding {middle - began:.1f} s, clusters {time.monotonic() - middle:.1f} s"
        counts = [f"{side} {told[side]['classes']}/{told[side]['instances']}" for side in ("coarse", "fine")]
        print_row(name, len(rows), *counts, spent, f"{memory()} MB ({before} before the clusters)")


WORKS = {"kills": run_kills, "rate": run_rate, "million": run_million, "fig": run_fig}

if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    for word in sys.argv[1:] or ["kills", "rate", "million"]:
        print(f"── {word}")
        with tempfile.TemporaryDirectory() as place:
            WORKS[word](Path(place))
