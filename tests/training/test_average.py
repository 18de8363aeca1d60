"""Averages of weights are weighted means, and the rates of the later runs fall to zero."""

import torch

from training.average import Weights, average
from training.refine import schedule


def weights(value: float) -> Weights:
    tensor = torch.full((2, 3), value)
    return {"body": tensor.half()}, {"head": tensor.half()}, tensor


def test_an_average_is_the_weighted_mean_of_body_head_and_rows() -> None:
    body, head, rows = average([(3.0, weights(1.0)), (1.0, weights(5.0)), (0.0, weights(99.0))])
    for tensor in (body["body"], head["head"], rows):
        assert tensor.dtype == torch.float32
        assert torch.allclose(tensor, torch.full((2, 3), 2.0))


def test_the_rates_rise_stay_and_fall_to_zero() -> None:
    assert schedule(0.0, 0.34) == 0
    assert schedule(0.5, 0.34) == 1
    assert 0 < schedule(0.9, 0.34) < 0.5
    assert schedule(1.0, 0.34) == 0
