"""The canvas stays fluid at 5,000 nodes, dims what is not chosen, and is worked by keyboard."""

import json
import re

from playwright.sync_api import Browser, expect

from tests.studio.browsing import browsing
from tests.studio.scene import TOKENS, Scene
from tests.studio.test_query import query_address

NODES = 5_000
# Without a graphics card a frame takes 24 ms; a machine that others use as well takes longer.
SLOWEST = 250.0
RING = "query ring() { match { $a: Person  $a $e:knows $b } return { $a, $e } }"
# The median of the time between frames, while the canvas is moved for two seconds.
_FRAMES = """async (canvas) => {
  const box = canvas.getBoundingClientRect()
  const point = { bubbles: true, pointerId: 1, button: 0, clientY: box.top + 60 }
  const at = (n) => ({ ...point, clientX: box.left + 60 + n })
  canvas.setPointerCapture = () => {}
  canvas.dispatchEvent(new PointerEvent('pointerdown', at(0)))
  const gaps = []
  let last = performance.now()
  for (let n = 0; n < 60; n += 1) {
    canvas.dispatchEvent(new PointerEvent('pointermove', at(n * 3)))
    await new Promise(requestAnimationFrame)
    gaps.push(performance.now() - last)
    last = performance.now()
  }
  canvas.dispatchEvent(new PointerEvent('pointerup', at(180)))
  return gaps.sort((one, other) => one - other)[30]
}"""


def _person(number: int) -> dict[str, str]:
    slug = f"p{number}"
    about = {"email": f"{slug}@ring.example", "joined": "2026-01-01T00:00:00Z"}
    return {"slug": slug, "name": f"Person {number}", **about}


def test_five_thousand_nodes_are_laid_out_moved_and_chosen(browser: Browser, scene: Scene) -> None:
    people = [{"type": "Person", "data": _person(n)} for n in range(NODES)]
    edges = [
        {"edge": "Knows", "from": f"p{n}", "to": f"p{(n * 7 + 1) % NODES}"} for n in range(NODES)
    ]
    rows = "\n".join(json.dumps(each) for each in (*people, *edges))
    scene.graph.create_branch("ring")
    scene.graph.branch("ring").load(rows, mode="append", engine="inline")
    with browsing(browser, scene.origin, token=TOKENS["eve"]) as (page, _):
        page.goto(query_address(scene, RING, run="1", branch="ring", view="graph"))
        canvas = page.get_by_role("application")
        expect(canvas).to_have_attribute("aria-label", re.compile("5,000 nodes and 4,"))
        expect(canvas).to_have_attribute("data-layout", "still")
        assert canvas.evaluate(_FRAMES) < SLOWEST
        canvas.focus()
        page.keyboard.press("ArrowRight")
        expect(page).to_have_url(re.compile("select=Person"))
    scene.graph.delete_branch("ring")
