"""The tab that asks whether the cut mattered, and how much of the state is needed."""

import gradio as gr

from clef_ui.analyses import CUT_EFFECT, SWEEP, Analysis, analysis_calls, runner
from clef_ui.components.panel import panel
from clef_ui.deciding import PageDecider
from clef_ui.events import on_model_call
from clef_ui.runs import Runs
from clef_ui.uploads import MediaStore


def cut_effect_page(decider: PageDecider, store: MediaStore, runs: Runs) -> None:
    _analysis_panel("cut-effect", CUT_EFFECT, decider, store, runs)
    _analysis_panel("sweep", SWEEP, decider, store, runs)


def _analysis_panel(name: str, analysis: Analysis, decider: PageDecider, store: MediaStore, runs: Runs) -> None:
    element = panel(name, functions=analysis_calls(analysis, decider, store, runs), result="")
    work = runner(analysis, decider, store, runs)

    def run(text: str) -> gr.HTML:
        return gr.HTML(result=work(text))

    failed = f"() => {{ window.clef.emit('analysis-failed', '{name}'); return []; }}"
    on_model_call(element.submit, run, [element], [element], failed_js=failed)
