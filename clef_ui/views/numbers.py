"""Probabilities as words and digits: no two different numbers of one question ever look the same."""

from collections.abc import Sequence

LEAST_DECIMALS = 1
MOST_DECIMALS = 8  # float32 softmax values that still look equal are told apart in words


def percents(probabilities: Sequence[float]) -> list[str]:
    """Each probability in percent: one decimal, and more where two different ones would look the same."""
    labels = [_percent(p, LEAST_DECIMALS) for p in probabilities]
    for decimals in range(LEAST_DECIMALS + 1, MOST_DECIMALS + 1):
        clashing = _clashing(probabilities, labels)
        if not clashing:
            break
        for index in clashing:
            labels[index] = _percent(probabilities[index], decimals)
    return labels


def _clashing(probabilities: Sequence[float], labels: Sequence[str]) -> list[int]:
    """Places whose label stands for several different probabilities; "<0.1 %" may stand for many tiny ones."""
    seen: dict[str, set[float]] = {}
    for p, label in zip(probabilities, labels, strict=True):
        seen.setdefault(label, set()).add(p)
    return [
        index
        for index, label in enumerate(labels)
        if len(seen[label]) > 1 and not (label.startswith("<") and probabilities[index] < max(probabilities))
    ]


def _percent(p: float, decimals: int) -> str:
    """Never 0.0 % for something above zero, never 100.0 % for something below one."""
    step = 10.0**-decimals
    if 0.0 < p * 100 < step / 2:
        return f"<{step:.{decimals}f} %"
    if p < 1.0 and round(p * 100, decimals) >= 100.0:
        return f">{100 - step:.{decimals}f} %"
    return f"{100 * p:.{decimals}f} %"


def decimal(value: float, digits: int = 3) -> str:
    """A share from 0 to 1; a rounded 0 or 1 that is neither says so."""
    text = f"{value:.{digits}f}"
    if value > 0 and float(text) == 0.0:
        return f"<{10.0**-digits:.{digits}f}"
    if value < 1 and float(text) == 1.0:
        return f">{1 - 10.0**-digits:.{digits}f}"
    return text


def margin_word(margin: float) -> str:
    """How far the first option leads the second, in words."""
    if margin == 0.0:
        return "exact tie"
    if margin < 0.05:
        return "close call"
    if margin < 0.2:
        return "narrow lead"
    if margin < 0.5:
        return "lead"
    return "clear lead"


def entropy_word(entropy: float) -> str:
    """How evenly the probability is spread; `entropy` is normalised, 0 to 1."""
    if entropy < 0.2:
        return "concentrated"
    if entropy < 0.6:
        return "somewhat spread"
    if entropy < 0.9:
        return "spread"
    return "nearly even"


def milliseconds(value: float) -> str:
    if value >= 10_000:
        return f"{value / 1000:,.1f} s"
    return f"{value:,.0f} ms" if value >= 10 else f"{value:.1f} ms"
