"""fabula serve: the report in a browser, from this machine alone."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import click

from fabula import metrics as metric_room
from fabula.api.score import score as score_verb
from fabula.cli._console import Several, bar, say
from fabula.cli._what import What, what_to_score
from fabula.core.errors import InputError, SpecError
from fabula.core.result import Result, Score
from fabula.io.files import check_path, load_json, read_bytes
from fabula.report.html import page

HOST = "127.0.0.1"
PORT = 8765


@click.command("serve", cls=Several)
@click.argument("shown", metavar="WHAT", type=click.Path(path_type=Path))
@what_to_score()
@click.option(
    "--against", type=click.Path(path_type=Path), help="A second system's predictions, compared video by video."
)
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0: any that is free.")
@click.option("--open", "open_", is_flag=True, help="Also open the browser.")
def command(shown: Path, what: What, against: Path | None, port: int, open_: bool) -> None:
    """Show WHAT as a page on this machine, until Ctrl-C.

    \b
    fabula serve preds.json --refs val_1.json val_2.json     scored, then shown; --against b.json compares
    fabula serve report.html                                 a page that fabula score --html wrote
    fabula serve result.json                                 what fabula score --json wrote: scores, but no videos
    """
    if shown.suffix.lower() in (".html", ".htm"):
        if what["refs"] or against:
            raise SpecError(f"{shown} is a finished page; --refs and --against belong to predictions")
        body = read_bytes(check_path(shown))
    elif not what["refs"] and not against and (saved := saved_result(shown)):
        body = page(saved, shown.name).encode()
    else:
        paths = [shown] if against is None else [shown, against]
        with bar() as progress:
            results = [score_verb(path, **what, progress=progress) for path in paths]
        body = scored_page(results, paths).encode()
    with listening(body, port) as server:
        address = f"http://{HOST}:{server.server_port}/"
        say(f"{shown.name} is at {address} (Ctrl-C stops)")
        if open_:
            webbrowser.open(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("stopped")


def scored_page(results: Sequence[Result], paths: Sequence[Path]) -> str:
    first, *rest = results
    title = " and ".join(path.name for path in paths)
    names = [path.stem for path in paths]
    return page(first, title, other=rest[0] if rest else None, names=names)


def saved_result(path: Path) -> Result | None:
    """A result from its JSON (docs/result-json.md), or None where the file is something else."""
    if path.suffix.lower() != ".json":
        return None
    document = load_json(check_path(path))
    if not isinstance(document, dict) or not {"fabula", "scores", "counts"} <= document.keys():
        return None
    try:
        scores = {name: saved_score(name, given) for name, given in document["scores"].items()}
        counts = {str(k): int(n) for k, n in document["counts"].items()}
        lines = tuple(str(line) for line in document["warnings"])
        made, task, protocol = (str(document[k]) for k in ("fabula", "task", "protocol"))
        return Result(made, task, protocol, scores, counts, lines)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        hint = "write it again with fabula score --json"
        raise InputError(f"no result that this version can read ({error!r})", file=path, hint=hint) from None


def saved_score(name: str, given: dict[str, Any]) -> Score:
    """The signature says which metric it was, and the metric which of its numbers is the primary one."""
    metric = metric_room.metric(given["signature"].split("|")[0])
    values = {field: float(given[field]) for field in metric.fields}
    low_high = given.get("ci")
    ci = {metric.primary: (float(low_high[0]), float(low_high[1]))} if low_high else None
    return Score(name, values, metric.primary, given["signature"], ci, metric.scale)


def listening(body: bytes, port: int) -> ThreadingHTTPServer:
    """A server of one page, reached from this machine alone. A request under a foreign host name is refused, so that
    no page of the web can read the report by pointing its own name here."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            host = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
            if host not in (HOST, "localhost"):
                self.send_error(HTTPStatus.FORBIDDEN)
            elif self.path.partition("?")[0] != "/":
                self.send_error(HTTPStatus.NOT_FOUND)
            else:
                self.send_response(HTTPStatus.OK)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "no-store")
                self.send_header("X-Content-Type-Options", "nosniff")
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    try:
        return ThreadingHTTPServer((HOST, port), Handler)
    except OSError as error:
        raise InputError(f"port {port} cannot be had ({error.strerror})", hint="choose another, or --port 0") from None
