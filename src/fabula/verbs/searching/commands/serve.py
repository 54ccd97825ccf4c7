"""fabula serve: the report in a browser, from this machine alone; or a store of clips to search."""

from __future__ import annotations

import contextlib
import re
import socket
import sys
import threading
import webbrowser
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fabula.core.errors import InputError, SpecError
from fabula.core.options import Options, option
from fabula.documents.files import check_path
from fabula.documents.safe_open import read_bytes
from fabula.evaluate.options import WHERE, ScoreOptions
from fabula.verbs.scoring.score import score
from fabula.verbs.terminal.console import Several, print_note, show_progress
from fabula.verbs.terminal.flags import flags, path_argument, refs_option
from fabula.web.binding import Binding

if TYPE_CHECKING:
    from fabula.library.store import Store

Request = socket.socket | tuple[bytes, socket.socket]  # as socketserver declares it
HOST = "127.0.0.1"
OURS = re.compile(
    r"(?:127\.0\.0\.1|localhost)(?::[0-9]{1,5})?", re.ASCII | re.IGNORECASE
)  # any port: it may be forwarded
IDLE = 10.0  # seconds that a connection may be silent
LONGEST = 60.0  # and that it may last
CONNECTIONS = 64  # at a time; a browser opens six


@dataclass(frozen=True, kw_only=True)
class Serving(Options):
    """What is shown, and where."""

    against: Path | None = option(None, "A second system's predictions, compared video by video.")
    store: str | None = option(None, "Store of clips to search, made by fabula index, instead of WHAT.")
    weights: str | None = option(
        None, "With --store: file of the embedder's weights, if it has moved since indexing.", needs="store"
    )
    open_: bool = option(False, "Also open the browser.")


@click.command("serve", cls=Several)
@path_argument("shown", metavar="[WHAT]", required=False)
@refs_option()
@flags(ScoreOptions, into="options", without=WHERE)
@flags(Serving, into="serving")
@flags(Binding, into="binding")
def command(
    shown: Path | None, refs: tuple[Path, ...], options: ScoreOptions, serving: Serving, binding: Binding
) -> None:
    """Show WHAT as a page on this machine, until Ctrl-C.

    \b
    fabula serve preds.json --refs val_1.json val_2.json     scored, then shown; --against b.json compares
    fabula serve report.html                                 a page that fabula score --html wrote
    fabula serve result.json                                 what fabula score --json wrote: scores, but no videos
    fabula serve --store DIR                                 a library of videos, to be searched
    fabula serve --store DIR --people people.npz             … also by who is seen in them (fabula people find)
    fabula serve --store DIR --host 0.0.0.0 --origin https://NAME     … by others, through a proxy that speaks TLS
    """
    if serving.store is not None:
        serve_store(shown, refs, options, serving, binding)
        return
    if shown is None:
        raise SpecError("nothing to show; name predictions, a page or a result, or a library with --store DIR")
    if binding.host != HOST or binding.origin is not None:
        raise SpecError("a report is shown on this machine alone; --host and --origin belong to --store")
    body = make_body(shown, refs, serving.against, options)
    with open_server(body, binding.port) as server:
        address = f"http://{HOST}:{server.server_port}/"
        print_note(f"{shown.name} is at {address} (Ctrl-C stops)")
        if serving.open_:
            webbrowser.open(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print_note("stopped")


def serve_store(
    shown: Path | None, refs: tuple[Path, ...], options: ScoreOptions, serving: Serving, binding: Binding
) -> None:
    """A store to search; what belongs to a report is refused."""
    from fabula.verbs.searching.serve import serve

    if shown is not None or refs or serving.against is not None or [o for o in options.changed() if o.name != "people"]:
        raise SpecError("--store shows a library alone; predictions, --refs and how to score belong to a report")
    assert serving.store is not None

    def ready(link: str, store: Store) -> None:
        print_note(f"{len(store):,} clips of {serving.store} are at {link} (Ctrl-C stops)")
        print_note(f"its videos are served from {store.root}")
        if serving.open_:
            webbrowser.open(link)

    serve(serving.store, binding, people=options.people, weights=serving.weights, ready=ready)
    print_note("stopped")


def make_body(shown: Path, refs: tuple[Path, ...], against: Path | None, options: ScoreOptions) -> bytes:
    """A finished page as it is; a saved result, or predictions once they are scored, as a page."""
    if shown.suffix.lower() in (".html", ".htm"):
        if refs or against:
            raise SpecError(f"{shown} is a finished page; --refs and --against belong to predictions")
        return read_bytes(check_path(shown))
    from fabula.evaluate.saved import load_result
    from fabula.report.html import page
    from fabula.report.pages import make_page

    if not refs and not against and (saved := load_result(shown)):
        return page(saved, shown.name).encode()
    paths = [shown] if against is None else [shown, against]
    with show_progress() as progress:
        results = [score(path, refs, options=options, progress=progress) for path in paths]
    return make_page(results, paths).encode()


class Server(ThreadingHTTPServer):
    """A server that a browser may leave at any time: connections are few, short, and end without a word."""

    daemon_threads = True
    request_queue_size = CONNECTIONS  # that wait in the kernel

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self.free = threading.BoundedSemaphore(CONNECTIONS)
        self.under_way: dict[Request, None] = {}  # the oldest first
        super().__init__(address, handler)

    def process_request(self, request: Request, client_address: object) -> None:
        if not self.free.acquire(blocking=False):
            for oldest in list(self.under_way)[:1]:  # whoever has been here for the longest makes room
                hang_up(oldest)
            if not self.free.acquire(timeout=1.0):
                self.shutdown_request(request)
                return
        self.under_way[request] = None
        super().process_request(request, client_address)

    def process_request_thread(self, request: Request, client_address: object) -> None:
        ends = threading.Timer(LONGEST, hang_up, [request])
        ends.daemon = True
        ends.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            ends.cancel()
            self.under_way.pop(request, None)
            self.free.release()

    def handle_error(self, request: Request, client_address: object) -> None:
        if not isinstance(sys.exc_info()[1], OSError | ValueError):
            super().handle_error(request, client_address)  # a fault of ours


def hang_up(connection: Request) -> None:
    """However slowly its bytes come: it has had its time."""
    with contextlib.suppress(OSError):
        if isinstance(connection, socket.socket):
            connection.shutdown(socket.SHUT_RDWR)


def open_server(body: bytes, port: int) -> ThreadingHTTPServer:
    """A server of one page, reached from this machine alone. A request under a foreign host name is refused, so that
    no page of the web can read the report by pointing its own name here."""

    class Handler(BaseHTTPRequestHandler):
        timeout = IDLE
        server_version, sys_version = "fabula", ""

        def do_GET(self) -> None:
            hosts = self.headers.get_all("Host", [])
            if len(hosts) != 1 or not self.path.startswith("/"):
                self.send_error(HTTPStatus.BAD_REQUEST)
            elif not OURS.fullmatch(hosts[0]):
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

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    try:
        return Server((HOST, port), Handler)
    except OSError as error:
        raise InputError(f"port {port} cannot be opened ({error.strerror})", hint="choose another") from None
