"""The paper's learner in the full view: n-step policy gradient (A2C) for the graph network.

The loss is that of `learning.policy_gradient`, plus a term that keeps logits within bounds:

    - evenness_weight * mean over positions k of log p(k | s)      (the cross-entropy to the uniform distribution)

An update plays lists of one size; the episodes of each size continue where its last update left them. Equal steps are
merged, as there: of short lists a batch holds few distinct ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from surpass.agents.networks.files import fill_network, network_tensors
from surpass.agents.teachers import teacher_of
from surpass.arrays import Flags, Ints, Reals
from surpass.bundles import Tensors, checked_tensor
from surpass.errors import SettingError
from surpass.full_view.agent import FullViewAgent, are_sorted, swapped
from surpass.full_view.graph import GraphAgent, GraphPolicy, GraphValue, encode_lists
from surpass.learning.curriculum import Curriculum
from surpass.learning.policy_gradient.learner import GradientLearner, PolicyGradientConfig, n_step_returns
from surpass.learning.policy_gradient.losses import merge_steps
from surpass.learning.updates import SOURCE, load_random, tensors_under
from surpass.reading import Batch, Count, Fraction, Many, OneOf, Range, Weight, Whole, validate
from surpass.tasks.task import Request, Task

GRAPH_WORK = 1 << 16
"""About how many pairs of positions go through the networks at once: what they remember must fit in memory."""
STATE = {
    **dict.fromkeys(("updates", "stage", "draws"), Count),
    **{"scalar": float, "reach": float, "random": dict[str, Any]},
}
"""What a checkpoint says beside its tensors."""
KEPT = "kept."
"""The prefix of the kept network's tensors."""
TRIED_AGAIN = 4
"""How many times as many lists a network is tried on again that seems to come further than the one that is kept."""
ATTEMPTS = 100
"""How often lists are drawn anew before all of their kind are taken to be sorted already."""
PROGRESS: dict[str, Callable[[Ints], Ints]] = {
    "score": lambda lists: (lists[:, :-1] <= lists[:, 1:]).sum(axis=1),
    "in_place": lambda lists: (lists == np.sort(lists, axis=1)).sum(axis=1),
}
"""What shaping can reward: neighbours in order, or values in their place."""


@dataclass(frozen=True, kw_only=True)
class FullViewGradientConfig(PolicyGradientConfig):
    """How `FullViewPolicyGradient` learns. Every field is part of the recipe."""

    policy: Annotated[str, OneOf(("network",))] = "network"
    """What is optimised: a network. The full view has no table."""
    imitation_weight: Weight = 0.3
    imitation_updates: Whole = 400
    """Over how many updates the imitation weight falls to 0; 0 keeps it constant."""
    final_learning_rate: Fraction = 3e-5
    discount: Annotated[float, Range(0, 1, above=True)] = 0.5
    entropy_weight: Weight = 0.0
    baseline: Annotated[str, OneOf(("scalar", "network"))] = "network"
    baseline_weight: Weight = 0.5
    unroll: Batch = 4
    episodes: Batch = 64
    step_cost: Weight = 0.1
    shaping: Weight = 1.0
    updates: Many = 4000
    updates_per_round: Many = 25
    progress: Annotated[str, OneOf(tuple(PROGRESS))] = "in_place"
    """What `shaping` rewards: neighbours that come into order (score), or values that come to their place."""
    evenness_weight: Weight = 0.01
    """Weight of the cross-entropy to the uniform distribution: it bounds logits where the entropy's pull vanishes."""
    kept_at: Whole = 0
    """A size beyond those to learn on. After each round the network is tried half way there and, if it solves all of
    that, there; in the end the one that came furthest is kept. 0 keeps the last one."""


class Steps(NamedTuple):
    """What B lists of size n went through in T steps."""

    lists: Ints
    """[T, B, n] before each step."""
    pairs: Ints
    """[T, B, 2] the positions that were swapped."""
    following: Ints
    """[T, B, n] after each step."""
    gains: Reals
    """[T, B] the gain of progress."""
    ended: Flags
    """[T, B] whether the step sorted the list."""
    cut: Flags
    """[T, B] whether the step was the last that the limit allows; a fresh list follows, as after the end."""
    ages: Ints
    """[T, B] how many steps an episode has taken with this one."""


