"""The report in a real browser, on a phone's and on a desk's width."""

import base64
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from projbandits.paper import FIGURES, reproduce

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
pytestmark = pytest.mark.skipif(
    BROWSER is None or DRIVER is None,
    reason="chromium and chromedriver are not installed (Debian: chromium, chromium-driver)",
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report")
    return reproduce(out=out, trials=4, horizon=60, progress=False).report


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(BROWSER)
    for flag in (
        "headless",
        "no-sandbox",
        "disable-gpu",
        "disable-dev-shm-usage",
        "no-first-run",
        "disable-background-networking",
        "disable-component-update",
        "disable-sync",
        f"user-data-dir={tmp_path_factory.mktemp('profile')}",
    ):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.mark.parametrize(("device", "width"), [("phone", 390), ("desk", 1280)])
def test_every_figure_is_visible_and_nothing_is_fetched(
    browser: Any, report: Path, device: str, width: int
) -> None:
    browser.get_log("performance")  # what came before is not this page's doing
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": device == "phone"},
    )
    browser.get(report.as_uri())
    _wait(browser)
    images = browser.execute_script(
        "return [...document.images].map(i => [i.closest('section').id, i.complete,"
        " i.naturalWidth, i.getBoundingClientRect().width, i.getBoundingClientRect().height,"
        " i.checkVisibility(), i.getBoundingClientRect().right])"
    )
    assert [image[0] for image in images] == list(FIGURES)
    for name, complete, natural, shown, height, visible, right in images:
        assert complete, name
        assert natural > 500, name
        assert visible, name
        assert shown > 0.5 * min(width, natural), name
        assert height > 100, name
        assert right <= width, name
    page_width = browser.execute_script("return document.documentElement.scrollWidth")
    assert page_width <= width  # wide tables scroll within themselves, the page does not
    entries = [json.loads(row["message"])["message"] for row in browser.get_log("performance")]
    asked = {
        entry["params"]["request"]["url"].split(",")[0]
        for entry in entries
        if entry["method"] == "Network.requestWillBeSent"
    }
    assert asked <= {report.as_uri(), "data:image/png;base64", "data:"}
    assert report.as_uri() in asked
    _screenshot(browser, device, width)


def _wait(browser: Any) -> None:
    """Wait until the page is read to its end and every picture is decoded."""
    from selenium.webdriver.support.ui import WebDriverWait

    ready = (
        "return document.readyState == 'complete' && document.getElementById('method') != null"
        " && [...document.images].every(i => i.complete)"
    )
    WebDriverWait(browser, 60).until(lambda driver: driver.execute_script(ready))


def _screenshot(browser: Any, device: str, width: int) -> None:
    height = browser.execute_script("return document.documentElement.scrollHeight")
    shot = browser.execute_cdp_cmd(
        "Page.captureScreenshot",
        {
            "captureBeyondViewport": True,
            "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1},
        },
    )
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    (SCREENSHOTS / f"report-{device}.png").write_bytes(base64.b64decode(shot["data"]))


def test_it_prints_on_pages_with_every_number(browser: Any, report: Path) -> None:
    paper = {"width": 718, "height": 1040, "deviceScaleFactor": 1, "mobile": False}  # A4, margins
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", paper)
    browser.get(report.as_uri())
    _wait(browser)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
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
    pages = base64.b64decode(printed["data"])
    assert pages.startswith(b"%PDF")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    (SCREENSHOTS / "report.pdf").write_bytes(pages)
