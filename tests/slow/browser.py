"""A real browser: Debian's chromium with its driver."""

import shutil
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

WHY_NOT = "needs chromium and chromium-driver, as `apt install chromium chromium-driver` puts them there"


def there() -> bool:
    """Whether there is one."""
    return all(map(shutil.which, ("chromium", "chromedriver")))


@contextmanager
def browser(wide: int = 1280, high: int = 900, *, dark: bool = False, text: int = 16) -> Generator[Any]:
    """A browser of that size in pixels, whose user has set that size of text."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars", "--disable-gpu"):
        options.add_argument(word)
    options.add_experimental_option("prefs", {"webkit.webprefs.default_font_size": text})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        sized(driver, wide, high, dark=dark)
        driver.set_script_timeout(60)
        yield driver
    finally:
        driver.quit()


def sized(driver: Any, wide: int, high: int, *, dark: bool = False, scale: float = 1) -> None:
    """Give the page another size in pixels, and colours."""
    metrics = {"width": wide, "height": high, "deviceScaleFactor": scale, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})


def told(driver: Any) -> list[str]:
    """What the browser's console has said: errors of scripts, files that are missing, what a policy has blocked."""
    return [entry["message"] for entry in driver.get_log("browser")]


def opened(driver: Any, url: str) -> None:
    """Load a page, also when only what stands after `#` is another."""
    driver.get("about:blank")
    driver.get(url)
    until(
        lambda: driver.find_elements("css selector", "main h1") and not driver.find_elements("css selector", ".wait")
    )


def until(what: Callable[[], Any], seconds: float = 30) -> Any:
    """What it gives once that is true."""
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)
    return found


def shown(driver: Any, selector: str) -> str:
    """The text that can be seen in the first element of these; empty where there is none."""
    return str(driver.execute_script("return document.querySelector(arguments[0])?.innerText ?? ''", selector))
