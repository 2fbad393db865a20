"""The committed script and style are those of the sources in web/."""

import hashlib
from importlib import resources
from pathlib import Path

import pytest

WEB = Path(__file__).parents[2] / "web"
ASSETS = resources.files("heatgraph.explorer") / "assets"


def test_assets_were_built_from_the_sources():
    if not WEB.is_dir():
        pytest.skip("the sources of the page are not beside the tests")
    names = [f"src/{path.name}" for path in (WEB / "src").iterdir()]
    digest = hashlib.sha256()
    for name in sorted([*names, "build.mjs", "package-lock.json"]):
        digest.update(name.encode() + b"\0" + (WEB / name).read_bytes())
    built = (ASSETS / "sources.sha256").read_text().strip()
    assert digest.hexdigest() == built, "run `make web`, and commit what it writes"


def test_the_script_cannot_end_its_own_element():
    assert "</script" not in (ASSETS / "explorer.js").read_text(encoding="utf-8").lower()
    assert "</style" not in (ASSETS / "style.css").read_text(encoding="utf-8").lower()


def test_texts_are_never_set_as_html():
    for path in sorted((WEB / "src").glob("*.ts")) if WEB.is_dir() else ():
        text = path.read_text(encoding="utf-8")
        for unsafe in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert unsafe not in text, path
