"""Downloads from a local server that simulates failures."""

import hashlib
import http.server
import multiprocessing
import ssl
import sys
import threading
from pathlib import Path

import pytest

from heatgraph.datasets import download
from heatgraph.datasets.download import PLANETOID_SHA256, cache_folder, fetch_planetoid
from heatgraph.errors import DownloadError, MissingExtraError

pytest.importorskip("pooch", reason="downloads need pooch, of the extra download")

SUFFIXES = ["x", "tx", "allx", "y", "ty", "ally", "graph", "test.index"]
FILES = {f"ind.toy.{suffix}": suffix.encode() * 5000 for suffix in SUFFIXES}
SELF_SIGNED = Path(__file__).with_name("self-signed.pem")


class Server(http.server.ThreadingHTTPServer):
    """Serves FILES; `faults` maps a file to a failure to simulate."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.faults = {}
        self.requests = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path[1:]
        self.server.requests.append(name)
        fault = self.server.faults.get(name)
        if fault == "missing" or name not in FILES:
            self.send_error(404)
            return
        content = FILES[name]
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if fault == "truncated":
            content = content[: len(content) // 2]
        elif fault == "tampered":
            content = content[:-1] + b"!"
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    digests = {name[8:]: hashlib.sha256(content).hexdigest() for name, content in FILES.items()}
    monkeypatch.setattr(download, "PLANETOID_URL", server.url)
    monkeypatch.setitem(PLANETOID_SHA256, "toy", digests)
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_files_are_downloaded_once(server, tmp_path):
    calls = []
    place = fetch_planetoid("toy", tmp_path / "new", lambda *call: calls.append(call))
    assert contents(place) == FILES
    assert calls == [("fetch toy", k, 8) for k in range(9)]
    fetch_planetoid("toy", tmp_path / "new")
    assert len(server.requests) == 8


@pytest.mark.parametrize("fault", ["truncated", "tampered"])
def test_files_with_a_wrong_checksum_are_not_kept(server, tmp_path, fault):
    server.faults["ind.toy.allx"] = fault
    with pytest.raises(
        DownloadError, match=r"ind.toy.allx.*(is not the file|could not be downloaded)"
    ):
        fetch_planetoid("toy", tmp_path)
    assert set(contents(tmp_path)) == {"ind.toy.x", "ind.toy.tx"}


def test_interrupted_downloads_resume_at_the_missing_file(server, tmp_path):
    server.faults["ind.toy.allx"] = "truncated"
    with pytest.raises(DownloadError):
        fetch_planetoid("toy", tmp_path)
    server.faults.clear()
    server.requests.clear()
    fetch_planetoid("toy", tmp_path)
    assert server.requests == [f"ind.toy.{suffix}" for suffix in SUFFIXES[2:]]
    assert contents(tmp_path) == FILES


@pytest.mark.parametrize("damage", [lambda raw: raw[:-1], lambda raw: b"?" + raw[1:]])
def test_damaged_files_in_the_cache_are_replaced(server, tmp_path, damage):
    (tmp_path / "ind.toy.y").write_bytes(damage(FILES["ind.toy.y"]))
    fetch_planetoid("toy", tmp_path)
    assert contents(tmp_path) == FILES


def test_file_not_found(server, tmp_path):
    server.faults["ind.toy.x"] = "missing"
    with pytest.raises(DownloadError, match="404.*set HEATGRAPH_DATA"):
        fetch_planetoid("toy", tmp_path)


def test_no_network(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "PLANETOID_URL", "http://127.0.0.1:1/")
    with pytest.raises(DownloadError, match=r"could not be downloaded .*HEATGRAPH_DATA") as error:
        fetch_planetoid("toy", tmp_path)
    assert isinstance(error.value, OSError)
    assert "Failed to establish a new connection" in str(error.value)
    assert "Max retries" not in str(error.value)


def test_certificates_are_verified(server, tmp_path, monkeypatch):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(SELF_SIGNED)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    monkeypatch.setattr(download, "PLANETOID_URL", server.url.replace("http:", "https:"))
    with pytest.raises(DownloadError, match="certificate verify failed"):
        fetch_planetoid("toy", tmp_path)
    assert contents(tmp_path) == {}


def test_urls_are_encrypted_and_files_pinned():
    assert download.PLANETOID_URL.startswith("https://")
    for name in ("cora", "citeseer", "pubmed"):
        assert list(PLANETOID_SHA256[name]) == SUFFIXES


@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
def test_checksums_of_the_real_files(planetoid_folder, name):
    for suffix, digest in PLANETOID_SHA256[name].items():
        raw = (planetoid_folder / f"ind.{name}.{suffix}").read_bytes()
        assert hashlib.sha256(raw).hexdigest() == digest


def fetch_from(url, digests, folder):
    download.PLANETOID_URL = url
    PLANETOID_SHA256["toy"] = digests
    fetch_planetoid("toy", folder)


def test_concurrent_downloads(server, tmp_path):
    spawn = multiprocessing.get_context("spawn")
    arguments = (server.url, PLANETOID_SHA256["toy"], tmp_path)
    processes = [spawn.Process(target=fetch_from, args=arguments) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert contents(tmp_path) == FILES


def test_cache_folder_of_the_platform():
    assert cache_folder().name == "heatgraph"
    assert cache_folder().is_absolute()


def test_without_pooch(monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingExtraError, match=r'pip install "heatgraph\[download\]"') as error:
        fetch_planetoid("cora")
    assert isinstance(error.value, ImportError)
