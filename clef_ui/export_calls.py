"""What the Export panel asks Python: snippets, what other servers take, case files out and in."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from clef_model.decision import Limits
from clef_model.diagnostics.limits import check, read_profiles
from clef_model.errors import InvalidRecord
from clef_ui.calls import Call, answering, media_of
from clef_ui.casefile import (
    BrokenCase,
    answer_differences,
    case_limits,
    plan_differences,
    read_case,
    write_case,
)
from clef_ui.draft_types import Draft, LimitsDraft, MediaDraft, draft_view, read_draft
from clef_ui.drafts import request_text
from clef_ui.pasting import from_request_text
from clef_ui.result_calls import asked
from clef_ui.uploads import MediaStore
from clef_ui.views.export import Exported, export_view, snippet
from clef_ui.views.planned import Planner, planned, problems_view

HOSTED = "workers-ai"  # the profile of the hosted service
EMBEDDED = "models"  # the folder of the embedded release


def export_calls(planner: Planner, store: MediaStore) -> list[Call]:
    """The functions of the Export panel, by the names its script uses."""
    hosted = next(profile for profile in read_profiles() if profile.id == HOSTED)

    def export(text: str) -> Any:
        request = json.loads(text)
        draft_text = json.dumps(request["draft"])
        try:
            what = asked(draft_text, store)
            result = planned(planner, what)
        except InvalidRecord as error:
            return {"problems": problems_view(error)}
        made = _exported(read_draft(draft_text), str(request["origin"]), what.limits)
        return export_view(made, check(what.record, result.encoded, hosted))

    def whole(text: str) -> Any:
        request = json.loads(text)
        draft_text = json.dumps(request["draft"])
        made = _exported(read_draft(draft_text), str(request["origin"]), asked(draft_text, store).limits)
        return {"text": snippet(made, str(request["name"]))}

    def case(text: str) -> Any:
        request = json.loads(text)
        draft_text = json.dumps(request["sent"])
        what = asked(draft_text, store)
        model = {key: request["model"][key] for key in ("name", "revision", "device", "dtype")}
        return {
            "text": write_case(
                request=request_text(read_draft(draft_text), _model_name(planner)),
                limits=what.limits,
                encoded=planner.plan(what.record, what.limits),
                model=model,
                tokenizer=planner.status.tokenizer,
                probabilities=_by_option(request["answers"], "p"),
                logits=_by_option(request["answers"], "logit"),
            )
        }

    def open_case(text: str) -> Any:
        filed = read_case(text)
        draft = case_draft(filed, store)
        missing = [item["name"] for item in filed["media"] if item.get("sha256") not in store]
        view: dict[str, Any] = {"draft": draft_view(draft), "missing": missing, "differences": []}
        if not missing:
            what = asked(json.dumps(view["draft"]), store)
            encoded = planned(planner, what).encoded
            view["differences"] = [_view(each) for each in plan_differences(filed, encoded, planner.status)]
        return view

    def check_case(text: str) -> Any:
        request = json.loads(text)
        filed = read_case(request["case"])
        what = asked(json.dumps(request["sent"]), store)
        found = plan_differences(filed, planned(planner, what).encoded, planner.status)
        answers, largest = answer_differences(filed, _by_option(request["answers"], "p"))
        return {"differences": [_view(each) for each in (*found, *answers)], "largest": largest}

    def _exported(draft: Draft, origin: str, limits: Limits) -> Exported:
        media = media_of(draft, store)
        name = planner.status.name
        return Exported(
            request=request_text(draft, _model_name(planner), media),
            limits=limits,
            release=f"{EMBEDDED}/{name}" if planner.status.is_demonstration else name,
            model=_model_name(planner),
            origin=origin,
            images=[item.name for item in draft.media if item.kind == "image"],
            videos=[item.name for item in draft.media if item.kind == "video"],
        )

    return [*map(answering, (export, whole, case, open_case, check_case))]


def case_draft(case: Mapping[str, Any], store: MediaStore) -> Draft:
    """The draft that a case was made of; pictures and clips that the store does not have are left out.

    Raises: BrokenCase.
    """
    limits = case_limits(case)
    filled = from_request_text(case["request"], Draft())
    if filled is None:
        raise BrokenCase("The request in the case file is no System One request. Save the case again.")
    media = tuple(
        MediaDraft(
            str(item["sha256"]),
            "image" if str(item.get("where", "")).startswith("images") else "video",
            str(item.get("name", "")),
            item.get("frames"),
            item.get("fps"),
        )
        for item in case["media"]
        if item.get("sha256") in store
    )
    state_tokens = "" if limits.max_state_tokens is None else str(limits.max_state_tokens)
    typed = LimitsDraft(str(limits.max_length), state_tokens, limits.truncate)
    return replace(filled.draft, media=media, limits=typed)


def _model_name(planner: Planner) -> str:
    return planner.status.name.rpartition("/")[2]


def _by_option(answers: Any, key: str) -> dict[str, dict[str, float]]:
    """{question id: {option id: number}} of the answers that the page shows."""
    return {answer["id"]: {option["id"]: option[key] for option in answer["options"]} for answer in answers}


def _view(difference: Any) -> dict[str, str]:
    return {"what": difference.what, "filed": difference.filed, "here": difference.here}
