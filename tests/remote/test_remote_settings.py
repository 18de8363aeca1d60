"""The operator's list of servers, and servers named on the command line: whole messages."""

import json
from typing import Any

import pytest
from ui.scripted import ScriptedDecider

from clef_model.remote import RemoteDecider
from clef_model.remote_settings import named_on_the_command_line, read_remotes
from clef_model.replicas import ReplicatedDecider
from clef_model.service.settings import BrokenSetting

BOX: dict[str, Any] = {"name": "gpu box", "profile": "sglang", "url": "http://gpu:30000", "model": "clef-flash"}


def read(*entries: Any) -> Any:
    return read_remotes({"CLEF_REMOTES": json.dumps(entries)})


def refusal(*entries: Any) -> str:
    with pytest.raises(BrokenSetting) as raised:
        read(*entries)
    return str(raised.value)


def test_without_the_variable_there_are_no_servers() -> None:
    assert read_remotes({}) == ()
    assert read_remotes({"CLEF_REMOTES": " "}) == ()


@pytest.mark.parametrize(
    ("entry", "address"),
    [
        (BOX, "http://gpu:30000/v1/systemone"),
        ({**BOX, "url": "http://gpu:30000/"}, "http://gpu:30000/v1/systemone"),
        ({**BOX, "url": "http://gpu:30000/v1"}, "http://gpu:30000/v1/systemone"),
        ({**BOX, "url": "http://gpu/proxy/v1/systemone"}, "http://gpu/proxy/v1/systemone"),
        ({**BOX, "profile": "mlx-vlm"}, "http://gpu:30000/v1/decisions"),
        (
            {"name": "cf", "profile": "workers-ai", "url": "https://api.example/client/v4/accounts/7", "model": "clef"},
            "https://api.example/client/v4/accounts/7/ai/run/@cf/cloudflare/clef",
        ),
    ],
)
def test_an_address_gets_the_route_of_its_profile(entry: dict[str, Any], address: str) -> None:
    (setting,) = read(entry)
    assert setting.urls == (address,)


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        (7, 'expected an object such as {"name": "gpu box", "profile": "sglang", "url": "http://gpu:30000", '
            '"model": "clef-flash"}, got the number 7.'),
        ({**BOX, "urll": 1}, "urll: found the unknown key 'urll'; known are name, profile, url, model, key_env, "
                             "context_tokens. Did you mean 'url'?"),
        ({**BOX, "name": " "}, "name: expected a text, got the string ' '."),
        ({**BOX, "profile": "vllm"}, "profile: found the string 'vllm'; known are workbench, systemone, sglang, "
                                     "vllm-fork, llama-cpp, ollama, mlx, mlx-vlm, workers-ai."),
        ({**BOX, "model": None}, "model: expected a text, got null. Leave it out if there is none."),
        ({key: BOX[key] for key in ("name", "profile", "url")},
         "model: SGLang wants the name of the model in each request. Give it."),
        ({**BOX, "profile": "workers-ai", "model": "claire"},
         "model: expected one of clef, clef-flash for Workers AI, got the string 'claire'."),
        ({**BOX, "url": "gpu:30000"}, "url: expected an address such as http://gpu:30000, got 'gpu:30000'."),
        ({**BOX, "url": "http://gpu:99999"}, "url: expected an address such as http://gpu:30000, got 'http://gpu:99999'."),
        ({**BOX, "url": 5}, "url: expected an address such as http://gpu:30000, got the number 5."),
        ({**BOX, "url": []}, "url: expected an address such as http://gpu:30000, got an empty list."),
        ({**BOX, "url": ["http://a", "http://a"]}, "url: found an address twice among 2 addresses."),
        ({**BOX, "url": "http://me:secret@gpu"},
         "url: found more than host and path. A key belongs into the variable that key_env names."),
        ({**BOX, "url": "http://gpu/?key=secret"},
         "url: found more than host and path. A key belongs into the variable that key_env names."),
        ({**BOX, "context_tokens": "many"},
         "context_tokens: expected a whole number of tokens, got the string 'many'."),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(entry: Any, fault: str) -> None:
    found = refusal(entry)
    assert fault in found
    assert found.startswith("CLEF_REMOTES[0]")
    assert "secret" not in found


def test_all_faults_are_told_at_once() -> None:
    assert refusal({**BOX, "name": 1, "url": "x"}, 7).count("\n") == 2


def test_what_is_no_list_says_what_to_write() -> None:
    with pytest.raises(BrokenSetting, match=r"CLEF_REMOTES: expected a list, got an object of 1 key\. Write \[\{"):
        read_remotes({"CLEF_REMOTES": '{"a": 1}'})
    with pytest.raises(BrokenSetting, match=r"CLEF_REMOTES: .*line 1"):
        read_remotes({"CLEF_REMOTES": "[{]"})


def test_a_name_stands_for_one_server() -> None:
    assert refusal(BOX, BOX) == "CLEF_REMOTES: found 'gpu box' more than once. Name each server once."


def test_the_key_is_read_when_it_is_needed_and_never_shown() -> None:
    (setting,) = read({**BOX, "key_env": "GPU_KEY"})
    (remote,) = setting.remotes({"GPU_KEY": "sk-secret"})
    assert remote.key == "sk-secret"
    assert "sk-secret" not in repr((setting, remote))
    with pytest.raises(BrokenSetting) as raised:
        setting.remotes({})
    assert str(raised.value) == (
        "CLEF_REMOTES: the environment variable GPU_KEY is empty, and gpu box needs the key it should hold. "
        "Set it and start again."
    )
    with pytest.raises(BrokenSetting) as raised:
        setting.remotes({"GPU_KEY": "sk secret"})
    assert "secret" not in str(raised.value)
    assert setting.remotes({}, key="typed")[0].key == "typed"


def test_several_addresses_are_one_decider() -> None:
    (alone,) = read(BOX)
    assert isinstance(alone.decider(ScriptedDecider()), RemoteDecider)
    (farm,) = read({**BOX, "url": ["http://a", "http://b:1"]})
    decider = farm.decider(ScriptedDecider())
    assert isinstance(decider, ReplicatedDecider)
    assert [remote.name for remote in farm.remotes()] == ["gpu box 1", "gpu box 2"]


def test_the_command_line_names_a_server_of_the_list_or_an_address() -> None:
    listed = read(BOX)
    assert named_on_the_command_line("gpu box", listed) is listed[0]
    plain = named_on_the_command_line("http://gpu:8000", listed)
    assert plain is not None
    assert (plain.name, plain.profile.id, plain.urls) == ("gpu:8000", "systemone", ("http://gpu:8000/v1/systemone",))
    ollama = named_on_the_command_line("ollama=http://127.0.0.1:11434#clef-flash:9b", listed)
    assert ollama is not None
    assert (ollama.profile.id, ollama.model) == ("ollama", "clef-flash:9b")
    assert named_on_the_command_line("models/clef-nano", listed) is None
    assert named_on_the_command_line("Cloudflare/clef-flash", listed) is None
    with pytest.raises(BrokenSetting, match="wants the name of the model"):
        named_on_the_command_line("ollama=http://127.0.0.1:11434", listed)
