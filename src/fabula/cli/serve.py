"""fabula serve: the report in a browser, from this machine alone."""

from __future__ import annotations

import webbrowser
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import click

from fabula.api.score import score
from fabula.cli._console import Several, print_note, show_progress
from fabula.cli._options import flags, path_argument, refs_option
from fabula.core.errors import InputError, SpecError
from fabula.core.options import Options, option
from fabula.io.door import read_bytes
from fabula.io.files import check_path
from fabula.score.options import WHERE, ScoreOptions

HOST = "127.0.0.1"
PORT = 8765


@dataclass(frozen=True, kw_only=True)
class Serving(Options):
    """What is shown, and where."""

    against: Path | None = option(None, "A second system's predictions, compared video by video.")
    port: int = option(PORT, "0: any that is free.", shows_default=True, at_least=0, at_most=65535)
    open_: bool = option(False, "Also open the browser.")


@click.command("serve", cls=Several)
@path_argument("shown", metavar="WHAT")
@refs_option()
@flags(ScoreOptions, into="options", without=WHERE)
@flags(Serving, into="serving")
def command(shown: Path, refs: tuple[Path, ...], options: ScoreOptions, serving: Serving) -> None:
    """Show WHAT as a page on this machine, until Ctrl-C.

    \b
    fabula serve preds.json --refs val_1.json val_2.json     scored, then shown; --against b.json compares
    fabula serve report.html                                 a page that fabula score --html wrote
    fabula serve result.json                                 what fabula score --json wrote: scores, but no videos
    """
    body = make_body(shown, refs, serving.against, options)
    with open_server(body, serving.port) as server:
        address = f"http://{HOST}:{server.server_port}/"
        print_note(f"{shown.name} is at {address} (Ctrl-C stops)")
        if serving.open_:
            webbrowser.open(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print_note("stopped")


def make_body(shown: Path, refs: tuple[Path, ...], against: Path | None, options: ScoreOptions) -> bytes:
    """A finished page as it is; a saved result, or predictions once they are scored, as a page."""
    if shown.suffix.lower() in (".html", ".htm"):
        if refs or against:
            raise SpecError(f"{shown} is a finished page; --refs and --against belong to predictions")
        return read_bytes(check_path(shown))
    from fabula.api.saved import load_result
    from fabula.report.html import page
    from fabula.report.pages import make_page

    if not refs and not against and (saved := load_result(shown)):
        return page(saved, shown.name).encode()
    paths = [shown] if against is None else [shown, against]
    with show_progress() as progress:
        results = [score(path, refs, options=options, progress=progress) for path in paths]
    return make_page(results, paths).encode()


def open_server(body: bytes, port: int) -> ThreadingHTTPServer:
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
