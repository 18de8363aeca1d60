"""How fast the schema builder answers a person, in Chromium: python -m benchmarks.builder [--json] [--questions 25]

The page is the real one with clef-nano's tokenizer and no weights. Each figure is measured in the browser, from the key
or the click to the frame that shows its effect; "to the plan" ends when the server's new token counts are shown. Work
is the processor time of the page's main thread per key or edit, which other programs on a busy machine do not lengthen.
"""

import argparse
import json
import os
import shutil
import socket
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

from playwright.sync_api import Page, sync_playwright

from clef_model.decision import Decision, Limits, ModelStatus, Progress
from clef_model.encoding import EncodedRecord, encode
from clef_model.errors import Unsupported
from clef_model.schema import Record
from clef_model.tokenizer import Tokenizer, read_tokenizer
from clef_ui.drafts import form_view
from clef_ui.presets import read_presets
from clef_ui.workbench import build_workbench, serve

ROOT = Path(__file__).parent.parent
GOAL_MS = 300  # an edit with 25 questions
LETTERS = 200
OPTIONS = {
    "billing": "Payments, invoices and refunds",
    "other": "None of these",
    "sales": "Plans, prices and upgrades",
    "shipping": "Parcels, carriers and returns",
    "technical": "Bugs, errors and outages",
    "urgent": "Anything that must not wait",
}
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]

# A frame is shown when a task runs after its animation callbacks.
MEASURE = """() => {
    const shown = () => new Promise((done) => requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = () => done();
        channel.port2.postMessage(0);
    }));
    window.bench = {
        keys: [],
        async edit(act, until = null) {
            const start = performance.now();
            await act();
            if (until) while (!until()) await new Promise((done) => setTimeout(done, 1));
            await shown();
            return performance.now() - start;
        },
    };
    document.addEventListener("keydown", (event) => {
        shown().then(() => window.bench.keys.push(performance.now() - event.timeStamp));
    }, true);
}"""

# name -> (what is done, what it waits for); `card(i)` and `entry(card, label)` are defined around them.
EDITS = {
    "add a choice": ('document.querySelector("[data-add=choice]").click()', ""),
    "duplicate": ('entry(card(10), "Duplicate")', ""),
    "remove": ('entry(card(11), "Remove")', ""),
    "undo": ('document.querySelector(".clef-questions .undo .btn.small").click()', ""),
    "move down": ('entry(card(5), "Move down")', ""),
    "change the type": ('kind(card(7), "score"); kind(card(7), "choice")', ""),
    "add an option": ('card(3).querySelector(".under .btn").click()', ""),
    "collapse all": ("fold()", 'closed() === document.querySelectorAll(".clef-question").length'),
    "expand those in sight": ("fold()", ""),
    "expand the last": ("", "closed() === 0"),
    "form to JSON": (
        'document.querySelector(".clef-questions [data-mode=json]").click()',
        '!document.querySelector(".clef-json").hidden',
    ),
    "JSON to form, edited": (
        'editor.value = editor.value.replace("Bugs", "Faults"); editor.dispatchEvent(new Event("input"));'
        'document.querySelector(".clef-questions [data-mode=form]").click()',
        '!document.querySelector(".clef-form").hidden',
    ),
    "load all": ("load()", ""),
}
AROUND = """
    const card = (place) => document.querySelectorAll(".clef-question")[place];
    const entry = (from, label) => {
        from.querySelector(".qhead .menubox button").click();
        [...from.querySelectorAll("[role=menuitem]")].find((item) => item.textContent.startsWith(label)).click();
    };
    const kind = (from, name) => { const field = from.querySelector("select"); field.value = name;
        field.dispatchEvent(new Event("change")); };
    const fold = () => [...document.querySelectorAll(".clef-questions .sechead .btn")]
        .find((button) => /all$/.test(button.textContent)).click();
    const closed = () => document.querySelectorAll(".clef-question.collapsed").length;
    const editor = document.querySelector(".clef-questions-json");
    const load = () => window.clef.emit("load-draft", { draft: window.loaded, reason: "" });
"""


class PlanOnly:
    """Plans with clef-nano's tokenizer and decides nothing."""

    def __init__(self) -> None:
        self.tokenizer: Tokenizer = read_tokenizer(ROOT / "models" / "clef-nano")
        self.status = ModelStatus("plan only", None, "cpu", "none", True, False, "clef-nano", False)

    def plan(self, record: Record, limits: Limits = Limits()) -> EncodedRecord:  # noqa: B008 (frozen)
        return encode(record, self.tokenizer, max_length=limits.max_length, max_state_tokens=limits.max_state_tokens)

    def decide(
        self,
        records: Sequence[Record],
        limits: Limits = Limits(),  # noqa: B008 (frozen)
        progress: Progress | None = None,
    ) -> list[Decision]:
        raise Unsupported("This page only plans.")


@contextmanager
def open_page() -> Iterator[Page]:
    workbench = build_workbench(PlanOnly(), read_presets(ROOT / "presets"))
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
        page.wait_for_selector("#clef-editor .clef-run")
        yield page
        browser.close()
    workbench.close(verbose=False)


