"""The server of the studio: the page, and answers to it, on the loopback address, for who has the token.

In: a sample, or none. Out: an application for a server; `serve` runs it. Every answer forbids scripts and styles from
elsewhere. A request is refused unless it names this machine (else a foreign page could reach it through a name that
leads here) and has the token.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as WebRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from cepheid.errors import CepheidError, InputError
from cepheid.studio.sample import Sample, parse_sample
from cepheid.studio.trying import Request, attempt

LOOPBACK = "127.0.0.1"
MOST_BYTES = 200 << 20
"""The largest sample that the page may send."""
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:;"
    " connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_STATIC = {"studio.css": "text/css", "studio.js": "text/javascript"}


class Studio:
    """What one studio holds: its token and its sample."""

    def __init__(self, sample: Sample | None, token: str | None = None) -> None:
        self.sample = sample
        self.token = token or secrets.token_urlsafe(24)

    async def page(self, request: WebRequest) -> Response:
        """The page itself."""
        if not self._is_allowed(request.query_params.get("token", "")):
            return _refused("Open the address that `cepheid studio` printed: it ends with the token.")
        return _answer(_static("studio.html"), "text/html")

    async def static(self, request: WebRequest) -> Response:
        """The style sheet and the script, which hold no data."""
        name = request.path_params["name"]
        if name not in _STATIC:
            return _answer("not found", "text/plain", 404)
        return _answer(_static(name), _STATIC[name])

    async def state(self, request: WebRequest) -> Response:
        """The sample: its name, its columns and some rows."""
        return await self._guarded(request, self._state)

    async def attempt(self, request: WebRequest) -> Response:
        """One try."""

        async def answer() -> dict[str, Any]:
            wanted = Request.of(await request.json())
            if self.sample is None:
                raise InputError("there is no sample yet.\n  Choose a CSV, Parquet or JSON file.")
            return await run_in_threadpool(attempt, self.sample, wanted)

        return await self._guarded(request, answer)

    async def load(self, request: WebRequest) -> Response:
        """Another sample."""

        async def answer() -> dict[str, Any]:
            data = bytearray()
            async for chunk in request.stream():
                data += chunk
                if len(data) > MOST_BYTES:
                    raise InputError(f"the file is larger than {MOST_BYTES >> 20} MB.\n  Give a sample of it.")
            self.sample = parse_sample(request.query_params.get("name", ""), bytes(data))
            return await self._state()

        return await self._guarded(request, answer)

    async def _state(self) -> dict[str, Any]:
        sample = self.sample
        if sample is None:
            return {"sample": None}
        return {
            "sample": {
                "name": sample.name,
                "rows": sample.rows.num_rows,
                "left_out": sample.left_out,
                "columns": [{"name": name, "type": kind} for name, kind in sample.columns],
                "time": sample.likely_time,
                "first": [[str(value) for value in row.values()] for row in sample.rows.slice(0, 5).to_pylist()],
            }
        }

    async def _guarded(self, request: WebRequest, answer: Callable[[], Awaitable[dict[str, Any]]]) -> Response:
        if not self._is_allowed(request.headers.get("x-cepheid-token", "")):
            return _refused("The token is missing or wrong.")
        try:
            return JSONResponse(await answer(), headers=_HEADERS)
        except (CepheidError, ValueError) as error:
            return JSONResponse({"error": str(error)}, headers=_HEADERS)

    def _is_allowed(self, token: str) -> bool:
        return secrets.compare_digest(token.encode(), self.token.encode())


def application(studio: Studio) -> Starlette:
    """The application that answers the page."""
    app = Starlette(
        routes=[
            Route("/", studio.page),
            Route("/static/{name}", studio.static),
            Route("/state", studio.state),
            Route("/try", studio.attempt, methods=["POST"]),
            Route("/sample", studio.load, methods=["POST"]),
        ]
    )
    app.add_middleware(OnlyThisMachine)
    return app


class OnlyThisMachine:
    """Refuses requests that were sent to another name than this machine's."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            host = dict(scope["headers"]).get(b"host", b"").decode("latin-1").rpartition(":")[0]
            if host not in (LOOPBACK, "localhost"):
                await _refused("This address is only for this machine.")(scope, receive, send)
                return
        await self._app(scope, receive, send)


def serve(studio: Studio, port: int, opened: Callable[[str], None]) -> None:
    """Serve the page until interrupted; `opened` is told its address once it is there."""
    import socket

    import uvicorn

    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((LOOPBACK, port))
        except OSError as error:
            raise InputError(
                f"port {port} cannot be used: {error.strerror or error}.\n  Give another --port."
            ) from None
        listening.listen()
        opened(f"http://{LOOPBACK}:{listening.getsockname()[1]}/?token={studio.token}")
        config = uvicorn.Config(application(studio), log_level="warning", access_log=False, lifespan="off")
        uvicorn.Server(config).run(sockets=[listening])


def _static(name: str) -> str:
    return (files("cepheid.studio") / "static" / name).read_text(encoding="utf-8")


def _answer(text: str, kind: str, status: int = 200) -> Response:
    return Response(text, status, {**_HEADERS, "Content-Type": f"{kind}; charset=utf-8"})


def _refused(text: str) -> Response:
    return _answer(text, "text/plain", 403)
