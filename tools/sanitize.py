"""Builds the kernels with the compiler's sanitizers and runs their tests and tools/sanitize_fuzz.py over them.

    make sanitize [ARGS="--kind thread --rounds 1000 --seconds 120"]

Two builds, each in a folder of its own: address with undefined behaviour, and threads. Python itself is not built anew:
the sanitizer's library comes first (LD_PRELOAD), leaks are not looked for (CPython keeps what it will not need again),
and tools/sanitize.supp leaves out what the interpreter and numpy do among themselves. Faults made on purpose must be
reported first (tools/sanitize_control.cpp). Every report is a file in the build's folder; their number is
printed, and any of them, or a failed test, makes the exit code 1.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = {"address": ("libasan.so", "libubsan.so"), "thread": ("libtsan.so",)}
FLAGS = {"address": "address,undefined", "thread": "thread"}
FAULTS = {"address": ["address_fault", "undefined_fault"], "thread": ["thread_fault"]}  # of sanitize_control.cpp
TESTS = [
    "tests/test_kernels.py",
    "tests/match",
    "tests/pair",
    "tests/io/records",
    "tests/metrics/test_moment_kernels.py",
    "tests/text/test_meteor.py",
    "tests/text/test_meteor_index.py",
    "tests/text/test_meteor_words.py",
    "tests/text/test_pcfg.py",
    "tests/text/test_ptb.py",
    "tests/text/test_rouge.py",
    "tests/text/test_scanner.py",
]
TIMED = [  # they say how long something may take, which is not what is asked here
    "tests/match/test_ordered.py::test_5000_by_5000_in_less_than_a_second",
    "tests/text/test_meteor_index.py::test_the_real_tables_are_built_within_a_minute_and_bounds",
]

FINDER = """# Puts the sanitized kernels in the place of the installed ones, in every process that is started from here.
import ctypes, importlib.util, sys

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "fabula._kernels._native":
            return importlib.util.spec_from_file_location(name, {module!r})

sys.meta_path.insert(0, Finder)

# Loaded together they share the function that says where reports go: it must be called in each library by name.
for library in {libraries!r}:
    ctypes.CDLL(library)["__sanitizer_set_report_path"]({report!r})
"""
PLUGIN = """# Everything takes ten times as long: no deadlines, fewer examples.
from hypothesis import HealthCheck, settings

settings.register_profile("sanitize", deadline=None, max_examples=15, suppress_health_check=list(HealthCheck))
settings.load_profile("sanitize")
"""


def find_tools() -> tuple[str, str]:
    """The C++ compiler and cmake, or a line that says what is missing."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
    cmake = shutil.which("cmake")
    if compiler is None or cmake is None:
        sys.exit(f"make sanitize: {'a C++ compiler' if compiler is None else 'cmake'} is missing on this machine")
    return compiler, cmake


def find_library(compiler: str, name: str) -> str:
    found = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    path = found.stdout.strip()
    if not Path(path).is_absolute():  # the compiler prints the bare name where it has none
        sys.exit(f"make sanitize: {compiler} has no {name}; install the sanitizers of the compiler (libgcc-*-dev)")
    return os.path.realpath(path)


