"""The page's two columns: what is asked on the left, what came back in tabs on the right."""

import json
from collections.abc import Sequence

import gradio as gr

from clef_model.attachments import MAX_IMAGES, MAX_VIDEOS
from clef_model.decision import Limits
from clef_ui.calls import editor_calls, preset_draft, typed_limits
from clef_ui.components.panel import panel
from clef_ui.deciding import Desk
from clef_ui.draft_types import Draft, draft_view
from clef_ui.events import on_model_call
from clef_ui.export_calls import export_calls
from clef_ui.pages.cut_effect import cut_effect_page
from clef_ui.presets import Preset
from clef_ui.result_calls import budget_calls, prompt_calls
from clef_ui.server_calls import server_calls
from clef_ui.uploads import MAX_ITEM_BYTES, MediaStore

RUN_FAILED = "() => { window.clef.emit('run-failed'); return []; }"


def decide_page(desk: Desk, presets: Sequence[Preset], limits: Limits) -> None:
    decider, store = desk.decider, desk.store

    with gr.Row(elem_classes="clef-columns"):
        with gr.Column(elem_classes="clef-left"):
            calls = editor_calls(decider, store, presets, desk.runs, limits)
            editor = panel("editor", functions=calls, setup=editor_setup(presets, store, limits), feedback="")
        with gr.Column(elem_classes="clef-right"), gr.Tabs(elem_id="clef-tabs"):
            with gr.Tab("Answers", id="answers"):
                answers = panel("answers")
            with gr.Tab("Prompt", id="prompt"):
                panel("prompt", functions=prompt_calls(decider, store))
            with gr.Tab("Budget", id="budget"):
                panel("budget", functions=budget_calls(decider, store))
                panel("servers", functions=server_calls(decider, store))
            with gr.Tab("Cut effect", id="cut-effect"):
                cut_effect_page(decider, store, desk.runs)
            with gr.Tab("Export", id="export"):
                panel("export", functions=export_calls(decider, store))

    def run(draft_text: str) -> tuple[object, gr.HTML]:
        outcome = desk.run(draft_text)
        shown = gr.skip() if outcome.answers is None else outcome.answers
        return shown, gr.HTML(feedback=outcome.feedback)

    on_model_call(editor.submit, run, [editor], [answers, editor], failed_js=RUN_FAILED)


def editor_setup(presets: Sequence[Preset], store: MediaStore, limits: Limits) -> str:
    """JSON text of what the left column needs to know before the first call."""
    setup = {
        "presets": [
            {
                "slug": preset.slug,
                "title": preset.title,
                "note": preset.note,
                "kinds": list(preset.kinds),
                "media": ["image"] * bool(preset.record.images) + ["video"] * bool(preset.record.videos),
            }
            for preset in presets
        ],
        "first": draft_view(preset_draft(presets[0], store, limits)),
        "releaseLimits": draft_view(Draft(limits=typed_limits(Limits())))["limits"],
        "maxImages": MAX_IMAGES,
        "maxVideos": MAX_VIDEOS,
        "maxUploadBytes": MAX_ITEM_BYTES,
    }
    return json.dumps(setup, ensure_ascii=False)
