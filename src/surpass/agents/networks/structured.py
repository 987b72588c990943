"""The paper's structured policy (appendix D): a small network per decision, given the operands chosen before it."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from surpass.agents.networks.agent import encode_prefix, layer_sizes
from surpass.arrays import Ints
from surpass.bundles import Tensors
from surpass.machine.interface import Interface


class StructuredPolicy(nn.Module):
    """A distribution over actions: p(instruction) times p(operand | instruction, operands before it) for each operand.

    Every slot of the interface has its own network with three hidden layers. Its inputs are the observation's and the
    encoding of the operands chosen before; its outputs are the logits of its choices. A binary slot is a Bernoulli
    distribution with one logit.
    """

    def __init__(self, interface: Interface, *, seed: int = 0) -> None:
        super().__init__()
        self.interface = interface
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.slots = nn.ModuleList(self._build(slot) for slot in range(len(interface.slots)))

    def _build(self, number: int) -> nn.Sequential:
        sizes = layer_sizes(self.interface, number)
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(sizes):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        return nn.Sequential(*layers[:-1])

    def arrays(self) -> Tensors:
        """Return the parameters by name, as arrays that share their memory."""
        return {name: tensor.numpy() for name, tensor in self.state_dict().items()}

    # One decision

    def encode(self, observations: Ints) -> Tensor:
        """Return the inputs [m, input_size] of packed observations [m]."""
        return torch.from_numpy(self.interface.encode(observations))

    def log_probabilities(self, slot: int, inputs: Tensor, prefix: Tensor) -> Tensor:
        """Return the log-probabilities [m, choices] of a slot's choices.

        `inputs` [m, input_size] are encoded observations, `prefix` [m, operands before] the choices made before.
        """
        before = torch.from_numpy(encode_prefix(self.interface, slot, prefix.numpy()))
        output = self.slots[slot](torch.cat([inputs, before], dim=1))
        if self.interface.slots[slot].kind == "binary":
            output = torch.cat([torch.zeros_like(output), output], dim=1)
        return torch.log_softmax(output, dim=1)

    # Whole actions

    def action_log_probabilities(self, inputs: Tensor, actions: Tensor) -> Tensor:
        """Return the log-probability [m] of one action [m] for each observation."""
        rows = torch.from_numpy(self.interface.action_rows)[actions]
        total = inputs.new_zeros(len(inputs))
        for number, slot in enumerate(self.interface.slots):
            if number == 0:
                chosen, member = rows[:, 0], torch.arange(len(rows))
            else:
                member = torch.nonzero(rows[:, 0] == slot.instruction)[:, 0]
                chosen = rows[member, 1 + slot.operand]
            if len(member):
                prefix = rows[member, 1 : 1 + max(0, slot.operand)]
                options = self.log_probabilities(number, inputs[member], prefix)
                total = total.index_add(0, member, options.gather(1, chosen[:, None])[:, 0])
        return total
