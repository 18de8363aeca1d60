"""Other servers on the page: the count in a sentence, and what each says or does."""

from typing import Any

from ui.scripted import ScriptedDecider

from clef_model.diagnostics.limits import check_all, read_profiles
from clef_model.parsing import parse_record
from clef_ui.views.servers import SHOWN_FINDINGS, servers_view

DECIDER = ScriptedDecider()


def view(state: Any = "ok", questions: Any = None) -> dict[str, Any]:
    record = parse_record({"state": state, "questions": questions or {"q": {"type": "noul", "instructions": "Fine?"}}})
    return servers_view(check_all(record, DECIDER.plan(record)))


def server(shown: dict[str, Any], name: str) -> dict[str, Any]:
    return next(entry for entry in shown["servers"] if entry["id"] == name)


def test_a_record_that_all_take_is_counted_in_one_phrase() -> None:
    number = len(read_profiles())
    assert view()["summary"] == f"Of {number} servers, {number} would take it as it is."


def test_every_outcome_is_counted() -> None:
    shown = view(None, {"q": {"type": "choice", "instructions": "Which?", "criteria": {"b": None, "a": None}}})
    words = [entry["word"] for entry in shown["servers"]]
    accepted, differs, refused = (words.count(word) for word in ("accepts it", "differs in silence", "refuses it"))
    assert min(accepted, differs, refused) > 0
    assert shown["summary"] == (
        f"Of {len(words)} servers, {accepted} would take it as it is, {differs} would read or report it otherwise "
        f"without a word, {refused} would refuse it."
    )


def test_a_refusal_stands_first_with_the_servers_own_words() -> None:
    shown = server(view("x" * 70_000), "ollama")
    assert (shown["status"], shown["word"]) == ("refused", "refuses it")
    assert shown["findings"][0]["word"] == "refused"
    assert "text and schema must not exceed 64 KiB" in [finding["theirs"] for finding in shown["findings"]]


def test_many_findings_of_one_server_are_counted_not_listed() -> None:
    shown = server(view(questions={f"question {place}": {"type": "noul"} for place in range(20)}), "workers-ai")
    assert len(shown["findings"]) == SHOWN_FINDINGS
    assert shown["more"] == 2 * 20 - SHOWN_FINDINGS


def test_each_server_has_its_source_and_date() -> None:
    assert all(entry["source"] and entry["date"] for entry in view()["servers"])
