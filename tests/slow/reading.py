"""What somebody gets of a page who has made it larger, or who hears it."""

from collections.abc import Iterator
from typing import Any

CONTROLS = {"button", "link", "textbox", "searchbox", "combobox", "slider", "checkbox", "DisclosureTriangle"}
LANDMARKS = ("banner", "main", "contentinfo")

_TEXTS = """
scrollTo(0, 0); // what stays in view lies over what has been scrolled
const seen = [], cut = [], sizes = new Set(), range = document.createRange();
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode, parent = node.parentElement, words = node.textContent.trim().slice(0, 60);
  if (!words || !parent.checkVisibility() || parent.closest('.unseen, .skip, select, textarea')) continue;
  if (!parent.closest('svg')) sizes.add(parseFloat(getComputedStyle(parent).fontSize));
  range.selectNodeContents(node);
  for (const rect of range.getClientRects()) {
    let { left, top, right, bottom } = rect;
    for (let box = parent; box; box = box.parentElement) {
      const style = getComputedStyle(box);
      if (style.overflowX === 'visible') continue;
      const edge = box.getBoundingClientRect();
      const over = right > edge.right + 1 || bottom > edge.bottom + 1 || left < edge.left - 1 || top < edge.top - 1;
      if (over && style.overflowX === 'hidden' && !box.closest('[title]')) cut.push(words);
      [left, top] = [Math.max(left, edge.left), Math.max(top, edge.top)];
      [right, bottom] = [Math.min(right, edge.right), Math.min(bottom, edge.bottom)];
    }
    if (right - left > 1 && bottom - top > 1) seen.push([left, top, right, bottom, words, node]);
  }
}
const over = [];
seen.sort((a, b) => a[1] - b[1]);
for (let at = 0; at < seen.length; at++)
  for (let next = at + 1; next < seen.length && seen[next][1] < seen[at][3] - 3; next++) {
    const [a, b] = [seen[at], seen[next]];
    if (a[5] !== b[5] && Math.min(a[2], b[2]) - Math.max(a[0], b[0]) > 2) over.push([a[4], b[4]]);
  }
return { wide: document.documentElement.scrollWidth - innerWidth, cut, over, sizes: [...sizes] };
"""


def layout(driver: Any) -> dict[str, Any]:
    """How many pixels the page is `wide`r than the window, which texts are `cut` off where nothing tells the rest,
    which lie `over` each other, and the `sizes` of all of them in pixels."""
    return driver.execute_script(_TEXTS)


class Heard:
    """What the browser tells programs that read a page aloud."""

    def __init__(self, driver: Any) -> None:
        nodes = driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        self._nodes = {node["nodeId"]: node for node in nodes}
        self._shown = [node for node in nodes if not node["ignored"]]

    def names(self, *roles: str) -> list[str]:
        """The names of all that has one of these roles, in the order of the page."""
        return [_name(node) for node in self._shown if _role(node) in roles]

    def levels(self) -> list[int]:
        """Those of the headings."""
        return [
            next(each["value"]["value"] for each in node["properties"] if each["name"] == "level")
            for node in self._shown
            if _role(node) == "heading"
        ]

    def text(self, role: str) -> str:
        """What stands in all that has this role."""
        found = (within for node in self._shown if _role(node) == role for within in self._within(node))
        return " ".join(_name(each) for each in found if _role(each) == "StaticText")

    def headers(self) -> list[list[str]]:
        """The column headers of each table."""
        return [
            [_name(each) for each in self._within(node) if _role(each) == "columnheader"]
            for node in self._shown
            if _role(node) == "table"
        ]

    def _within(self, node: Any) -> Iterator[Any]:
        for each in node["childIds"]:
            if each in self._nodes:
                yield self._nodes[each]
                yield from self._within(self._nodes[each])


def _role(node: Any) -> str:
    return node.get("role", {}).get("value", "")


def _name(node: Any) -> str:
    return node.get("name", {}).get("value", "").strip()
