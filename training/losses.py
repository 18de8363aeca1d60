"""The training loss: soft cross-entropy, Brier score, distance on scales, and the two state read-outs."""

import torch
from torch import Tensor
from torch.nn import functional

KIND_WEIGHTS = (1.0, 1.5, 1.6)  # noul, choice, score; most questions are noul
SMOOTHING = 0.03
BRIER = 1.0
DISTANCE = 0.5
READOUT = 0.15
CONSISTENCY = 0.5  # of the distance between the answers of a record and of the same one in another order


def by_question(logits: Tensor, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Log-probabilities [B, Q, O] of each question's own options, a mask of them, and their count [B, Q]."""
    places = torch.arange(batch["kinds"].shape[1], device=logits.device).view(1, -1, 1)
    present = (batch["options"][..., 1] > batch["options"][..., 0]).unsqueeze(1)
    own = (batch["owner"].unsqueeze(1) == places) & present
    spread = logits.unsqueeze(1).expand(-1, places.shape[1], -1).masked_fill(~own, -1e4)
    return functional.log_softmax(spread, dim=-1), own, own.sum(-1)


def decision_loss(logits: Tensor, batch: dict[str, Tensor]) -> tuple[Tensor, dict[str, float | Tensor]]:
    logs, own, counts = by_question(logits, batch)
    target = batch["target"].unsqueeze(1) * own
    real = (counts > 0) & (target.sum(-1) > 0)  # a question without a target is only asked for consistency
    smooth = (1 - SMOOTHING) * target + SMOOTHING * own / counts.clamp(min=1).unsqueeze(-1)
    probabilities = logs.exp() * own
    cross = -(smooth * logs.masked_fill(~own, 0)).sum(-1)
    brier = ((probabilities - smooth) ** 2).sum(-1)
    # Levels of a score are its options in order, so their place within the question is their value.
    level = (own.cumsum(-1) - 1) * own
    scale = (counts - 1).clamp(min=1)
    off = (((probabilities - target) * level).sum(-1) / scale) ** 2
    weights = torch.tensor(KIND_WEIGHTS, device=logits.device)[batch["kinds"].long()] * real
    loss = ((cross + BRIER * brier + DISTANCE * 10 * off * (batch["kinds"] == 2)) * weights).sum() / weights.sum()
    right = (probabilities.argmax(-1) == target.argmax(-1)) & real
    accuracy = {
        name: (right & (batch["kinds"] == kind)).sum() / ((batch["kinds"] == kind) & real).sum().clamp(min=1)
        for kind, name in enumerate(("noul", "choice", "score"))
    }
    return loss, accuracy


def consistency_loss(logits: Tensor, batch: dict[str, Tensor]) -> Tensor:
    """Symmetric divergence of the answers of the records that are followed by the same one in another order."""
    logs, _, _ = by_question(logits, batch)
    own = logs.gather(1, batch["owner"].long().unsqueeze(1)).squeeze(1)  # [B, O]
    match = batch["match"].long()
    other = own.roll(-1, 0).gather(1, match.clamp(min=0))
    paired = match >= 0
    far = ((own.exp() - other.exp()) * (own - other)).masked_fill(~paired, 0)
    questions = paired.sum() / 2.5  # about, of two to three options
    return CONSISTENCY * far.sum() / questions.clamp(min=1)


def readout_loss(
    model: torch.nn.Module,
    read: Tensor,
    states: Tensor,
    teacher: Tensor | None,
    has_teacher: Tensor,
    teacher_weight: float = 3.0,
) -> Tensor:
    """Distance of the vectors read after the state and at the end from the state's mean row and the teacher's."""
    mean = 1 - functional.cosine_similarity(model.state_readout(read).float(), states.unsqueeze(1), dim=-1)
    loss = mean.mean()
    if teacher is not None:
        far = 1 - functional.cosine_similarity(model.teacher_readout(read).float(), teacher.unsqueeze(1), dim=-1)
        loss = loss + teacher_weight * (far * has_teacher.unsqueeze(1)).sum() / (2 * has_teacher.sum()).clamp(min=1)
    return READOUT * loss
