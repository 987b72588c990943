from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

from surpass.errors import SavedFileError
from surpass.learning.adam import Adam


def twins() -> tuple[nn.Module, nn.Module]:
    torch.manual_seed(0)
    first, second = (nn.Sequential(nn.Linear(7, 16), nn.ReLU(), nn.Linear(16, 3)) for _ in range(2))
    second.load_state_dict(first.state_dict())
    return first, second


def lose(network: nn.Module, seed: int) -> None:
    inputs = torch.from_numpy(np.random.default_rng(seed).normal(size=(32, 7)).astype(np.float32))
    network(inputs).square().sum().backward()


def same(first: nn.Module, second: nn.Module) -> bool:
    return all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_it_gives_the_numbers_of_pytorchs_own() -> None:
    ours, theirs = twins()
    adam, fused = Adam(ours.parameters(), 1e-2), torch.optim.Adam(theirs.parameters(), lr=1e-2, fused=True)
    for k in range(50):
        adam.learning_rate = fused.param_groups[0]["lr"] = 1e-2 / (1 + k)
        adam.clear_gradients()
        fused.zero_grad()
        lose(ours, k)
        lose(theirs, k)
        if k % 3 == 0:  # a parameter without a gradient stays as it is
            ours[0].bias.grad = theirs[0].bias.grad = None
        adam.step()
        fused.step()
        assert same(ours, theirs)


@pytest.mark.parametrize(
    ("name", "tensor", "message"),
    [
        ("optimizer.9.step", np.zeros((), np.float32), "optimizer"),
        ("optimizer.0.exp_avg", np.zeros((2, 2), np.float32), "shape"),
        ("optimizer.0.step", np.zeros((), np.int64), "float32"),
    ],
)
def test_a_foreign_state_is_refused(name: str, tensor: np.ndarray, message: str) -> None:
    network, _ = twins()
    adam = Adam(network.parameters(), 1e-2)
    lose(network, 0)
    adam.step()
    before = adam.save()
    with pytest.raises(SavedFileError, match=message):
        adam.load({**before, name: tensor}, "a file")
    assert all(np.array_equal(before[key], tensor) for key, tensor in adam.save().items())


def test_pytorchs_compiler_is_not_loaded() -> None:
    code = "import torch, sys; from surpass.learning.adam import Adam; p = torch.nn.Parameter(torch.ones(2))"
    code += "; p.sum().backward(); Adam([p], 0.1).step(); print('torch._dynamo' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"