def build(kind: str, folder: Path, compiler: str, cmake: str) -> Path:
    """The sanitized module; only what has changed is compiled again."""
    tools = ROOT / "build" / "tools"
    if not (tools / "nanobind").is_dir():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", str(tools)]
        if subprocess.run([*pip, "nanobind>=2.4"]).returncode:
            sys.exit("make sanitize: nanobind could not be installed")
    env = os.environ | {"PYTHONPATH": str(tools), "CXX": compiler}
    settings = [f"-DFABULA_SANITIZE={FLAGS[kind]}", "-DCMAKE_BUILD_TYPE=None", f"-DPython_EXECUTABLE={sys.executable}"]
    made = folder / "cmake"
    subprocess.run([cmake, "-S", str(ROOT), "-B", str(made), *settings], env=env, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([cmake, "--build", str(made), "-j2"], env=env, check=True, stdout=subprocess.DEVNULL)
    return next(made.glob("_native*.so"))


def make_environment(kind: str, folder: Path, module: Path, compiler: str) -> dict[str, str]:
    site = folder / "site"
    site.mkdir(exist_ok=True)
    libraries, report = [find_library(compiler, name) for name in LIBRARIES[kind]], folder / "report"
    finder = FINDER.format(module=str(module), libraries=libraries, report=os.fsencode(report))
    (site / "sitecustomize.py").write_text(finder)
    (site / "sanitize_plugin.py").write_text(PLUGIN)
    libraries.append(find_library(compiler, "libstdc++.so"))  # they look for its exceptions when they start
    common = f"log_path={report}:allocator_may_return_null=1"
    return os.environ | {
        "LD_PRELOAD": " ".join(libraries),
        "PYTHONPATH": str(site),
        "PYTHONMALLOC": "malloc",
        "FABULA_KERNELS": "native",
        "OPENBLAS_NUM_THREADS": "1",
        "ASAN_OPTIONS": f"{common}:detect_leaks=0:detect_odr_violation=0",
        "UBSAN_OPTIONS": f"{common}:print_stacktrace=1",
        "TSAN_OPTIONS": f"{common}:suppressions={ROOT / 'tools' / 'sanitize.supp'}:report_signal_unsafe=0",
    }


def run(what: str, command: list[str], env: dict[str, str], seconds: float) -> bool:
    """Whether it went well; the time that is too long is said, and is a failure."""
    begun = time.monotonic()
    try:
        code = subprocess.run(command, cwd=ROOT, env=env, timeout=seconds).returncode
    except subprocess.TimeoutExpired:
        print(f"{what}: not done after {seconds:.0f} s", flush=True)
        return False
    print(f"{what}: exit code {code} after {time.monotonic() - begun:.0f} s", flush=True)
    return code == 0


def without_random_addresses(command: list[str]) -> list[str]:
    """The thread sanitizer of older compilers does not know where newer kernels put a program; setarch holds it."""
    setarch = shutil.which("setarch")
    if setarch and subprocess.run([setarch, "-R", "true"], capture_output=True).returncode == 0:
        return [setarch, "-R", *command]
    return command


def reports_planted_faults(kind: str, folder: Path, compiler: str, front: list[str], env: dict[str, str]) -> bool:
    """Whether faults made on purpose leave a report each: if they do not, no reports mean nothing."""
    library = folder / "control.so"
    flags = [f"-fsanitize={FLAGS[kind]}", "-fno-sanitize-recover=all", "-g1", "-O1", "-shared", "-fPIC"]
    source = ROOT / "tools" / "sanitize_control.cpp"
    subprocess.run([compiler, *flags, str(source), "-o", str(library)], check=True)
    silent = []
    for fault in FAULTS[kind]:
        code = f"import ctypes; ctypes.CDLL({str(library)!r}).{fault}()"
        subprocess.run([*front, "-c", code], cwd=ROOT, env=env, capture_output=True)
        found = [*folder.glob("report.*")]
        for report in found:
            report.unlink()
        silent += [] if found else [fault]
    seen = f"not reported: {', '.join(silent)}" if silent else "all reported"
    print(f"{kind}: {len(FAULTS[kind])} planted faults, {seen}", flush=True)
    return not silent


def check(kind: str, options: argparse.Namespace) -> bool:
    compiler, cmake = find_tools()
    folder = ROOT / "build" / f"sanitize-{kind}"
    folder.mkdir(parents=True, exist_ok=True)
    module = build(kind, folder, compiler, cmake)
    for old in folder.glob("report.*"):
        old.unlink()
    env = make_environment(kind, folder, module, compiler)
    front = without_random_addresses([sys.executable]) if kind == "thread" else [sys.executable]
    fuzz = [*front, "tools/sanitize_fuzz.py", "--seed", str(options.seed), "--seconds", str(options.seconds)]
    good = reports_planted_faults(kind, folder, compiler, front, env)
    if not options.fuzz_only:
        tests = [*front, "-m", "pytest", "-q", "-p", "sanitize_plugin", "-p", "no:cacheprovider", *TESTS]
        tests += [f"--deselect={name}" for name in TIMED]
        good &= run(f"{kind}: tests", tests, env, options.seconds)
    rounds = options.rounds if kind == "address" else options.rounds // 10
    good &= run(f"{kind}: fuzz", [*fuzz, "--rounds", str(rounds)], env, options.seconds + 60)
    if kind == "thread":
        crew = [*fuzz, "--rounds", str(max(1, options.rounds // 1000)), "--only", "threads"]
        good &= run(f"{kind}: kernels with threads", crew, env, options.seconds + 60)
    reports = sorted(folder.glob("report.*"))
    print(f"{kind}: {len(reports)} reports" + "".join(f"\n  {path}" for path in reports), flush=True)
    return good and not reports


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kind", choices=[*FLAGS, "both"], default="both")
    parser.add_argument("--rounds", type=int, default=20_000, help="of the fuzz program; a tenth of it with threads")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=900, help="that each step may take")
    parser.add_argument("--fuzz-only", action="store_true")
    options = parser.parse_args()
    kinds = list(FLAGS) if options.kind == "both" else [options.kind]
    good = [check(kind, options) for kind in kinds]  # all of them, whatever the first says
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