class FullViewPolicyGradient(GradientLearner):
    """Policy gradient on whole lists, with a teacher or from nothing."""

    config: FullViewGradientConfig
    network: GraphPolicy
    value: GraphValue
    checked = 50

    def __init__(self, task: Task, config: FullViewGradientConfig) -> None:
        super().__init__(task, config)
        if not config.sizes:
            tops = range(5, max(5, task.training_sizes[1]) + 1)
            self.curriculum = Curriculum(" ".join(f"3-{top}" for top in tops), task.training_sizes)
        self.teacher: FullViewAgent | None = teacher_of(task, config.teacher) if config.teacher else None
        self.largest = self.curriculum.largest
        if min(low for low, _ in self.curriculum.ranges) < 2:
            raise SettingError(f"sizes begin at 1; {task.name} learns on lists of 2 or more")
        if 0 < config.kept_at <= self.largest:
            raise SettingError(f"kept_at is {config.kept_at}; it must be 0, or a size above {self.largest}")
        self.network = GraphPolicy(seed=config.seed)
        self.value = GraphValue(seed=config.seed + 1)
        self.optimizer = self.new_optimizer()
        self.random = np.random.default_rng([config.seed, 1])
        self.lists: dict[int, Ints] = {}
        """[B, n] where the episodes of each size stand."""
        self.ages: dict[int, Ints] = {}
        """[B] how many steps they have taken."""
        self.draws = 0
        self.kept: Tensors = {}
        """The network that came furthest beyond its sizes, if one was tried,"""
        self.reach = 0.0
        """and how far that was."""

    def agent(self, name: str = "rl") -> GraphAgent:
        """Return the network as an agent."""
        return GraphAgent(name, self.task, self.network)

    def advance(self) -> dict[str, float]:
        """Make a round of updates and measure the network; after the last round, restore the one that is kept."""
        is_last = self.curriculum.is_last
        curve = super().advance()
        if self.config.kept_at:
            curve["reach"] = self._try_beyond() if is_last and curve["solved"] == 1 else 0.0
        if self.done and self.kept:
            fill_network(self.network, self.kept, SOURCE)
            results = self.measure(self.largest)
            curve |= {"solved": float(results.solved.mean()), "mean_steps": float(results.steps.mean())}
        return curve

    def _try_beyond(self) -> float:
        """Return how far the network comes beyond its sizes, and keep it in place if none came further.

        One that seems to come as far as the one that is kept is tried again on more lists: of many networks that are
        tried on few, the one that seems best is often a lucky one.
        """
        reach = self._reach_on(self.checked)
        if reach >= self.reach:
            reach = self._reach_on(self.checked * TRIED_AGAIN)
            if reach >= self.reach:
                self.kept, self.reach = network_tensors(self.network), reach
        return reach

    def _reach_on(self, count: int) -> float:
        """Return the share of lists half way to `kept_at` that are solved; if all are, plus the share at `kept_at`."""
        far = self.config.kept_at
        reach = float(self.measure((self.largest + far + 1) // 2, count).solved.mean())
        return reach + float(self.measure(far, count).solved.mean()) if reach == 1 else reach

    def _update(self) -> tuple[tuple[int, int, int], dict[str, float]]:
        low, high = self.curriculum.sizes
        steps = self.sample(int(self.random.integers(low, high + 1)))
        terms, returns = self.backward(steps)
        self.descend(sum(terms.values()))
        self.follow_return(returns)
        over = steps.ended | steps.cut
        return (int(over.sum()), int(steps.ages[over].sum()), int(steps.ended.sum())), terms

    # Sampling

    def sample(self, size: int) -> Steps:
        """Let every list of a size take `unroll` steps in place, and return what happened."""
        if size not in self.lists:
            self.lists[size] = self._draw(size, self.config.episodes)
            self.ages[size] = np.zeros(self.config.episodes, np.int64)
        lists, ages, limit = self.lists[size], self.ages[size], int(self.limit.steps(np.array([size]))[0])
        progress = PROGRESS[self.config.progress]
        taken = []
        for _ in range(self.config.unroll):
            pairs = self._choose(lists)
            following, ages = swapped(lists, pairs), ages + 1
            ended = are_sorted(following)
            cut = ~ended & (ages >= limit)
            taken.append((lists, pairs, following, progress(following) - progress(lists), ended, cut, ages))
            over = ended | cut
            lists, ages = following.copy(), np.where(over, 0, ages)
            if over.any():
                lists[over] = self._draw(size, int(over.sum()))
        self.lists[size], self.ages[size] = lists, ages
        return Steps(*(np.stack(column) for column in zip(*taken, strict=True)))

    def _draw(self, size: int, count: int) -> Ints:
        """Return lists [count, size] that are not sorted."""
        lists = np.zeros((count, size), np.int64)
        missing = np.arange(count)
        for _ in range(ATTEMPTS):
            seed = self.config.seed * 10_000_000_000 + self.draws
            self.draws += 1
            request = Request(size=size, count=len(missing), seed=seed, data=self.config.data)
            lists[missing] = self.task.draw(request).items[:, :size]
            missing = missing[are_sorted(lists[missing])]
            if not len(missing):
                return lists
        raise SettingError(f"data {self.config.data!r} gives lists of {size} that are sorted; choose other data")

    @torch.no_grad()
    def _choose(self, lists: Ints) -> Ints:
        """Return a pair of positions [B, 2] drawn for each list [B, n]; each distinct list is looked at once."""
        distinct, which = _find_distinct(lists)
        first = _each(distinct, lambda part, _: self.network.first_log_probabilities(encode_lists(part)))
        chosen = _draw_choices(first[which], self.random.random(len(lists)))
        decisions, which_decision = _find_distinct(np.column_stack([which, chosen]))

        def second_of(part: Ints, at: int) -> Tensor:
            positions = torch.from_numpy(decisions[at : at + len(part), 1])
            return self.network.second_log_probabilities(encode_lists(part), positions)

        second = _each(distinct[decisions[:, 0]], second_of)
        return np.column_stack([chosen, _draw_choices(second[which_decision], self.random.random(len(lists)))])

    # Learning

    def backward(self, steps: Steps) -> tuple[dict[str, float], Reals]:
        """Set the gradient of the loss in place; return its terms, means over all steps, and the returns [T, B]."""
        config, size = self.config, steps.lists.shape[2]
        lists, which = _find_distinct(steps.lists.reshape(-1, size))
        returns = self.returns(steps)
        flat, total = returns.ravel(), returns.size
        weight = self.imitation_weight
        answers = self.teacher.pointers(lists) @ [size, 1] if self.teacher and weight > 0 else None
        pairs = steps.pairs.reshape(-1, 2) @ [size, 1]
        choices = merge_steps(which, pairs, flat - self.baseline(lists)[which], size**2, answers)
        positions, seconds = choices.actions // size, choices.actions % size
        decisions, rows = np.unique(choices.owners * size + positions, return_inverse=True)
        columns = (choices.weights, choices.counts, choices.taught)
        firsts = [_sums(choices.owners * size + positions, column, (len(lists), size)) for column in columns]
        later = [_sums(rows * size + seconds, column, (len(decisions), size)) for column in columns]
        seen, sums, squares = (np.bincount(which, column, len(lists)) for column in (np.ones(total), flat, flat**2))

        scales = {"policy": 1.0, "entropy": config.entropy_weight, "evenness": config.evenness_weight}
        scales |= {"imitation": weight} if answers is not None else {}
        scales |= {"baseline": config.baseline_weight} if config.baseline == "network" else {}
        terms = {name: 0.0 for name, scale in scales.items() if scale or name == "entropy"}
        self.optimizer.clear_gradients()
        for at, end in _split(*lists.shape):
            low, high = np.searchsorted(decisions, [at * size, end * size])
            edges = encode_lists(lists[at:end])
            owners, chosen = torch.from_numpy(decisions[low:high] // size), torch.from_numpy(decisions[low:high] % size)
            first = self.network.first_log_probabilities(edges)
            second = self.network.second_log_probabilities(edges[owners - at], chosen)
            losses = _pointer_losses(first, *(column[at:end] for column in firsts))
            losses = losses + _pointer_losses(second, *(column[low:high] for column in later))
            parts = dict(zip(("policy", "entropy", "evenness", "imitation"), losses, strict=True))
            if "baseline" in terms:
                guesses = self.value(edges)
                count, mean = torch.from_numpy(seen[at:end]).float(), torch.from_numpy(sums[at:end]).float()
                parts["baseline"] = (
                    float(squares[at:end].sum()) - 2 * (mean * guesses).sum() + (count * guesses**2).sum()
                )
            scaled = {name: scales[name] * parts[name] / total for name in terms}
            torch.stack(list(scaled.values())).sum().backward()  # type: ignore[no-untyped-call]
            for name, part in scaled.items():
                terms[name] += part.item()
        return terms, returns

    @property
    def imitation_weight(self) -> float:
        """The weight of the imitation loss at the next update."""
        first, over = self.config.imitation_weight, self.config.imitation_updates
        return first * max(0.0, 1 - self.updates / over) if over else first

    def returns(self, steps: Steps) -> Reals:
        """Return the n-step returns [T, B]."""
        rewards = (self.task.reward.progress + self.config.shaping) * steps.gains - self.config.step_cost
        after = np.zeros(rewards.shape)
        after[-1] = self.baseline(steps.following[-1])
        after[steps.cut] = self.baseline(steps.following[steps.cut])
        return n_step_returns(rewards, steps.ended, steps.cut, after, self.config.discount)

    @torch.no_grad()
    def baseline(self, lists: Ints) -> Reals:
        """Return the baseline [m] of lists [m, n]."""
        if self.config.baseline == "scalar" or not len(lists):
            return np.full(len(lists), self.scalar)
        return _each(lists, lambda part, _: self.value(encode_lists(part)))

    # State

    def save_state(self) -> tuple[Tensors, dict[str, Any]]:
        """Return everything that `load_state` needs to continue exactly from here."""
        tensors = {
            **self.network_state(),
            **{f"lists.{size}": lists for size, lists in self.lists.items()},
            **{f"ages.{size}": ages for size, ages in self.ages.items()},
            **{f"{KEPT}{name}": tensor for name, tensor in self.kept.items()},
        }
        record: dict[str, Any] = {"updates": self.updates, "stage": self.curriculum.stage, "draws": self.draws}
        record |= {"scalar": self.scalar, "reach": self.reach, "random": self.random.bit_generator.state}
        return tensors, record

    def load_state(self, tensors: Tensors, record: dict[str, Any]) -> None:
        """Restore a saved state in place."""
        state, episodes = validate(STATE, record, SOURCE), self.config.episodes
        self.load_network_state(tensors)
        sizes = [size for size in range(2, self.largest + 1) if f"lists.{size}" in tensors]
        self.lists = {
            n: checked_tensor(tensors, f"lists.{n}", np.zeros((episodes, n), np.int64), SOURCE) for n in sizes
        }
        self.ages = {n: checked_tensor(tensors, f"ages.{n}", np.zeros(episodes, np.int64), SOURCE) for n in sizes}
        self.restore_progress(state["updates"], state["stage"], state["scalar"])
        self.draws, self.reach = state["draws"], state["reach"]
        self.kept = tensors_under(KEPT, tensors)
        if self.kept:
            fill_network(GraphPolicy(), self.kept, SOURCE)
        load_random(self.random, state["random"])


def _find_distinct(rows: Ints) -> tuple[Ints, Ints]:
    """Return the distinct ones of rows [m, k], in order, and the number [m] that each row has among them."""
    distinct, which = np.unique(rows, axis=0, return_inverse=True)
    return distinct, which.reshape(-1)


def _split(count: int, size: int) -> list[tuple[int, int]]:
    """Return the bounds of slices of `count` lists that go through the networks together."""
    share = max(1, GRAPH_WORK // size**2)
    return [(at, min(at + share, count)) for at in range(0, count, share)]


def _each(lists: Ints, ask: Callable[[Ints, int], Tensor]) -> Reals:
    """Return what `ask` says about lists [m, n], some of them at a time; it also gets where they begin."""
    answers: Reals = torch.cat([ask(lists[at:end], at) for at, end in _split(*lists.shape)]).double().numpy()
    return answers


def _draw_choices(options: Reals, uniform: Reals) -> Ints:
    """Return the choice [m] at which the sum of probabilities passes `uniform` [m], from log-probabilities [m, n]."""
    sums = np.cumsum(np.exp(options), axis=1)
    choices: Ints = (sums[:, :-1] <= (uniform * sums[:, -1])[:, None]).sum(axis=1)
    return choices


def _sums(places: Ints, column: Reals, shape: tuple[int, int]) -> Tensor:
    """Return an array of some shape with the sum of a column's numbers at each place."""
    return torch.from_numpy(np.bincount(places, column, shape[0] * shape[1]).reshape(shape)).float()


def _pointer_losses(options: Tensor, weights: Tensor, counts: Tensor, taught: Tensor) -> Tensor:
    """Return the losses [4] of policy, entropy, evenness and imitation, of log-probabilities [m, n], summed."""
    often = counts.sum(dim=1)
    negative_entropy = (often * (options.exp() * options).sum(dim=1)).sum()
    evenness = -(often * options.mean(dim=1)).sum()
    return torch.stack([-(weights * options).sum(), negative_entropy, evenness, -(taught * options).sum()])
