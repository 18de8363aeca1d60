"""Muon for the matrices: orthogonalised momentum, all matrices of one shape in one batch."""

from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor, nn

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # the quintic of Newton-Schulz, from the description of Muon (Jordan, 2024)
STEPS = 5


def orthogonalise(matrices: Tensor) -> Tensor:
    """About the nearest semi-orthogonal matrix of each, [N, rows, columns]."""
    a, b, c = COEFFICIENTS
    tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.bfloat16() if matrices.is_cuda else matrices.float()
    if tall:
        x = x.transpose(1, 2)
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(STEPS):
        gram = x @ x.transpose(1, 2)
        x = a * x + (b * gram + c * gram @ gram) @ x
    return (x.transpose(1, 2) if tall else x).float()


class Muon:
    """One step for all matrices; the update's size matches AdamW's, so both share a learning rate."""

    def __init__(self, parameters: Iterable[nn.Parameter], momentum: float = 0.95, weight_decay: float = 0.05) -> None:
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.groups: dict[torch.Size, list[nn.Parameter]] = defaultdict(list)
        for parameter in parameters:
            self.groups[parameter.shape].append(parameter)
        self.buffers = {
            shape: torch.stack([torch.zeros_like(p) for p in group]) for shape, group in self.groups.items()
        }

    @torch.no_grad()
    def step(self, rate: float) -> None:
        for shape, group in self.groups.items():
            gradients = torch.stack([p.grad if p.grad is not None else torch.zeros_like(p) for p in group])
            buffer = self.buffers[shape]
            buffer.lerp_(gradients, 1 - self.momentum)
            update = orthogonalise(gradients.lerp(buffer, self.momentum)) * (0.2 * max(shape) ** 0.5)
            torch._foreach_mul_(group, 1 - rate * self.weight_decay)
            torch._foreach_add_(group, list(update.unbind(0)), alpha=-rate)

    def zero_grad(self) -> None:
        for group in self.groups.values():
            for parameter in group:
                parameter.grad = None
