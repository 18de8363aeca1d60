"""Scripts and styles of the page, read as text and joined in a fixed order."""

from functools import cache
from importlib.resources import files

# core comes first: every other script hangs its panel on window.clef
SCRIPTS = (
    "core.js",
    "storage.js",
    "place.js",
    "header.js",
    "presets.js",
    "state.js",
    "camera.js",
    "media.js",
    "question_fields.js",
    "question_options.js",
    "question_card.js",
    "questions.js",
    "limits.js",
    "run.js",
    "editor.js",
    "answer_cards.js",
    "answers.js",
    "prompt_model.js",
    "prompt_text.js",
    "prompt_search.js",
    "prompt_ids.js",
    "prompt.js",
    "charts.js",
    "icicle.js",
    "budget_parts.js",
    "budget_lengths.js",
    "budget.js",
    "servers.js",
    "analysis.js",
    "cut_effect.js",
    "sweep.js",
    "export.js",
)
STYLES = (
    "theme.css",
    "editor.css",
    "questions.css",
    "answers.css",
    "prompt.css",
    "budget.css",
    "analyses.css",
    "export.css",
)


@cache
def asset(name: str) -> str:
    return files("clef_ui.assets").joinpath(name).read_text("utf-8")


def page_head() -> str:
    """The page's own scripts as one inline element for `launch(head=...)`. No request leaves the page."""
    return "".join(f"<script>\n{asset(f'js/{name}')}\n</script>" for name in SCRIPTS)


def page_css() -> str:
    return "\n".join(asset(f"css/{name}") for name in STYLES)
