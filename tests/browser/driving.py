"""Steps that browser tests share."""

from typing import Any

RUN_ENDED = """() => document.querySelector('.clef-run').textContent === 'Run'
    && document.querySelector('.clef-answer') && !window.clef.isStale()"""
PLANNED = "(text) => document.querySelector('.clef-cost').textContent.includes(text)"


def answered(page: Any) -> None:
    """Waits until a run has ended and its answers belong to what is asked."""
    page.wait_for_function(RUN_ENDED)


def planned(page: Any, text: str = "tokens") -> None:
    """Waits until the run bar says this."""
    page.wait_for_function(PLANNED, arg=text)


def settled(page: Any) -> None:
    """Waits until the newest draft has been planned."""
    page.evaluate(
        """() => new Promise((done) => {
            window.clef.on("plan", () => done());
            window.clef.emit("load-draft", { draft: structuredClone(window.clef.draft), reason: "" });
        })"""
    )


def notice(page: Any, text: str) -> None:
    """Waits until the line above the run button says this."""
    page.wait_for_function("(text) => document.querySelector('.clef-notice').textContent.includes(text)", arg=text)


def draft(page: Any) -> Any:
    return page.evaluate("() => window.clef.draft")


def paste(page: Any, selector: str, text: str) -> None:
    """Pastes as a person does: through the clipboard and the keyboard."""
    page.evaluate("(text) => navigator.clipboard.writeText(text)", text)
    page.focus(selector)
    page.keyboard.press("ControlOrMeta+V")


def drop(page: Any, name: str, mime: str, data: bytes) -> None:
    """Drops one file on the left column."""
    page.evaluate(
        """([name, mime, bytes]) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([new Uint8Array(bytes)], name, { type: mime }));
            const target = document.querySelector("#clef-editor .clef-state");
            target.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
        }""",
        [name, mime, list(data)],
    )
