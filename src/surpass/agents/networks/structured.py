"""The paper's structured policy (appendix D): a small network per decision, given the operands chosen before it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from surpass.arrays import Ints
from surpass.machine.interface import Interface

HIDDEN = (64, 64, 64)
PRUNE = 0.01
"""How much less likely than the best action a prefix must be to be dropped in the search for the most likely action."""


class StructuredPolicy(nn.Module):
    """A distribution over actions: p(instruction) times p(operand | instruction, operands before it) for each operand.

    Every slot of the interface has its own network with three hidden layers. Its inputs are the observation's and the
    encoding of the operands chosen before; its outputs are the logits of its choices. A binary slot is a Bernoulli
    distribution with one logit.
    """

    def __init__(self, interface: Interface, hidden: Sequence[int] = HIDDEN, *, seed: int = 0) -> None:
        super().__init__()
        self.interface = interface
        self.hidden = tuple(hidden)
        self._slot_of = {(slot.instruction, slot.operand): k for k, slot in enumerate(interface.slots)}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.slots = nn.ModuleList(self._build(slot) for slot in range(len(interface.slots)))

    def _build(self, number: int) -> nn.Sequential:
        slot = self.interface.slots[number]
        operands = self.interface.instructions[slot.instruction].operands[: slot.operand] if number else ()
        sizes = [self.interface.input_size + sum(o.input_size for o in operands), *self.hidden]
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(sizes):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        return nn.Sequential(*layers, nn.Linear(sizes[-1], 1 if slot.kind == "binary" else slot.choices))

    # One decision

    def encode(self, observations: Ints) -> Tensor:
        """Return the inputs [m, input_size] of packed observations [m]."""
        return torch.from_numpy(self.interface.encode(observations))

    def log_probabilities(self, slot: int, inputs: Tensor, prefix: Tensor) -> Tensor:
        """Return the log-probabilities [m, choices] of a slot's choices.

        `inputs` [m, input_size] are encoded observations, `prefix` [m, operands before] the choices made before.
        """
        output = self.slots[slot](torch.cat([inputs, self._encode_prefix(slot, prefix)], dim=1))
        if self.interface.slots[slot].kind == "binary":
            output = torch.cat([torch.zeros_like(output), output], dim=1)
        return torch.log_softmax(output, dim=1)

    def _encode_prefix(self, number: int, prefix: Tensor) -> Tensor:
        slot = self.interface.slots[number]
        blocks = []
        for k in range(max(0, slot.operand)):
            operand = self.interface.instructions[slot.instruction].operands[k]
            if operand.kind == "binary":
                blocks.append(prefix[:, k : k + 1].float())
            else:
                blocks.append(nn.functional.one_hot(prefix[:, k], len(operand.values)).float())
        return torch.cat(blocks, dim=1) if blocks else prefix.new_zeros((len(prefix), 0)).float()

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

    @torch.no_grad()
    def most_likely(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the most likely action [m] for each observation, and by how much [m] its log-probability leads.

        The lead is a lower bound.

        The best choice at each slot in turn gives an action; it is the most likely one if it is at least as likely as
        each of the prefixes it left aside. Where that does not settle it, those prefixes are followed.
        """
        rows, total, runner_up = self._descend(inputs)
        margins = total - runner_up
        unsettled = torch.nonzero(margins < 0)[:, 0]
        if len(unsettled):
            rows[unsettled], margins[unsettled] = self._search(inputs[unsettled], rows[unsettled], total[unsettled])
        return self._number(rows), margins

    def _search(self, inputs: Tensor, rows: Tensor, best: Tensor) -> tuple[Tensor, Tensor]:
        """Return the most likely action rows and their margins, given ones whose log-probabilities are `best` [m].

        Prefixes are extended slot by slot and dropped once they are less likely than the best action by `PRUNE`; the
        margin is at most that.
        """
        interface, rows = self.interface, rows.clone()
        second = best - PRUNE
        member = torch.arange(len(inputs)).repeat_interleave(len(interface.instructions))
        reached = torch.zeros((len(member), rows.shape[1]), dtype=torch.int64)
        reached[:, 0] = torch.arange(len(interface.instructions)).repeat(len(inputs))
        scores = self.log_probabilities(0, inputs, _no_prefix(inputs)).flatten()
        for depth in range(interface.most_operands + 1):
            grown: list[tuple[Tensor, Tensor, Tensor]] = []
            for number, instruction in enumerate(interface.instructions):
                here = torch.nonzero((reached[:, 0] == number) & (scores > second[member]))[:, 0]
                if not len(here):
                    continue
                if depth == len(instruction.operands):
                    self._keep_best(member[here], reached[here], scores[here], rows, best, second)
                elif depth < len(instruction.operands):
                    grown.append(self._extend(inputs, number, depth, member[here], reached[here], scores[here]))
            if not grown:
                break
            member, reached, scores = (torch.cat(column) for column in zip(*grown, strict=True))
        return rows, best - second

    def _extend(
        self, inputs: Tensor, instruction: int, depth: int, member: Tensor, reached: Tensor, scores: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return every prefix of one instruction with one more operand chosen."""
        slot = self._slot_of[instruction, depth]
        options = self.log_probabilities(slot, inputs[member], reached[:, 1 : 1 + depth])
        choices = options.shape[1]
        longer = reached.repeat_interleave(choices, 0)
        longer[:, 1 + depth] = torch.arange(choices).repeat(len(reached))
        return member.repeat_interleave(choices), longer, (scores[:, None] + options).flatten()

    @staticmethod
    def _keep_best(member: Tensor, found: Tensor, scores: Tensor, rows: Tensor, best: Tensor, second: Tensor) -> None:
        """Update the best action rows, their log-probabilities and the second best ones in place."""
        for k in torch.argsort(scores).tolist():
            m, score = int(member[k]), scores[k]
            if torch.equal(found[k], rows[m]):
                continue
            if score > best[m]:
                second[m], best[m], rows[m] = best[m].clone(), score, found[k]
            elif score > second[m]:
                second[m] = score

    def _descend(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the action rows [m, 1 + operands] of the best choice at each slot, and their log-probabilities [m].

        The third array [m] is the largest log-probability of a prefix that was left aside.
        """
        interface = self.interface
        rows = torch.zeros((len(inputs), interface.action_rows.shape[1]), dtype=torch.int64)
        total = inputs.new_zeros(len(inputs))
        runner_up = inputs.new_full((len(inputs),), -torch.inf)
        for number, slot in enumerate(interface.slots):
            member = torch.arange(len(rows)) if number == 0 else torch.nonzero(rows[:, 0] == slot.instruction)[:, 0]
            if not len(member):
                continue
            prefix = rows[member, 1 : 1 + max(0, slot.operand)]
            options = self.log_probabilities(number, inputs[member], prefix)
            chosen = options.argmax(dim=1)
            others = options.scatter(1, chosen[:, None], -torch.inf).amax(dim=1)
            runner_up[member] = torch.maximum(runner_up[member], total[member] + others)
            total[member] += options.gather(1, chosen[:, None])[:, 0]
            rows[member, 0 if number == 0 else 1 + slot.operand] = chosen
        return rows, total, runner_up

    def _number(self, rows: Tensor) -> Tensor:
        """Return the action numbers [m] of action rows [m, 1 + operands]."""
        kinds, operands = rows[:, 0], rows[:, 1:]
        weights = torch.from_numpy(self.interface.operand_weights)[kinds]
        return torch.tensor(self.interface.offsets)[kinds] + (weights * operands).sum(dim=1)


def _no_prefix(inputs: Tensor) -> Tensor:
    return torch.zeros((len(inputs), 0), dtype=torch.int64)
