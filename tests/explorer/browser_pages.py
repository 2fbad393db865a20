"""Pages in Chromium, for the tests with the marker `browser`."""

import os
import shutil
from contextlib import contextmanager

import pytest

ARGUMENTS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


@contextmanager
def chromium():
    """Chromium of the system, with WebGL2 in software; skips without it or without Playwright."""
    api = pytest.importorskip("playwright.sync_api", reason="no Playwright: make test-browser")
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if path is None:
        pytest.skip("no chromium on the path; $CHROMIUM may name it: make test-browser")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


class OpenPage:
    """A page opened from disk, with what it has requested and complained of."""

    def __init__(self, browser, path, fragment="", **options):
        options = {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"} | options
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.requests, self.complaints, self.dialogs = [], [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self._dismiss)
        self.page.goto(path.resolve().as_uri() + fragment)
        self.page.wait_for_selector("html[data-ready]", state="attached")

    def _dismiss(self, dialog):
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def texts(self, selector):
        return [
            text.strip().replace("\u00a0", " ")
            for text in self.page.locator(selector).all_text_contents()
        ]

    def numbers(self, selector, key="value"):
        """Numbers in full precision, from attributes of elements."""
        return [
            float(element.get_attribute(f"data-{key}"))
            for element in self.page.locator(selector).all()
        ]

    def pixels(self):
        """The drawn graph; edges are drawn when the camera has come to rest."""
        self.page.wait_for_timeout(300)
        return self.page.locator("#graph").screenshot()
