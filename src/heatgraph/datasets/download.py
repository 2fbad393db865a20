"""Downloads of public files into a cache, verified by their SHA-256.

A file is downloaded under a temporary name, verified, and moved into the cache atomically; a cached
file with another checksum is downloaded again. An interrupted download therefore loses one file at
most, and no partial file is ever read. Only HTTPS with verified certificates is used.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from heatgraph.errors import DownloadError, MissingExtraError

PLANETOID_URL = "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/"
TIMEOUT_SECONDS = 30

# SHA-256 of ind.NAME.SUFFIX.
PLANETOID_SHA256 = {
    "cora": {
        "x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
        "tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
        "allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
        "y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
        "ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
        "ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
        "graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
        "test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
    },
    "citeseer": {
        "x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
        "tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
        "allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
        "y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
        "ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
        "ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
        "graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
        "test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
    },
    "pubmed": {
        "x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
        "tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
        "allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
        "y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
        "ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
        "ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
        "graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
        "test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
    },
}

Progress = Callable[[str, int, int], None]


def cache_folder() -> Path:
    """The platform's cache folder for heatgraph."""
    return Path(_pooch().os_cache("heatgraph"))


def fetch_planetoid(
    name: str, folder: str | Path | None = None, progress: Progress | None = None
) -> Path:
    """Download Planetoid's eight files of Cora, Citeseer or Pubmed, unless they are cached.

    Parameters
    ----------
    name : {"cora", "citeseer", "pubmed"}
    folder : path, optional
        Destination; by default ``planetoid`` in `cache_folder`.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    Path
        The folder with the files, which `heatgraph.datasets.planetoid.read_planetoid` reads.
    """
    destination = cache_folder() / "planetoid" if folder is None else Path(folder)
    report = progress or (lambda *_: None)
    for done, (suffix, digest) in enumerate(PLANETOID_SHA256[name].items()):
        report(f"fetch {name}", done, len(PLANETOID_SHA256[name]))
        _fetch(PLANETOID_URL, f"ind.{name}.{suffix}", digest, destination)
    report(f"fetch {name}", len(PLANETOID_SHA256[name]), len(PLANETOID_SHA256[name]))
    return destination


def _fetch(base_url: str, file: str, digest: str, destination: Path) -> None:
    pooch = _pooch()
    # Failures are raised as DownloadError; pooch should not log them as well.
    pooch.get_logger().setLevel("ERROR")
    download = pooch.HTTPDownloader(timeout=TIMEOUT_SECONDS)
    try:
        pooch.retrieve(base_url + file, f"sha256:{digest}", file, destination, downloader=download)
    except ValueError as error:
        raise DownloadError(
            f"{base_url}{file}: the download is not the file that is expected, by its SHA-256. It "
            "was truncated or altered on the way, and is not kept. Try again, or on another "
            "network."
        ) from error
    except OSError as error:  # includes the exceptions of requests
        raise DownloadError(
            f"{base_url}{file} could not be downloaded ({_reason(error)}). Try again, or put the "
            "files ind.* from elsewhere into a folder planetoid, and set HEATGRAPH_DATA to its "
            "parent folder."
        ) from error


def _reason(error: BaseException) -> str:
    """The innermost of nested errors, as urllib3 and requests wrap them."""
    while error.args and isinstance(error.args[0], Exception):
        error = error.args[0]
    return str(getattr(error, "reason", None) or error)


def _pooch() -> Any:
    try:
        import pooch
    except ImportError as error:
        raise MissingExtraError(
            'downloads need the library pooch. Install it: pip install "heatgraph[download]"'
        ) from error
    return pooch
