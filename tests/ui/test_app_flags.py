"""The flags of the app: what they refuse, in a sentence."""

import pytest

import app


def test_tools_for_agents_are_off_unless_asked_for() -> None:
    assert app.parse_flags([]).mcp == "off"


def test_tools_for_agents_without_their_package_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(app, "find_spec", lambda name: None)
    with pytest.raises(SystemExit) as raised:
        app.parse_flags(["--mcp", "on"])
    assert raised.value.code == 2
    assert "not installed: pip install -r requirements-mcp.txt" in " ".join(capsys.readouterr().err.split())
