"""Other servers for the page: which would take this record, which refuse it, which answer otherwise in silence."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from clef_model.diagnostics.limits import Finding, Verdict
from clef_model.json_paths import counted

WORDS = {"accepted": "accepts it", "different": "differs in silence", "refused": "refuses it"}
KINDS = {"refused": "refused", "input": "read otherwise", "output": "reported otherwise"}
SHOWN_FINDINGS = 12  # of one server; a schema of many questions repeats itself


def servers_view(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """One entry a server, in the order of the profiles, and all of them counted in a sentence."""
    counts = Counter(verdict.status for verdict in verdicts)
    parts = []
    if counts["accepted"]:
        parts.append(f"{counts['accepted']} would take it as it is")
    if counts["different"]:
        parts.append(f"{counts['different']} would read or report it otherwise without a word")
    if counts["refused"]:
        parts.append(f"{counts['refused']} would refuse it")
    return {
        "summary": f"Of {counted(len(verdicts), 'server')}, {', '.join(parts)}.",
        "servers": [_server(verdict) for verdict in verdicts],
    }


def _server(verdict: Verdict) -> dict[str, Any]:
    profile = verdict.profile
    # What stops a request comes first, and what only changes the reply last.
    order = list(KINDS)
    findings = sorted(verdict.findings, key=lambda finding: order.index(finding.kind))
    return {
        "id": profile.id,
        "title": profile.title.replace("the ", "The ", 1) if profile.title.startswith("the ") else profile.title,
        "status": verdict.status,
        "word": WORDS[verdict.status],
        "findings": [_finding(finding) for finding in findings[:SHOWN_FINDINGS]],
        "more": max(0, len(findings) - SHOWN_FINDINGS),
        "note": profile.note,
        "source": profile.source,
        "date": profile.date,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "word": KINDS[finding.kind],
        "where": finding.where,
        "message": finding.message,
        "theirs": finding.theirs,
    }
