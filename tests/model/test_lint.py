"""Each lint rule speaks of its bad example and is silent about its good one."""

from typing import Any

import pytest
from model.small_tokenizers import byte_tokenizer

from clef_model.diagnostics.lint import RULES, Advice, lint
from clef_model.encoding import encode
from clef_model.parsing import parse_record

CODES = [rule.code for rule in RULES]
LEVELS = ["none of it", "some of it", "all of it"]
LONG = "Everything about payments that customers ask for, such as invoices, refunds, cards, fees and dates. " * 2


def choice(*options: str, **question: Any) -> dict[str, Any]:
    """A choice of options given as "id: description"."""
    parts = [option.partition(": ") for option in options]
    return {
        "type": "choice",
        "instructions": "Which is it?",
        "criteria": {k: v or None for k, _, v in parts},
    } | question


def score(*levels: Any, **question: Any) -> dict[str, Any]:
    return {"type": "score", "instructions": "Pick one.", "criteria": list(levels)} | question


def noul(instructions: Any, **question: Any) -> dict[str, Any]:
    return {"type": "noul", "instructions": instructions} | question


Questions = dict[str, dict[str, Any]]

# code -> (bad, the option that is named, the sentence, good)
EXAMPLES: dict[str, tuple[Questions, int | None, str, Questions]] = {
    "option_order": (
        {"q": choice("b: two", "a: one")},
        None,
        "the model reads the options sorted by id: 'a' and 'b'. Only renaming ids changes that.",
        {"q": choice("a: one", "b: two")},
    ),
    "same_words": (
        {"q": choice("a: Late delivery", "b: The delivery is late")},
        1,
        "'a' and 'b' are described with the same words. Say what sets them apart, or merge them.",
        {"q": choice("a: Late delivery", "b: Lost delivery")},
    ),
    "same_tokens": (
        {"q": choice("ab: x y", "ba: y x")},
        1,
        "'ab' and 'ba' are made of the same tokens in another order; their averages are equal. "
        "Use other words for one of them.",
        {"q": choice("ab: x y", "ba: y z")},
    ),
    "no_way_out": (
        {"q": choice("billing: Money", "sales: Plans", "technical: Bugs")},
        None,
        "no option is for “none of these”, so one is chosen even when none fits. Add one if that can happen.",
        {"q": choice("billing: Money", "other: None of these", "sales: Plans", "technical: Bugs")},
    ),
    "single_option": (
        {"q": score("all")},
        None,
        "a single level always gets the probability 1, and most servers refuse it. Add another.",
        {"q": score("none", "all")},
    ),
    "missing_descriptions": (
        {"q": choice("a: Money", "b", "c")},
        1,
        "'b' and 'c' have no description, while the others do. Describe them too.",
        {"q": choice("a", "b", "c")},
    ),
    "levels_unordered": (
        {"q": score("Low risk", "High risk", "Medium risk")},
        2,
        "level 2 says less than level 1 above it. Order them, lowest first.",
        {"q": score("Low risk", "Medium risk", "High risk")},
    ),
    "levels_without_order": (
        {"q": score("Apples", "Pears", "Plums", instructions="Fruit?")},
        None,
        "nothing in the levels says which is more. Use words of degree, or ask “how …” in the instructions.",
        {"q": score("Apples", "Pears", "Plums", instructions="How sweet is it?")},
    ),
    "costly_option": (
        {"q": choice(f"a: {LONG}", "b: Sales", "c: Other")},
        0,
        "'a' takes 234 tokens, the others about 39. Shorten it, or say as much of the others.",
        {"q": choice("a: Money", "b: Sales", "c: Other")},
    ),
    "costly_question": (
        {"q": choice(f"a: {LONG}", f"b: {LONG[50:]}", "c: Other"), "r": noul("Is it up?"), "s": noul("Is it on?")},
        None,
        "this question takes 571 of the 1,097 tokens of all questions. Shorten its options if the state is cut.",
        {"q": choice("a: Money", "b: Sales"), "r": noul("Is it up?"), "s": noul("Is it on?")},
    ),
    "special_token": (
        {"q": choice("a: x<|im_end|>", "b: y")},
        0,
        "the text holds '<|im_end|>', which becomes a control token that the model may obey. Respell it.",
        {"q": choice("a: x im_end", "b: y")},
    ),
    "empty_span": (
        {"q": noul(" \u200b\n")},
        None,
        "the instructions hold nothing to read. Write them, or leave them out so that the id is read.",
        {"q": noul("Is it up?")},
    ),
    "counts_or_computes": (
        {"q": choice("few", "many", instructions="How many items are in the order?")},
        None,
        "'how many' asks to count or compute, which one pass of the model does badly. "
        "Put the result into the state, and ask about that.",
        {"q": choice("few", "many", instructions="Is the order large or small?")},
    ),
    "double_negation": (
        {"q": noul("Is it not true that nothing was never paid?")},
        None,
        "found 2 negations, 'not' and 'never'. Say it in the positive, and read false for no.",
        {"q": noul("Was it not paid?")},
    ),
    "two_questions": (
        {"q": noul("Is the customer angry and does she want a refund?")},
        None,
        "'and does she' begins a second question, and one answer cannot hold both. Make two questions.",
        {"q": noul("Is the customer angry and tired?")},
    ),
    "no_question": (
        {"q": noul("Which team should handle this?")},
        None,
        "a yes/no question needs something to be true or false, and this asks 'which'. Use a choice.",
        {"q": noul("The billing team should handle this.")},
    ),
    "id_is_instruction": (
        {"Always answer yes": noul("Is it paid?")},
        None,
        "the id 'Always answer yes' reads as an instruction, and the model reads ids. Keep it a short name.",
        {"answer": noul("Is it paid?")},
    ),
    "id_carries_meaning": (
        {"confirmed_fraud": noul("Was the card used abroad?")},
        None,
        "the id says 'confirmed' and 'fraud', the instructions do not, and the model reads both. Use a neutral id.",
        {"fraud": noul("Is this fraud?")},
    ),
}


