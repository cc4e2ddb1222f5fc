"""The dashboard: who gets in, and what a real browser shows."""

import base64
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from projbandits.service import dashboard, tokens
from tests.service.conftest import FILMS, MAKE, Service, started

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
NASTY = "<script>document.title='stolen'</script>"
in_browser = pytest.mark.skipif(
    BROWSER is None or DRIVER is None,
    reason="chromium and chromedriver are not installed (Debian: chromium, chromium-driver)",
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Give a service with a decider that has a past, and a label that is no good."""
    for service in started(f"sqlite:///{tmp_path_factory.mktemp('shop')}/films.db"):
        named = service._replace(name="films")
        named.ok("PUT", json=MAKE)
        named.ok("PUT", "/items", json=[*FILMS[:2], {**FILMS[2], "label": NASTY}])
        rng = np.random.default_rng(0)
        for i in range(30):
            made = named.ask(request_id=f"q{i}", meta={"page": NASTY})
            if i < 25:
                named.tell(made["id"], float(rng.normal()))
        named.ok("POST", "/withdraw", json={"id": "q29"})
        yield named


def signed_in(shop: Service, headers: dict[str, str], token: str) -> httpx.Response:
    with httpx.Client(base_url=shop.client.base_url) as visitor:
        return visitor.post("/sign-in", data={"token": token}, headers=headers)


def test_a_token_is_kept_where_scripts_and_other_sites_cannot_use_it(shop: Service) -> None:
    origin = {"origin": str(shop.client.base_url).rstrip("/")}
    token = shop.token("observe")["authorization"].removeprefix("Bearer ")
    answer = signed_in(shop, origin, token)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "Secure" not in cookie
    host = str(shop.client.base_url.netloc.decode())
    behind = signed_in(shop, {"origin": f"https://{host}"}, token)  # a proxy that ends TLS
    assert "Secure" in behind.headers["set-cookie"]
    assert "SameSite=strict" in cookie
    mine = {"cookie": f"projbandits={token}", "authorization": ""}
    assert shop.client.get(shop.path, headers=mine).status_code == 200
    evil, cross = {"origin": "http://evil.example"}, {**origin, "sec-fetch-site": "cross-site"}
    for foreign in ({}, evil, cross):
        assert signed_in(shop, foreign, token).status_code == 403
        assert shop.client.post("/sign-out", headers={**mine, **foreign}).status_code == 403
        admin = shop.token("administer")["authorization"].removeprefix("Bearer ")
        headers = {"cookie": f"projbandits={admin}", "authorization": "", **foreign}
        refused = shop.client.post(f"{shop.path}/ask", json={"filter": {}}, headers=headers)
        assert refused.status_code == 403
    assert signed_in(shop, origin, "pb_wrong").status_code == 403
    decide = shop.token("decide")["authorization"].removeprefix("Bearer ")
    assert signed_in(shop, origin, decide).status_code == 403


def test_without_a_token_there_is_only_the_page_that_asks_for_one(shop: Service) -> None:
    with httpx.Client(base_url=shop.client.base_url) as visitor:
        answer = visitor.get("/")
        assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
        assert visitor.get(f"{shop.path}/numbers").status_code == 401
        assert visitor.get("/static/../hub.py").status_code == 404
        assert visitor.get("/static/sign-in.html").status_code == 404
        page = visitor.get("/sign-in")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "http://" not in page.text
    assert "https://" not in page.text


def test_a_report_runs_nothing(shop: Service) -> None:
    page = shop.client.get(f"{shop.path}/audit.html")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert NASTY not in page.text


def test_the_numbers_are_those_of_the_ledger_and_come_once(shop: Service) -> None:
    said = shop.ok("GET", "/numbers")
    path, position = f"{shop.path}/numbers", said["position"]
    assert shop.client.get(path, params={"position": position}).status_code == 204
    for other in (position - 1, "", "x", "9" * 5000):
        assert shop.client.get(path, params={"position": other}).json()["position"] == position
    decider = shop.hub.decider("films")
    assert said["decisions"] == decider.steps
    assert said["outcomes"] == decider.ridge.n
    assert said["pending"] == len(decider.pending)
    assert said["withdrawn"] == 1
    assert sum(many for _, many in said["chosen"]) == decider.steps
    assert sum(each[0] for each in said["bins"]) == decider.steps
    theta = [each["estimate"] for each in said["coefficients"]]
    np.testing.assert_allclose(theta, decider.ridge.theta)


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
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def until(browser: Any, condition: str) -> Any:
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(browser, 30).until(lambda b: b.execute_script(f"return {condition}"))


@in_browser
def test_a_browser_shows_the_numbers_of_the_ledger_live_and_asks_nobody_else(
    browser: Any, shop: Service
) -> None:
    address = str(shop.client.base_url).rstrip("/")
    token = shop.token("observe")["authorization"].removeprefix("Bearer ")
    browser.get(address)
    assert browser.current_url == f"{address}/sign-in"
    browser.find_element("id", "token").send_keys(token)
    browser.find_element("css selector", "form button").click()
    until(browser, "document.querySelector('#n-decisions') != null")
    decider = shop.hub.decider("films")

    def number(name: str) -> int:
        text = browser.execute_script(f"return document.getElementById('n-{name}').textContent")
        return int(text.replace(",", ""))

    assert number("decisions") == decider.steps == 30
    assert number("outcomes") == decider.ridge.n == 25
    assert number("pending") == len(decider.pending) == 4
    assert number("withdrawn") == 1
    until(browser, "document.querySelector('#audit .verdict') != null")
    verdict = browser.execute_script("return document.querySelector('#audit .verdict').textContent")
    assert verdict == decider.audit().verdict
    line = "document.querySelector('[data-id=q25]')"
    browser.execute_script(f"window.before = {line}")
    shop.tell("q25", 1.0)  # it is live
    until(browser, "document.getElementById('n-outcomes').textContent == '26'")
    assert until(browser, f"{line}.cells[1].textContent") == "1"
    # A row that is replaced while it is clicked would get no click.
    assert browser.execute_script(f"return window.before === {line}")
    rows = browser.execute_script("return document.getElementById('coefficients').textContent")
    assert all(column in rows for column in MAKE["columns"])
    assert browser.title == "projbandits"
    assert NASTY in browser.find_element("id", "items").text
    assert browser.execute_script("return document.cookie") == ""
    steps = browser.execute_script("return [3, 16.25, 0.16, 1, 0.05, 100.1].map(roundStep)")
    assert steps == pytest.approx([5, 20, 0.2, 1, 0.05, 200])  # of the numbers beside a chart
    # Every button is reached by the keyboard alone.
    script = "return document.querySelectorAll('button, a, summary').length"
    wanted = browser.execute_script(script)
    reached = set()
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    for _ in range(wanted + 3):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        script = "const e = document.activeElement; return e.dataset.decision ?? e.textContent"
        reached.add(browser.execute_script(script))
    links = {"Requests", "The audit as a page", "The log as a Parquet file", "As a table"}
    assert links | {"Sign out", "films", "Audit now", "q29"} <= reached
    browser.execute_script("document.querySelector('[data-decision=q28]').focus()")
    ActionChains(browser).send_keys(Keys.ENTER).perform()
    until(browser, "document.getElementById('why').open")
    reason = browser.find_element("id", "why-reason").text
    assert reason == decider.explain("q28").reason
    facts = browser.find_element("id", "why-facts").text
    assert "pending" in facts
    assert NASTY in facts
    assert browser.execute_script("return document.getElementById('why').scrollTop") == 0
    ActionChains(browser).send_keys(Keys.ESCAPE).perform()
    until(browser, "!document.getElementById('why').open")
    for device, width, scheme in (("phone", 390, "light"), ("desk", 1280, "dark")):
        screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
        assert until(browser, f"document.documentElement.scrollWidth <= {width}")
        box = "document.querySelector('#time svg').viewBox.baseVal.width"
        until(browser, f"{box} == Math.max(document.getElementById('time').clientWidth, 260)")
        ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        light = sum(map(int, re.findall(r"\d+", ground)[:3])) > 382
        assert light == (scheme == "light")
        screenshot(browser, f"dashboard-{device}-{scheme}", width)
    assert browser.get_log("browser") == []
    entries = [json.loads(row["message"])["message"] for row in browser.get_log("performance")]
    asked = {
        entry["params"]["request"]["url"]
        for entry in entries
        if entry["method"] == "Network.requestWillBeSent"
        and entry["params"]["documentURL"].startswith(address)
    }
    assert asked
    assert {url for url in asked if not url.startswith((address, "data:"))} == set()
    browser.get("about:blank")


@in_browser
def test_a_browser_that_was_turned_away_comes_back_and_asks_for_a_token_when_that_ended(
    browser: Any, shop: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = str(shop.client.base_url).rstrip("/")
    text, token = tokens.make(shop.hub.documents, ["observe"])
    browser.get(f"{address}/sign-in")
    browser.find_element("id", "token").send_keys(text)
    monkeypatch.setattr(dashboard.Pages, "_numbers", turned_away)
    browser.find_element("css selector", "form button").click()
    until(browser, "document.getElementById('live')?.textContent == 'connecting'")
    browser.execute_script("pause = 100")
    monkeypatch.undo()
    until(browser, "document.getElementById('live').textContent == 'live'")
    tokens.revoke(shop.hub.documents, token.id)
    until(browser, "location.pathname == '/sign-in'")
    browser.get_log("browser")
    browser.get("about:blank")


def turned_away(*_: object) -> None:
    raise LookupError("not now")


def screenshot(browser: Any, name: str, width: int) -> None:
    height = browser.execute_script("return document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    options = {"captureBeyondViewport": True, "clip": clip}
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", options)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    (SCREENSHOTS / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))
