"""Half-sent requests held for a minute: is anybody else answered meanwhile, how soon, and how long does the log get?

    python bench/slow_clients.py [--of study|store] [--half 1500] [--seconds 60] [--files 1024]

The server is a process whose limit of open files is --files (as `ulimit -n`). One client opens --half connections,
sends half a request over each and one more byte every two seconds; whatever is closed is opened again. Somebody else
asks for the page all the while, on a new connection each time.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import resource
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from study_kills import free_port
from study_load import make_clip, make_plan

HALF = b"GET /api/state HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "


def make_command(folder: Path, of: str, port: int) -> list[str]:
    fabula = [sys.executable, "-m", "fabula"]
    if of == "study":
        plan = make_plan(folder, 3, 3, 2.0)
        subprocess.run([*fabula, "study", "new", plan, "-o", folder / "study"], check=True)
        return [*fabula, "study", "serve", str(folder / "study"), "--port", str(port)]
    films = folder / "films"
    films.mkdir()
    make_clip(films / "film.mp4", 8.0)
    subprocess.run([*fabula, "index", films, "--store", folder / "store", "--with", "colours"], check=True)
    return [*fabula, "serve", "--store", str(folder / "store"), "--port", str(port)]


async def hold(port: int, until: float, counts: dict[str, int]) -> None:
    """One half request, and another whenever it is closed."""
    while time.monotonic() < until:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            counts["refused"] += 1
            await asyncio.sleep(0.5)
            continue
        counts["opened"] += 1
        with contextlib.suppress(OSError):
            writer.write(HALF)
            while time.monotonic() < until:
                with contextlib.suppress(TimeoutError):
                    if not await asyncio.wait_for(reader.read(1), 2.0):
                        break
                writer.write(b"a")
        counts["closed"] += 1
        writer.close()
        await asyncio.sleep(1.0)


def ask(port: int) -> float:
    """Seconds until the page is there."""
    begun = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
        got = b""
        while piece := connection.recv(1 << 16):
            got += piece
    if not got.startswith(b"HTTP/1.1 200"):
        raise OSError(f"answered {got[:60]!r}")
    return time.monotonic() - begun


async def hold_all(port: int, half: int, seconds: float) -> dict[str, int]:
    counts = {"opened": 0, "closed": 0, "refused": 0}
    until = time.monotonic() + seconds
    await asyncio.gather(*(hold(port, until, counts) for _ in range(half)))
    return counts


def run(port: int, half: int, seconds: float) -> dict[str, object]:
    """The slow clients in a process of their own, whoever else asks in this one."""
    slow = subprocess.Popen(
        [sys.executable, __file__, "--slow", str(port), "--half", str(half), "--seconds", str(seconds)],
        stdout=subprocess.PIPE,
    )
    time.sleep(1.0)
    waits, faults, until = list[float](), list[str](), time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            waits.append(ask(port))
        except OSError as error:
            faults.append(f"{type(error).__name__} {error}")
        time.sleep(0.1)
    told = slow.communicate()[0]
    waits.sort()
    return {
        "asked": len(waits) + len(faults),
        "answered": len(waits),
        "faults": faults[:5],
        **{name: round(waits[int(share * (len(waits) - 1))], 3) for name, share in (("p50", 0.5), ("p99", 0.99))},
        "max": round(waits[-1], 3),
        "half requests": json.loads(told),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--of", choices=("study", "store"), default="study")
    parser.add_argument("--half", type=int, default=1500)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--files", type=int, default=1024)
    parser.add_argument("--slow", type=int, metavar="PORT", help=argparse.SUPPRESS)
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (given.half + 1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    if given.slow is not None:
        print(json.dumps(asyncio.run(hold_all(given.slow, given.half, given.seconds))))
        return
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("wb") as log:
        port = free_port()
        command = make_command(Path(folder), given.of, port)
        limit = f'ulimit -n {given.files}; exec "$@"'
        server = subprocess.Popen(["bash", "-c", limit, "serve", *command], stdout=log, stderr=log)
        try:
            for _ in range(600):
                with contextlib.suppress(OSError):
                    ask(port)
                    break
                time.sleep(0.1)
            told = run(port, given.half, given.seconds)
        finally:
            server.terminate()
            server.wait(20)
        told["log bytes"] = (Path(folder) / "log").stat().st_size
        print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
