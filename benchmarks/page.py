"""How fast the right column shows things, in Chromium: python -m benchmarks.page [--json] [--rounds 5]

The page is the real one with clef-nano's tokenizer and made-up logits, so that only the page is measured. Each figure
ends with the frame that shows its effect; server figures are the Python call alone. On a busy machine the wall clock
says little: "cpu" is what the browser's page process used, per run.
"""

import argparse
import json
import os
import random
import shutil
import socket
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

from playwright.sync_api import Page, sync_playwright

from benchmarks.builder import FLAGS, MEASURE, ROOT, PlanOnly
from clef_model.decision import Decision, Limits, Progress, Timing, answer
from clef_model.parsing import parse_record
from clef_model.schema import Record
from clef_ui.draft_types import Draft, LimitsDraft, draft_view
from clef_ui.presets import read_presets
from clef_ui.views.planned import Asked, planned
from clef_ui.views.prompt import prompt_view
from clef_ui.workbench import build_workbench, serve

NUM_QUESTIONS = 64
NUM_STATES = 10_000
STATE_WORDS = 298  # about 300 tokens with the JSON around them
GOALS = {
    "64 answers drawn": 300,
    "prompt of 16,384 tokens, server": 300,
    "prompt of 16,384 tokens, opened": 1_000,
    "10,000 states of 300 tokens": 15_000,
}
WORDS = [
    "the",
    "customer",
    "wrote",
    "that",
    "payment",
    "failed",
    "again",
    "after",
    "update",
    "nobody",
    "answers",
    "help",
]


class MadeUp(PlanOnly):
    """Decides at once: the logits fall from the first option to the last."""

    def decide(
        self,
        records: Sequence[Record],
        limits: Limits = Limits(),  # noqa: B008 (frozen)
        progress: Progress | None = None,
    ) -> list[Decision]:
        decisions = []
        for record in records:
            answers = tuple(answer(q, [-0.3 * place for place in range(len(q.options))]) for q in record.questions)
            decisions.append(Decision(self.plan(record, limits), answers, Timing(1.0, 1.0, 2.0), self.status))
        return decisions


class Used:
    """CPU time of the browser's page processes, in milliseconds, since the last look."""

    def __init__(self, page: Page) -> None:
        assert page.context.browser is not None
        self._session = page.context.browser.new_browser_cdp_session()
        self._before = 0.0

    def since(self) -> float:
        processes = self._session.send("SystemInfo.getProcessInfo")["processInfo"]
        now = 1000 * sum(process["cpuTime"] for process in processes if process["type"] == "renderer")
        used, self._before = now - self._before, now
        return used


