"""Structured records as JSON, lines or prose, with claims about equality, order, dates, flags and absence."""

import random
from typing import Any

from training import grammar
from training.grammar import Domain
from training.questions import UNSAID, choice, noul
from training.rendering import Example

Record = tuple[Any, list[Example]]
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
TRUE_FORMS = (
    "{f} is true.",
    "The {e} has {f} set to yes.",
    "Is {f} true for this {e}?",
    "{f}: yes",
    "Does {f} apply?",
    "The {e} is marked as {f}.",
)
VALUE_FORMS = (
    "The {f} is {v}.",
    "Is the {f} {v}?",
    "{f} equals {v}",
    "The {e} has {f} {v}.",
    "Does the {e} have {v} as {f}?",
)
NOT_FORMS = ("The {f} is not {v}.", "Is the {f} something other than {v}?", "{f} differs from {v}")


class Structured:
    """Draws records of the domains; `held_out` uses only those kept out of training."""

    def __init__(self, held_out: bool = False) -> None:
        self.domains = grammar.read_domains(held_out)
        self.words = grammar.read_words()

    def record(self, rng: random.Random) -> Record:
        """Typed fields as JSON, lines or prose, with claims about equality, order, dates, flags and absence."""
        domain = rng.choice(self.domains)
        names = rng.sample(list(domain.fields), rng.randint(2, len(domain.fields)))
        values = {name: self.field_value(rng, domain.fields[name]) for name in names}
        state = self.show(rng, domain, values)
        examples = []
        for _ in range(rng.choice((1, 2, 2, 3, 3, 4))):
            name = rng.choice(names)
            examples.append(self.field_claim(rng, domain, name, values[name]))
        if rng.random() < 0.3:
            example = self.field_choice(rng, domain, rng.choice(names), values)
            if example:
                examples.append(example)
        missing = [name for name in domain.fields if name not in names and domain.fields[name] == "bool"]
        if missing and rng.random() < 0.25:
            name = rng.choice(missing)
            examples.append(
                noul(rng, rng.choice(TRUE_FORMS).format(f=name, e=domain.name), UNSAID, name, "field unsaid")
            )
        rng.shuffle(examples)
        return state, examples

    def field_value(self, rng: random.Random, kind: str) -> Any:
        if kind == "bool":
            return rng.random() < 0.5
        if kind.startswith("int"):
            low, high = (int(part) for part in kind.split()[1:])
            return rng.randint(low, high)
        if kind == "money":
            return round(
                rng.choice((rng.uniform(1, 90), rng.uniform(50, 2_000), rng.uniform(1_000, 90_000))), rng.choice((0, 2))
            )
        if kind == "date":
            return f"{rng.randint(2022, 2027)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
        if kind == "time":
            return f"{rng.randint(0, 23):02}:{rng.choice((0, 10, 15, 30, 45)):02}"
        return rng.choice(kind.split("|") if "|" in kind else self.words[kind])

    def show(self, rng: random.Random, domain: Domain, values: dict[str, Any]) -> Any:
        style = rng.random()
        if style < 0.5:
            glue = rng.choice(("_", " ", "_"))
            record = {name.replace(" ", glue): value for name, value in values.items()}
            return {domain.name.replace(" ", "_"): record} if rng.random() < 0.3 else record
        if style < 0.75:
            return f"{domain.name}\n" + "\n".join(f"{name}: {said(value)}" for name, value in values.items())
        sentences = [prose(rng, domain.name, name, value) for name, value in values.items()]
        return " ".join(sentences)

    def field_claim(self, rng: random.Random, domain: Domain, name: str, value: Any) -> Example:
        kind = domain.fields[name]
        if isinstance(value, bool):
            negated = rng.random() < 0.25
            form = rng.choice(
                (
                    f"It is not true that {name}.",
                    f"{name} is false.",
                    f"The {domain.name} has {name} set to no.",
                    f"not {name}",
                )
            )
            claim = form if negated else rng.choice(TRUE_FORMS).format(f=name, e=domain.name)
            return noul(rng, claim, float(value != negated), name, "field flag")
        if isinstance(value, int | float):
            return self.number_claim(rng, domain, name, value)
        if kind == "date":
            other = self.field_value(rng, kind)
            after = rng.random() < 0.5
            claim = rng.choice(("The {f} is {o} {v}.", "Is the {f} {o} {v}?")).format(
                f=name, o="after" if after else "before", v=date_text(rng, other)
            )
            return noul(rng, claim, float(value > other if after else value < other), name, "field date")
        same = rng.random() < 0.5
        other = value
        while other == value and not same:
            other = self.field_value(rng, kind)
        if rng.random() < 0.25:
            return noul(rng, rng.choice(NOT_FORMS).format(f=name, v=other), float(not same), name, "field value")
        return noul(
            rng, rng.choice(VALUE_FORMS).format(f=name, e=domain.name, v=other), float(same), name, "field value"
        )

    def number_claim(self, rng: random.Random, domain: Domain, name: str, value: float) -> Example:
        step = max(1, abs(value) * rng.choice((0.05, 0.2, 0.5, 1.0, 3.0)))
        bound = int(value + rng.choice((-1, 1)) * step)
        forms = {
            "more than": value > bound,
            "over": value > bound,
            "above": value > bound,
            "less than": value < bound,
            "under": value < bound,
            "at least": value >= bound,
            "at most": value <= bound,
            "below": value < bound,
        }
        word, holds = rng.choice(list(forms.items()))
        if rng.random() < 0.25:
            bound, word = (value, "exactly") if rng.random() < 0.5 else (bound, "exactly")
            holds = bound == value
        claim = rng.choice(
            ("The {f} is {w} {b}.", "Is the {f} {w} {b}?", "{f} {w} {b}", "Does the {e} have a {f} of {w} {b}?")
        )
        return noul(rng, claim.format(f=name, w=word, b=bound, e=domain.name), float(holds), name, "field number")

    def field_choice(self, rng: random.Random, domain: Domain, name: str, values: dict[str, Any]) -> Example | None:
        """Which value a field has, or which field has a value."""
        kind, value = domain.fields[name], values[name]
        if kind == "bool" or kind.startswith("int") or kind == "money":
            return None
        pool = (
            kind.split("|") if "|" in kind else self.words.get(kind) or [self.field_value(rng, kind) for _ in range(5)]
        )
        others = [str(other) for other in rng.sample(pool, min(len(pool), rng.randint(2, 7))) if other != value]
        if not others:
            return None
        names = list(dict.fromkeys([str(value), *others]))
        asked = rng.choice(
            (f"What is the {name}?", f"Which {name} does the {domain.name} have?", f"Select the {name}.", name)
        )
        return choice(
            rng,
            names,
            [f"The {name} is {text}" for text in names],
            [1.0] + [0.0] * (len(names) - 1),
            asked,
            name,
            "field choice",
            keep_asked=True,
        )


def said(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def prose(rng: random.Random, entity: str, name: str, value: Any) -> str:
    if isinstance(value, bool):
        yes = (
            f"The {entity} is marked as {name}.",
            f"{name.capitalize()}: yes.",
            f"For this {entity}, {name} is true.",
        )
        no = (
            f"The {entity} is not marked as {name}.",
            f"{name.capitalize()}: no.",
            f"For this {entity}, {name} is false.",
        )
        return rng.choice(yes if value else no)
    forms = ("The {f} of the {e} is {v}.", "Its {f} is {v}.", "{c}: {v}.", "The {e} has {v} as {f}.")
    return rng.choice(forms).format(f=name, e=entity, v=value, c=name.capitalize())


def date_text(rng: random.Random, date: str) -> str:
    if rng.random() < 0.6:
        return date
    year, month, day = date.split("-")
    return f"{int(day)} {MONTHS[int(month) - 1]} {year}"
