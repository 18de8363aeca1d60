"""The request of the endpoints as types, from which Gradio makes the schemas that programs and agents read."""

from typing import Any, Literal, TypedDict

Text = str | dict[str, Any] | list[Any]  # anything but a plain text reaches the model as JSON


class NoulTexts(TypedDict, total=False):
    """What each answer means; null is no description."""

    true: Text | None
    false: Text | None


class NoulQuestion(TypedDict):
    """A yes-or-no question."""

    type: Literal["noul"]
    instructions: Text


class DescribedNoulQuestion(NoulQuestion):
    """A yes-or-no question that says what "true" and "false" mean."""

    criteria: NoulTexts


class ChoiceQuestion(TypedDict):
    """A question for one of several options, as {option id: description}; null is no description."""

    type: Literal["choice"]
    instructions: Text
    criteria: dict[str, Text | None]


class ScoreQuestion(TypedDict):
    """A question for a level on a scale, described from the lowest to the highest."""

    type: Literal["score"]
    instructions: Text
    criteria: list[Text | None]


class Request(TypedDict):
    """A System One request. `images`, `videos`, `model` and `id` may stand beside these."""

    state: Any
    questions: dict[str, NoulQuestion | DescribedNoulQuestion | ChoiceQuestion | ScoreQuestion]
