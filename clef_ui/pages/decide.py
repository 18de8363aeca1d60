"""The page's two columns: what is asked on the left, what came back in tabs on the right."""

import gradio as gr

from clef_model.decision import Decider
from clef_ui.components.panel import panel
from clef_ui.events import on_model_call


def decide_page(decider: Decider) -> None:
    with gr.Row(elem_classes="clef-columns"):
        with gr.Column(elem_classes="clef-left"):
            editor = panel("editor", feedback="")
        with gr.Column(elem_classes="clef-right"), gr.Tabs(elem_id="clef-tabs"):
            with gr.Tab("Answers", id="answers"):
                answers = panel("answers")
            with gr.Tab("Prompt", id="prompt"):
                panel("prompt")
            with gr.Tab("Budget", id="budget"):
                panel("budget")
            with gr.Tab("Export", id="export"):
                panel("export")

    def run(draft_text: str) -> tuple[str, gr.HTML]:
        return "{}", gr.HTML(feedback="{}")

    on_model_call(
        editor.submit,
        run,
        [editor],
        [answers, editor],
        stop=editor.stop,
        failed_js="() => window.clef.emit('run-failed')",
    )