def load_questions(page: Page, count: int) -> None:
    """Puts `count` open choices of six options on the page."""
    question = {"type": "choice", "instructions": "Which team should handle this ticket?", "criteria": OPTIONS}
    cards = json.loads(form_view(json.dumps({f"question_{place:02d}": question for place in range(count)})))
    page.evaluate(
        """(questions) => {
            window.loaded = { ...window.clef.draft, questionsMode: "form", questions, view: { collapsed: [] } };
            window.clef.emit("load-draft", { draft: window.loaded, reason: "" });
        }""",
        cards["questions"],
    )
    page.wait_for_function(
        "(count) => { const all = [...document.querySelectorAll('.clef-question .count')];"
        " return all.length === count && all.every((each) => each.textContent); }",
        arg=count,
    )


class MainThread:
    """Milliseconds of processor time that the page's main thread has used."""

    def __init__(self, page: Page) -> None:
        self._session = page.context.new_cdp_session(page)
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def milliseconds(self) -> float:
        metrics = self._session.send("Performance.getMetrics")["metrics"]
        return 1000 * float(next(each["value"] for each in metrics if each["name"] == "TaskDuration"))


def typing(page: Page, letters: int) -> list[float]:
    """Milliseconds from each key to the frame after it, at 40 keys a second."""
    page.locator(".clef-question").nth(12).get_by_label("Instructions").click()
    page.evaluate("() => { window.bench.keys.length = 0; }")
    page.keyboard.type(("the quick brown fox jumps over the lazy dog " * letters)[:letters], delay=25)
    page.wait_for_function("(letters) => window.bench.keys.length >= letters", arg=letters)
    return list(page.evaluate("() => window.bench.keys"))


def edit_to_plan(page: Page, rounds: int) -> list[float]:
    """Milliseconds from one letter to the token counts that include it; 150 of them are the wait for more letters."""
    field = page.locator(".clef-question").nth(12).get_by_label("Instructions")
    field.click()
    measured = []
    for _ in range(rounds):
        page.evaluate(
            """() => {
                const count = document.querySelectorAll(".clef-question .count")[12];
                const before = count.textContent;
                window.planned = new Promise((done) => {
                    const start = performance.now();
                    const look = () => {
                        if (count.textContent === before) setTimeout(look, 1);
                        else done(performance.now() - start);
                    };
                    look();
                });
            }"""
        )
        page.keyboard.type(" zebra")
        measured.append(float(page.evaluate("() => window.planned")))
    return measured


def edits(page: Page, count: int, rounds: int, thread: MainThread) -> dict[str, list[tuple[float, float]]]:
    """Milliseconds to the frame and of the main thread, per edit."""
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name in EDITS}
    for _ in range(rounds):
        load_questions(page, count)
        for name, (act, until) in EDITS.items():
            wait = f"() => {until}" if until else "null"
            before = thread.milliseconds()
            shown = page.evaluate(f"() => {{ {AROUND} return window.bench.edit(() => {{ {act} }}, {wait}); }}")
            measured[name].append((shown, thread.milliseconds() - before))
    return measured


def summary(times: Sequence[float], work_ms: float) -> dict[str, float]:
    ordered = sorted(times)
    return {
        "median_ms": round(statistics.median(ordered), 1),
        "p95_ms": round(ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))], 1),
        "max_ms": round(ordered[-1], 1),
        "work_ms": round(work_ms, 1),
        "runs": len(ordered),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON in place of a table")
    parser.add_argument("--questions", type=int, default=25, help="open cards on the page")
    parser.add_argument("--rounds", type=int, default=7, help="times each edit is done")
    flags = parser.parse_args()
    with open_page() as page:
        page.evaluate(MEASURE)
        load_questions(page, flags.questions)
        thread = MainThread(page)
        before = thread.milliseconds()
        keys = typing(page, LETTERS)
        results: dict[str, dict[str, Any]] = {"one letter": summary(keys, (thread.milliseconds() - before) / LETTERS)}
        before = thread.milliseconds()
        plans = edit_to_plan(page, flags.rounds)
        results["letters to the plan"] = summary(plans, (thread.milliseconds() - before) / flags.rounds)
        for name, runs in edits(page, flags.questions, flags.rounds, thread).items():
            shown, work = zip(*runs, strict=True)
            results[name] = summary(shown, statistics.median(work))
    if flags.json:
        print(json.dumps({"questions": flags.questions, "goal_ms": GOAL_MS, "results": results}, indent=2))
        return
    print(
        f"{flags.questions} open questions of {len(OPTIONS)} options; milliseconds; goal: under {GOAL_MS} for an edit"
    )
    print(f"{'':22}{'median':>9}{'p95':>9}{'max':>9}{'work':>9}{'runs':>6}")
    for name, figures in results.items():
        times = "".join(f"{figures[key]:>9,.1f}" for key in ("median_ms", "p95_ms", "max_ms", "work_ms"))
        print(f"{name:22}{times}{figures['runs']:>6}")


if __name__ == "__main__":
    main()
