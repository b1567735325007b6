"""A real browser: Debian's chromium with its driver."""

import shutil
from collections.abc import Generator
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