@contextmanager
def open_page(decider: MadeUp) -> Iterator[Page]:
    workbench = build_workbench(decider, read_presets(ROOT / "presets"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve(workbench, host="127.0.0.1", port=port, block=False)
    chromium = os.environ.get("CLEF_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("There is no Chromium. Install it, or name it in CLEF_CHROMIUM.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"http://127.0.0.1:{port}/")
        page.wait_for_selector(".clef-answer")
        page.evaluate(MEASURE)
        yield page
        browser.close()
    workbench.close(verbose=False)


def load(page: Page, state: Any, questions: dict[str, Any], max_length: int = 16_384) -> None:
    view = draft_view(
        Draft(
            state_mode="json",
            state_text=json.dumps(state),
            questions_mode="json",
            questions_text=json.dumps(questions),
            limits=LimitsDraft(str(max_length)),
        )
    )
    page.evaluate(
        """(draft) => new Promise((done) => {
            window.clef.on("plan", () => done());
            window.clef.emit("load-draft", { draft, reason: "" });
        })""",
        view,
    )


def long_record() -> tuple[dict[str, Any], dict[str, Any]]:
    """A JSON state of over 16,384 tokens with eight questions of four options."""
    rng = random.Random(1)
    rows = [{"step": n, "ok": n % 3 == 0, "note": " ".join(rng.choices(WORDS, k=12))} for n in range(700)]
    options = {name: f"The part is about {name}." for name in ("billing", "other", "sales", "support")}
    questions = {f"part_{n}": {"type": "choice", "instructions": "What is it?", "criteria": options} for n in range(8)}
    return {"rows": rows}, questions


def answers(page: Page, rounds: int) -> list[float]:
    """From the click that draws all answers anew to the frame that shows them."""
    options = {f"option_{n}": f"What option {n} stands for" for n in range(8)}
    question = {"type": "choice", "instructions": "Which one?", "criteria": options}
    load(page, {"x": 1}, {f"q{n}": question for n in range(NUM_QUESTIONS)}, 65_536)
    page.keyboard.press("Control+Enter")
    page.wait_for_function("(n) => document.querySelectorAll('.clef-answer').length === n", arg=NUM_QUESTIONS)
    click = """() => window.bench.edit(() => document.querySelector(
        '.clef-answers .controls button[aria-pressed=false]').click())"""
    return [float(page.evaluate(click)) for _ in range(rounds)]


def prompt_opened(page: Page, rounds: int) -> list[float]:
    """From the click on the tab, with a draft it has not seen, to the prompt's first frame."""
    state, questions = long_record()
    measured = []
    for turn in range(rounds):
        page.evaluate("() => window.clef.emit('open-tab', 'answers')")
        load(page, {**state, "turn": turn}, questions)
        page.evaluate("() => { const box = document.querySelector('.prompt-box'); if (box) box.remove(); }")
        measured.append(
            page.evaluate(
                """() => window.bench.edit(() => window.clef.emit('open-tab', 'prompt'),
                    () => document.querySelector('.prompt-box .piece'))"""
            )
        )
    assert page.evaluate("() => document.querySelector('.clef-prompt').dataset.total") == "16384"
    return measured


def scrolling(page: Page) -> list[float]:
    """The length of each frame while the tokens of the whole prompt are scrolled through, 240 pixels a frame."""
    page.get_by_role("button", name="Tokens", exact=True).click()
    page.wait_for_selector(".prompt-box .tok")
    return list(
        page.evaluate(
            """async () => {
                const box = document.querySelector('.prompt-box'), frames = [];
                let last = performance.now();
                while (box.scrollTop + box.clientHeight < box.scrollHeight - 2) {
                    box.scrollTop += 240;
                    await new Promise(requestAnimationFrame);
                    frames.push(performance.now() - last);
                    last = performance.now();
                }
                return frames;
            }"""
        )
    )


def prompt_server(decider: MadeUp, rounds: int) -> tuple[list[float], int]:
    """Planning and the view of a prompt whose state was never seen before, and the bytes that travel."""
    measured, size = [], 0
    state, questions = long_record()
    for turn in range(rounds):
        record = parse_record({"state": {**state, "turn": f"server {turn}"}, "questions": questions})
        start = time.perf_counter()
        view = prompt_view(planned(decider, Asked(record, Limits())), decider.tokenizer, exact=True)
        text = json.dumps(view, ensure_ascii=False)
        measured.append(1000 * (time.perf_counter() - start))
        size = len(json.dumps(text).encode())
    return measured, size


def states(page: Page) -> list[float]:
    """From the choice of the file to the histogram."""
    rng = random.Random(2)
    lines = "\n".join(
        json.dumps({"id": n, "message": " ".join(rng.choices(WORDS, k=STATE_WORDS))}) for n in range(NUM_STATES)
    )
    load(page, {"x": 1}, {"ok": {"type": "noul"}})
    page.evaluate("() => window.clef.emit('open-tab', 'budget')")
    page.wait_for_selector("[aria-label='File of states']", state="attached")
    file = {"name": "states.jsonl", "mimeType": "application/jsonl", "buffer": lines.encode()}
    page.evaluate(
        """() => document.querySelector("[aria-label='File of states']")
            .addEventListener('change', () => { window.started = performance.now(); }, true)"""
    )
    page.set_input_files("[aria-label='File of states']", file)
    page.wait_for_selector("#clef-budget .histogram", timeout=120_000)
    return [float(page.evaluate("() => performance.now() - window.started"))]


def summary(times: Sequence[float], cpu_ms: float) -> dict[str, float]:
    """`cpu_ms` of all runs together, what leads up to them included."""
    ordered = sorted(times)
    return {
        "median_ms": round(statistics.median(ordered), 1),
        "p95_ms": round(ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))], 1),
        "max_ms": round(ordered[-1], 1),
        "cpu_ms": round(cpu_ms / len(ordered), 1),
        "runs": len(ordered),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON in place of a table")
    parser.add_argument("--rounds", type=int, default=5, help="times each is measured")
    flags = parser.parse_args()
    decider = MadeUp()
    start = time.process_time()
    server, size = prompt_server(decider, flags.rounds)
    results = {"prompt of 16,384 tokens, server": summary(server, 1000 * (time.process_time() - start))}
    with open_page(decider) as page:
        used = Used(page)
        measures: dict[str, Callable[[], list[float]]] = {
            "64 answers drawn": lambda: answers(page, flags.rounds),
            "prompt of 16,384 tokens, opened": lambda: prompt_opened(page, flags.rounds),
            "scrolling its tokens, a frame": lambda: scrolling(page),
            "10,000 states of 300 tokens": lambda: states(page),
        }
        for name, measure in measures.items():
            used.since()
            times = measure()
            results[name] = summary(times, used.since())
    if flags.json:
        print(json.dumps({"goals_ms": GOALS, "prompt_bytes": size, "results": results}, indent=2))
        return
    print(f"milliseconds; the prompt of 16,384 tokens travels in {size:,} bytes (goal: under 500,000)")
    print(f"{'':34}{'median':>9}{'p95':>9}{'max':>9}{'cpu':>9}{'runs':>6}{'goal':>9}")
    for name, figures in results.items():
        values = "".join(f"{value:>9,.1f}" for value in list(figures.values())[:4])
        print(f"{name:34}{values}{figures['runs']:>6}{GOALS.get(name, ''):>9}")


if __name__ == "__main__":
    main()