def advice(questions: Questions) -> tuple[Advice, ...]:
    record = parse_record({"state": "x", "questions": questions})
    return lint(record, encode(record, byte_tokenizer()))


@pytest.mark.parametrize("code", CODES)
def test_a_rule_names_its_bad_example(code: str) -> None:
    bad, option, message, _ = EXAMPLES[code]
    assert [(each.question, each.option, each.message) for each in advice(bad) if each.code == code] == [
        (0, option, message)
    ]


@pytest.mark.parametrize("code", CODES)
def test_a_rule_is_silent_about_its_good_example(code: str) -> None:
    assert code not in [each.code for each in advice(EXAMPLES[code][3])]


@pytest.mark.parametrize(
    ("question", "code", "message"),
    [
        (choice("item 2: b", "item 10: a"), "option_order", "Numbers are sorted as text; write 01, 02, 10"),
        (score("Very high", "High", "Low"), "levels_unordered", "the levels run from high to low"),
        (score("1", "2", "3"), "levels_without_order", "the levels are bare numbers"),
        (score(None, None), "missing_descriptions", "no level has a description"),
        (choice("a: ", "b: x", criteria={"a": "", "b": "x"}), "empty_span", "the description of 'a' holds nothing"),
        (noul("Is it up? Is it on?"), "two_questions", "there is more than one question mark"),
        (noul("Spam"), "no_question", "'Spam' states nothing that is true or false"),
        ({"type": "noul"}, "no_question", "there are no instructions, so the model reads the id 'q'"),
        (choice("always say this", "b"), "id_is_instruction", "the option id 'always say this' reads"),
    ],
)
def test_the_other_sentences_of_a_rule(question: dict[str, Any], code: str, message: str) -> None:
    assert any(message in each.message for each in advice({"q": question}) if each.code == code)


@pytest.mark.parametrize(
    "question",
    [
        choice("no", "yes"),  # two that exclude each other
        noul("The parcel is late."),
        noul("包裹迟到了"),  # a sentence, though it looks like one word
        noul("Is a service down, or not?"),
        noul({"claim": "Which one?"}),  # structured instructions are not read as a sentence
        score("Can wait", "This week", "Today", "Right now", instructions="How soon must someone act?"),
        score("no risk", "low risk", "high risk", "critical risk"),
        score({"level": 1}, {"level": 2}, instructions="How bad is it?"),
    ],
)
def test_ordinary_questions_get_no_advice(question: dict[str, Any]) -> None:
    assert advice({"team": question}) == ()


def test_without_an_encoded_record_the_advice_that_needs_words_alone_is_given() -> None:
    record = parse_record({"state": "x", "questions": EXAMPLES["costly_option"][0]})
    assert lint(record) == ()


def test_advice_comes_question_by_question_with_its_path() -> None:
    record = parse_record(
        {"state": "x", "questions": {"a.b": choice("x: s t", "y: t s"), "l": score("all", "none", None)}}
    )
    found = [each.notice(record) for each in lint(record)]
    assert [(each.code, each.where) for each in found] == [
        ("same_words", 'questions["a.b"].criteria.y'),
        ("missing_descriptions", "questions.l.criteria[2]"),
    ]


def test_codes_are_unique_and_each_has_its_examples() -> None:
    assert len(set(CODES)) == len(CODES)
    assert set(EXAMPLES) == set(CODES)
