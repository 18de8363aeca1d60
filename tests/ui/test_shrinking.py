"""Media made smaller for the model from the Budget panel: half the tokens, the rest of the draft as it was."""

import base64
import io
import json
from dataclasses import replace
from typing import Any

from PIL import Image
from ui.scripted import ScriptedDecider

from clef_model.decision import Limits
from clef_model.encoding import EncodedRecord, encode
from clef_model.media_config import MediaConfig
from clef_model.schema import Record
from clef_ui.draft_types import Draft, MediaDraft, OptionDraft, QuestionDraft, draft_view
from clef_ui.result_calls import asked, budget_calls, prompt_calls
from clef_ui.uploads import MediaStore
from clef_ui.views.answers import answers_view


class SeeingDecider(ScriptedDecider):
    def plan(self, record: Record, limits: Limits = Limits()) -> EncodedRecord:  # noqa: B008 (frozen)
        return encode(record, self.tokenizer, max_length=limits.max_length, media_config=MediaConfig())


STORE = MediaStore()
CALLS = {call.__name__: call for call in budget_calls(SeeingDecider(), STORE)}
QUESTION = QuestionDraft(1, "noul", "ok", None, (OptionDraft("true"), OptionDraft("false")))


def call(name: str, request: Any) -> Any:
    return json.loads(CALLS[name](json.dumps(request)))


def draft_with(*sizes: tuple[int, int]) -> Draft:
    media = []
    for size in sizes:
        buffer = io.BytesIO()
        Image.new("RGB", size, "red").save(buffer, "PNG")
        upload = STORE.add(f"{size[0]}.png", "image/png", buffer.getvalue())
        media.append(MediaDraft(upload.id, "image", upload.name))
    return Draft(state_text="x", questions=(QUESTION,), media=tuple(media))


def test_a_picture_is_one_run_of_tokens_in_the_prompt_and_its_text_is_the_placeholder() -> None:
    calls = {each.__name__: each for each in prompt_calls(SeeingDecider(), STORE)}
    view = json.loads(calls["prompt"](json.dumps(draft_view(draft_with((640, 480))))))
    places = [segment for segment in view["segments"] if view["kinds"][segment[0]] == "media"]
    assert [(segment[2], segment[5]) for segment in places] == [(302, 0)]
    assert [count for _, count in view["runs"][0]] == [1, 300, 1]
    assert "STATE:\n<|vision_start|><|image_pad|><|vision_end|>\nx\n\nSCHEMA" in view["text"]
    assert view["typed"] == []
    assert len(view["ids"]) == view["total"] - 303


def test_the_pictures_shown_beside_an_answer_are_those_that_were_sent() -> None:
    what = asked(json.dumps(draft_view(draft_with((640, 480)))), STORE)
    [decision] = SeeingDecider().decide([what.record], what.limits)
    [shown] = answers_view(decision, None)["media"]
    assert (shown["name"], shown["size"], shown["tokens"], shown["frames"]) == ("640.png", "640 × 480", 302, 0)
    picture = Image.open(io.BytesIO(base64.b64decode(shown["preview"].partition("base64,")[2])))
    assert picture.size == (160, 120)


def test_the_budget_counts_each_picture_and_names_the_size_that_halves_it() -> None:
    media = call("budget", draft_view(draft_with((640, 480))))["media"]
    assert [(item["tokens"], item["perSlot"], item["shown"]) for item in media] == [(302, 300, [640, 480])]
    assert media[0]["half"] == {"width": 448, "height": 320, "tokens": 140, "frees": 160}


def test_a_picture_made_smaller_costs_what_the_budget_said() -> None:
    draft = draft_with((320, 320), (640, 480))
    smaller = call("shrink", {"draft": draft_view(draft), "place": 1})["draft"]
    assert [item["name"] for item in smaller["media"]] == ["320.png", "640 448x320.png"]
    assert [item["perSlot"] for item in call("budget", smaller)["media"]] == [100, 140]


def test_a_picture_of_the_smallest_size_cannot_be_halved() -> None:
    view = draft_view(draft_with((32, 32)))
    assert call("budget", view)["media"][0]["half"] is None
    assert call("shrink", {"draft": view, "place": 0}) == {
        "error": "'32.png' is as small as the model's smallest picture."
    }


def test_media_that_changed_meanwhile_are_said_so() -> None:
    view = draft_view(replace(draft_with((64, 64)), media=()))
    error = call("shrink", {"draft": view, "place": 0})["error"]
    assert error == "The media were changed in the meantime. Look at the table again."
