"""The report in a real browser: on a phone, on a desk and on paper, by day and by night."""

import base64
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from projbandits.paper import FIGURES, Reproduction

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    BROWSER is None or DRIVER is None,
    reason="chromium and chromedriver are not installed (Debian: chromium, chromium-driver)",
)


@pytest.fixture(scope="module")
def report(everything: Reproduction) -> Path:
    return everything.report


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(BROWSER)
    flags = (
        "headless no-sandbox disable-gpu disable-dev-shm-usage no-first-run disable-sync "
        "disable-background-networking disable-component-update"
    )
    for flag in (*flags.split(), f"user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 900)], ids=["phone", "desk"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_first_screen_has_the_verdicts_and_their_figure(
    browser: Any, report: Path, width: int, height: int, scheme: str
) -> None:
    browser.get_log("performance")  # what came before is not this page's doing
    _open(browser, report, width, height, scheme)
    page_width = browser.execute_script("return document.documentElement.scrollWidth")
    assert page_width <= width  # wide tables scroll within themselves, the page does not
    claims = _boxes(browser, "#verdicts .claim .brief")
    assert all(visible for visible, *_ in claims)
    texts = browser.execute_script(
        "return [...document.querySelectorAll('#verdicts .brief')].map(e => e.textContent)"
    )
    assert len(texts) == 8  # four settings, each with the alphas given and with the best
    assert all(re.match(r"GENTRY [\d,.]+ \(.+ to .+\) against CURSE [\d,.]+", t) for t in texts)
    [figure] = _boxes(browser, "#verdicts > figure .picture")
    if width > 1000:
        assert max(figure[2], claims[-1][2]) < height  # both end on the first screen
        assert figure[1] < claims[0][1] < figure[2]  # side by side
        assert claims[0][4] <= figure[3]
    light = browser.execute_script(
        "const c = getComputedStyle(document.body).backgroundColor;"
        " return c.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0) > 382"
    )
    assert light == (scheme == "light")
    assert _fetched(browser, report) == {report.as_uri()}


def test_a_claim_opens_to_its_figures_numbers_place_and_command(browser: Any, report: Path) -> None:
    for width, height in ((390, 844), (1280, 900)):
        _open(browser, report, width, height, "light")
        claim = "#claim-best-a"
        assert not any(visible for visible, *_ in _boxes(browser, f"{claim} table"))
        browser.find_element("css selector", f"{claim} > summary").click()
        pictures = _boxes(browser, f"{claim} .picture")
        assert len(pictures) == 2
        for visible, top, bottom, left, right in pictures:
            assert visible
            assert bottom - top > 100
            assert right - left > 0.5 * min(width, 1000)
            assert right <= width
        assert len(_boxes(browser, f"{claim} table")) == 2
        text = browser.find_element("css selector", claim).text
        assert "In the paper: Fig. 2." in text
        assert "projbandits reproduce fig-a fig-alpha-a" in text
        assert "trials of 60 steps, seeds 0 to 3" in text


def test_every_figure_is_drawn_in_the_gallery(browser: Any, report: Path) -> None:
    _open(browser, report, 1280, 900, "light")
    shown = browser.execute_script(
        "return [...document.querySelectorAll('figure .picture')].map(e => e.dataset.figure)"
    )
    assert shown == list(FIGURES)
    for visible, top, bottom, left, right in _boxes(browser, "figure .picture"):
        assert visible
        assert bottom - top > 100
        assert right - left > 400


def _open(browser: Any, report: Path, width: int, height: int, scheme: str) -> None:
    screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
    browser.get(report.as_uri())
    _wait(browser)


def _boxes(browser: Any, selector: str) -> list[tuple[bool, float, float, float, float]]:
    """Return whether each element is visible, and its top, bottom, left and right."""
    found = browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map(e => {"
        " const b = e.getBoundingClientRect();"
        " return [e.checkVisibility({contentVisibilityAuto: true}) && b.height > 0,"
        " b.top, b.bottom, b.left, b.right] })",
        selector,
    )
    return [tuple(box) for box in found]


def _fetched(browser: Any, report: Path) -> set[str]:
    """Return the addresses that the page asked for, those within itself left out."""
    entries = [json.loads(row["message"])["message"] for row in browser.get_log("performance")]
    asked = {
        entry["params"]["request"]["url"]
        for entry in entries
        if entry["method"] == "Network.requestWillBeSent"
        and entry["params"]["documentURL"] == report.as_uri()
    }
    return {address for address in asked if not address.startswith("data:")}


def _wait(browser: Any) -> None:
    """Wait until the page is read to its end."""
    from selenium.webdriver.support.ui import WebDriverWait

    ready = "return document.readyState == 'complete' && document.getElementById('method') != null"
    WebDriverWait(browser, 60).until(lambda driver: driver.execute_script(ready))


def test_it_prints_on_pages_with_every_number(browser: Any, report: Path) -> None:
    paper = {"width": 718, "height": 1040, "deviceScaleFactor": 1, "mobile": False}  # A4, margins
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", paper)
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]  # paper is white all the same
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": dark})
    browser.get(report.as_uri())
    _wait(browser)
    ground = "return getComputedStyle(document.body).backgroundColor"
    assert browser.execute_script(ground) == "rgb(255, 255, 255)"
    tables = browser.execute_script(
        "return [...document.querySelectorAll('table')].map(t => [t.checkVisibility("
        "{contentVisibilityAuto: true}), t.getBoundingClientRect().height,"
        " t.getBoundingClientRect().right])"
    )
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert len(tables) > 20
    for visible, height, right in tables:
        assert visible
        assert height > 10
        assert right <= 718
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert base64.b64decode(printed["data"]).startswith(b"%PDF")
