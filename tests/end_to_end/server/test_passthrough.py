"""Everything under `/v1` that is no chat goes to the upstream and back as it is: any method, any kind of body, any
answer."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import pytest_asyncio

from tests.end_to_end.server.running import Proxy, running_proxy
from tests.ports import find_port

SOUND = bytes(range(256)) * 400


class Provider(BaseHTTPRequestHandler):
    """A provider that says what it was asked, or sends what the path names."""

    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        given = self.rfile.read(int(self.headers.get("content-length") or 0))
        status, kind, body = 200, "application/json", b""
        if self.path.endswith("/speech"):
            kind, body = "audio/mpeg", SOUND
        elif self.path.endswith("/broken"):
            status, body = 418, b'{"error": {"message": "no tea"}}'
        elif self.path.endswith("/moved"):
            status = 302
        else:
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = json.dumps(
                {"method": self.command, "path": self.path, "headers": headers, "body": given.hex()}
            ).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Provider", "yes")
        self.send_header("Connection", "keep-alive, X-Hop")
        self.send_header("X-Hop", "of this connection")
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815 - as the library calls them

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def proxy(provider: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Proxy]:
    async with running_proxy(provider, db=tmp_path_factory.mktemp("passed") / "stories.db") as running:
        yield running


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
async def test_any_method_reaches_the_same_path(method: str, proxy: Proxy) -> None:
    body = b"" if method in ("GET", "DELETE") else b"\x00\xff not JSON"
    response = await proxy.client.request(
        method, f"{proxy.base_url}/files/file-7?after=x%20y", content=body, headers={"Content-Type": "image/png"}
    )
    came = response.json()
    assert (came["method"], came["path"]) == (method, "/v1/files/file-7?after=x%20y")
    assert bytes.fromhex(came["body"]) == body
    assert response.headers["x-provider"] == "yes"
    assert "x-hop" not in response.headers


async def test_a_form_with_a_file_arrives_as_it_was_sent(proxy: Proxy) -> None:
    files = {"file": ("speech.mp3", SOUND, "audio/mpeg")}
    response = await proxy.client.post(
        f"{proxy.base_url}/audio/transcriptions", files=files, data={"model": "whisper-1"}
    )
    came = response.json()
    assert came["headers"]["content-type"].startswith("multipart/form-data; boundary=")
    assert SOUND in bytes.fromhex(came["body"])


async def test_headers_go_on_but_for_ours_and_those_of_the_connection(proxy: Proxy) -> None:
    sent = {
        "Authorization": "Bearer sk-theirs",
        "X-Provider-Feature": "beta-7",
        "Cookie": "session=1",
        "X-Previously-Story": "tale",
        "Connection": "keep-alive, X-Once",
        "X-Once": "1",
    }
    came = (await proxy.client.get(f"{proxy.base_url}/batches", headers=sent)).json()["headers"]
    assert came["authorization"] == "Bearer sk-theirs"
    assert came["x-provider-feature"] == "beta-7"
    assert came.keys().isdisjoint({"cookie", "x-previously-story", "x-once"})


async def test_answers_come_back_byte_for_byte(proxy: Proxy) -> None:
    response = await proxy.client.post(f"{proxy.base_url}/audio/speech", json={"input": "Good evening."})
    assert response.content == SOUND
    assert response.headers["content-type"] == "audio/mpeg"
    failed = await proxy.client.get(f"{proxy.base_url}/broken")
    assert (failed.status_code, failed.json()) == (418, {"error": {"message": "no tea"}})
    assert (await proxy.client.get(f"{proxy.base_url}/moved")).status_code == 502, "nobody is sent elsewhere"


async def test_a_page_of_another_origin_gets_nothing_through(proxy: Proxy) -> None:
    headers = {"Origin": "http://evil.example", "Content-Type": "text/plain"}
    response = await proxy.client.post(f"{proxy.base_url}/files", content=b"x", headers=headers)
    assert response.status_code == 403


@pytest.mark.parametrize("path", ["../admin", "files/../../admin", "files//x", "%2e%2e/admin", "files/a%00b"])
async def test_no_path_leads_out_of_v1(path: str, proxy: Proxy) -> None:
    reader_response = await proxy.client.get(f"{proxy.base_url}/{path}")
    assert reader_response.status_code == 404


async def test_paths_that_nobody_knew_are_logged_once_by_their_beginning(proxy: Proxy) -> None:
    for _ in range(2):
        await proxy.client.get(f"{proxy.base_url}/rerank/secret-7")
    assert proxy.written().count("/v1/rerank are passed on without memory") == 1
    assert "secret-7" not in proxy.written()


async def test_an_address_without_v1_gets_a_hint(proxy: Proxy) -> None:
    response = await proxy.client.post(f"{proxy.origin}/chat/completions", json={})
    assert response.status_code == 404
    assert "ends in /v1" in response.json()["error"]["message"]


async def test_readyz_tells_of_an_upstream_that_is_gone(tmp_path: Path) -> None:
    async with running_proxy(f"http://127.0.0.1:{find_port()}/v1", db=tmp_path / "stories.db") as running:
        assert (await running.client.get(f"{running.origin}/readyz")).json()["upstream"] == "on"
        assert (await running.client.get(f"{running.base_url}/models")).status_code == 502
        assert (await running.client.get(f"{running.origin}/readyz")).json()["upstream"] == "unreachable"
