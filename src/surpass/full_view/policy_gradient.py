"""The paper's learner in the full view: n-step policy gradient for the graph network, and imitation on its own lists.

The losses are those of `PolicyGradient`, and one that keeps logits within bounds. An update takes lists of one size;
those of each size go on where the last update on that size left them. The gradient is taken over distinct decisions (a
list; a list and the first position) with their summed weights, which is the one over all steps: of short lists a batch
holds few distinct ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from surpass.agents.networks.files import fill_network, network_tensors
from surpass.agents.teachers import teacher_of_kind
from surpass.arrays import Flags, Ints, Reals
from surpass.bundles import Tensors, take
from surpass.errors import SettingError
from surpass.full_view.agent import FullViewTeacher
from surpass.full_view.graph import GraphAgent, GraphPolicy, GraphValue, encode_lists
from surpass.full_view.progress import HintReader
from surpass.learning.policy_gradient.learner import GradientLearner, PolicyGradientConfig
from surpass.learning.updates import SOURCE, load_random, tensors_under
from surpass.reading import Count, OneOf, Weight, Whole, conform
from surpass.tasks.task import Request, Task

GRAPH_WORK = 1 << 16
"""About how many pairs of positions go through the networks at once: what they remember must fit in memory."""
STATE = {
    "updates": Count,
    "grown": Count,
    "draws": Count,
    "scalar": float,
    "random": dict[str, Any],
    "reach": float,
}
"""What a checkpoint says beside its tensors."""
KEPT = "kept."
"""What the names of the kept network's tensors begin with."""
TRIED_AGAIN = 4
"""On how many times as many lists a network is tried again that seems to come further beyond its sizes than others."""
ATTEMPTS = 100
"""How often lists are drawn anew before all of their kind are taken to be sorted already."""


@dataclass(frozen=True, kw_only=True)
class FullViewGradientConfig(PolicyGradientConfig):
    """How `FullViewPolicyGradient` learns. Every field is part of the recipe."""

    policy: Annotated[str, OneOf(("network",))] = "network"
    """What is optimised: a network. The full view has no table."""
    progress: str = "score"
    """The hint whose gains `shaping` rewards: the score, or another number that the task declares and no agent sees."""
    evenness_weight: Weight = 0.0
    """Weight of the mean negative log-probability of all positions: it pulls the surer the choices are, and so keeps
    logits within bounds, where the entropy lets go."""
    kept_at: Whole = 0
    """A size beyond those to learn on. After each round the network is tried half way there and, if it solves all of
    that, there; in the end the one that came furthest is kept, since that comes and goes. The last one if 0."""


class Steps(NamedTuple):
    """What B lists of size n went through in T steps."""

    lists: Ints
    """[T, B, n] before each step."""
    pairs: Ints
    """[T, B, 2] the positions that were swapped."""
    following: Ints
    """[T, B, n] after each step."""
    gains: Reals
    """[T, B] by how much the step raised what shaping rewards, such as the neighbours in order."""
    ended: Flags
    """[T, B] whether the step sorted the list."""
    cut: Flags
    """[T, B] whether the step was the last that the limit allows; a fresh list follows, as after the end."""
    ages: Ints
    """[T, B] how many steps an episode has taken with this one."""


class FullViewPolicyGradient(GradientLearner):
    """A learner that surpasses its teacher, or learns from nothing, on whole lists."""

    config: FullViewGradientConfig
    network: GraphPolicy
    value: GraphValue

    def __init__(self, task: Task, config: FullViewGradientConfig) -> None:
        super().__init__(task, config)
        if config.actors > 1:
            raise SettingError(f"actors is {config.actors}; {task.name} has a full view, and learns in one share")
        self.teacher = teacher_of_kind(task, config.teacher, FullViewTeacher) if config.teacher else None
        self.sizes = config.last_sizes(task)
        if min(self.sizes[0], config.first_smallest or self.sizes[0]) < 2:
            raise SettingError(f"sizes begin at 1; {task.name} learns on lists of 2 or more")
        if 0 < config.kept_at <= self.sizes[1]:
            raise SettingError(f"kept_at is {config.kept_at}; it must be 0, or a size above {self.sizes[1]}")
        self.network = GraphPolicy(seed=config.seed)
        self.value = GraphValue(seed=config.seed + 1)
        self.progress = HintReader(task, config.progress)
        self.scalar = 0.0
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
        """Make a round of updates, and measure the network; after the last one go back to the one that is kept."""
        curve = super().advance()
        if self.config.kept_at:
            is_grown = curve["size"] == self.sizes[1] and curve["solved"] == 1
            curve["reach"] = self._try_beyond() if is_grown else 0.0
        if self.done and self.kept:
            fill_network(self.network, self.kept, SOURCE)
            results = self.measure(self.sizes[1])
            curve |= {"solved": float(results.solved.mean()), "mean_steps": float(results.steps.mean())}
        return curve

    def _try_beyond(self) -> float:
        """Return how far the network comes beyond its sizes, and keep it in place if none came further.

        One that seems to come as far as the one that is kept is tried again on more lists: of many networks that are
        tried on few, the one that seems best is often a lucky one.
        """
        reach = self._reach_on(self.config.checked)
        if reach >= self.reach:
            reach = self._reach_on(self.config.checked * TRIED_AGAIN)
            if reach >= self.reach:
                self.kept, self.reach = network_tensors(self.network), reach
        return reach

    def _reach_on(self, count: int) -> float:
        """Return the share of lists half way to `kept_at` that are solved; if these are all, that at `kept_at` more."""
        far = self.config.kept_at
        reach = float(self.measure((self.sizes[1] + far + 1) // 2, count).solved.mean())
        return reach + float(self.measure(far, count).solved.mean()) if reach == 1 else reach

    def _update(self) -> tuple[tuple[int, int, int], dict[str, float]]:
        low, high = self.config.sizes(self.task, self.grown)
        steps = self.sample(int(self.random.integers(low, high + 1)))
        terms, returns = self.backward(steps)
        self.refuse_divergence(sum(terms.values()))
        self.step_down()
        # As in `PolicyGradient`: it approaches the minimum of its squared loss at its own rate.
        self.scalar += 0.1 * (float(returns.mean()) - self.scalar)
        over = steps.ended | steps.cut
        return (int(over.sum()), int(steps.ages[over].sum()), int(steps.ended.sum())), terms

    # Sampling

    def sample(self, size: int) -> Steps:
        """Let every list of a size take `unroll` steps in place, and return what happened."""
        if size not in self.lists:
            self.lists[size] = self._draw(size, self.config.episodes)
            self.ages[size] = np.zeros(self.config.episodes, np.int64)
        lists, ages, limit = self.lists[size], self.ages[size], int(self.limit.steps(np.array([size]))[0])
        rows, reached = np.arange(len(lists)), self.progress.measure(lists)
        taken = []
        for _ in range(self.config.unroll):
            pairs = self._choose(lists)
            following = lists.copy()
            following[rows, pairs[:, 0]], following[rows, pairs[:, 1]] = (
                lists[rows, pairs[:, 1]],
                lists[rows, pairs[:, 0]],
            )
            ages = ages + 1
            ended = _are_sorted(following)
            cut = ~ended & (ages >= limit)
            progress = self.progress.measure(following)
            taken.append((lists, pairs, following, progress - reached, ended, cut, ages))
            over = ended | cut
            lists, ages, reached = following, np.where(over, 0, ages), progress
            if over.any():
                lists = following.copy()
                lists[over] = self._draw(size, int(over.sum()))
                reached = self.progress.measure(lists)
        self.lists[size], self.ages[size] = lists, ages
        return Steps(*(np.stack(column) for column in zip(*taken, strict=True)))

    def _draw(self, size: int, count: int) -> Ints:
        """Return lists [count, size] that are not sorted."""
        lists = np.zeros((count, size), np.int64)
        missing = np.arange(count)
        for _ in range(ATTEMPTS):
            seed = self.config.seed * 10_000_000_000 + self.draws
            self.draws += 1
            lists[missing] = self.task.draw(
                Request(size=size, count=len(missing), seed=seed, data=self.config.data)
            ).items[:, :size]
            missing = missing[_are_sorted(lists[missing])]
            if not len(missing):
                return lists
        raise SettingError(f"data {self.config.data!r} gives lists of {size} that are sorted; choose other data")

    @torch.no_grad()
    def _choose(self, lists: Ints) -> Ints:
        """Return a pair of positions [B, 2] drawn for each list [B, n]; each distinct list is looked at once."""
        distinct, which = _find_distinct(lists)
        first = self._each(distinct, lambda part, _: self.network.first_log_probabilities(encode_lists(part)))
        chosen = _draw_choices(first[which], self.random.random(len(lists)))
        decisions, which_decision = _find_distinct(np.column_stack([which, chosen]))
        second = self._each(
            distinct[decisions[:, 0]],
            lambda part, at: self.network.second_log_probabilities(
                encode_lists(part), torch.from_numpy(decisions[at : at + len(part), 1])
            ),
        )
        return np.column_stack([chosen, _draw_choices(second[which_decision], self.random.random(len(lists)))])

    @staticmethod
    def _each(lists: Ints, ask: Callable[[Ints, int], Tensor]) -> Reals:
        """Return what `ask` says about lists [m, n], some of them at a time; it also gets where they begin."""
        parts = [ask(lists[at:end], at) for at, end in _split(*lists.shape)]
        answers: Reals = torch.cat(parts).double().numpy()
        return answers

    # Learning

    def backward(self, steps: Steps) -> tuple[dict[str, float], Reals]:
        """Set the gradient of the loss in place; return its terms, means over all steps, and the returns [T, B]."""
        size = steps.lists.shape[2]
        lists, which = _find_distinct(steps.lists.reshape(-1, size))
        values = self._values(lists)
        returns = self.returns(steps)
        flat = returns.ravel()
        advantages = flat - values[which]
        chosen = steps.pairs.reshape(-1, 2)
        weight = self.config.imitation_weight_after(self.updates)
        answers = self.teacher.pointers(lists) if self.teacher and weight > 0 else np.zeros((0, 2), np.int64)
        asked = np.arange(len(answers))
        decisions, rows = _find_distinct(
            np.column_stack([np.concatenate([which, asked]), np.concatenate([chosen[:, 0], answers[:, 0]])])
        )
        rows, taught_rows = rows[: len(which)], rows[len(which) :]

        counts = np.bincount(which, minlength=len(lists)).astype(float)
        first_weights, second_weights = np.zeros((len(lists), size)), np.zeros((len(decisions), size))
        first_taught, second_taught = np.zeros_like(first_weights), np.zeros_like(second_weights)
        np.add.at(first_weights, (which, chosen[:, 0]), advantages)
        np.add.at(second_weights, (rows, chosen[:, 1]), advantages)
        first_taught[asked, answers[:, 0]] = counts[asked]
        second_taught[taught_rows, answers[:, 1]] = counts[asked]
        second_counts = np.bincount(rows, minlength=len(decisions)).astype(float)
        sums = np.bincount(which, flat, len(lists))
        squares = np.bincount(which, flat**2, len(lists))

        names = ["policy", "entropy"] + ["evenness"] * (self.config.evenness_weight > 0)
        names += ["baseline"] * (self.config.baseline == "network") + ["imitation"] * (len(answers) > 0)
        terms = dict.fromkeys(names, 0.0)
        self.optimizer.clear_gradients()
        for at, end in _split(*lists.shape):
            low, high = np.searchsorted(decisions[:, 0], [at, end])
            edges = encode_lists(lists[at:end])
            first = self.network.first_log_probabilities(edges)
            owners, positions = torch.from_numpy(decisions[low:high]).T
            second = self.network.second_log_probabilities(edges[owners - at], positions)
            policy = -_weigh(first_weights[at:end], first) - _weigh(second_weights[low:high], second)
            entropy = _entropy(counts[at:end], first) + _entropy(second_counts[low:high], second)
            parts = {"policy": policy, "entropy": -self.config.entropy_weight * entropy}
            if "evenness" in terms:
                unevenness = _unevenness(counts[at:end], first) + _unevenness(second_counts[low:high], second)
                parts["evenness"] = self.config.evenness_weight * unevenness
            if "baseline" in terms:
                seen, total = torch.from_numpy(counts[at:end]).float(), torch.from_numpy(sums[at:end]).float()
                guess = self.value(edges)
                error = float(squares[at:end].sum()) - 2 * (total * guess).sum() + (seen * guess**2).sum()
                parts["baseline"] = self.config.baseline_weight * error
            if "imitation" in terms:
                parts["imitation"] = -weight * (
                    _weigh(first_taught[at:end], first) + _weigh(second_taught[low:high], second)
                )
            loss = torch.stack(list(parts.values())).sum() / len(which)
            loss.backward()  # type: ignore[no-untyped-call]
            for name, part in parts.items():
                terms[name] += part.item() / len(which)
        return terms, returns

    def returns(self, steps: Steps) -> Reals:
        """Return the n-step returns [T, B]: rewards, and the baseline of what a limit or the batch cut off."""
        config = self.config
        worth = self.task.reward.progress + config.shaping
        returns = worth * steps.gains - config.step_cost
        following = self._values(steps.following[-1])
        for t in reversed(range(len(returns))):
            cut = steps.cut[t]
            if cut.any():
                # The limit cuts the episode off; what would have come is estimated, not zero.
                following = np.where(cut, 0.0, following)
                following[cut] = self._values(steps.following[t][cut])
            returns[t] += config.discount * np.where(steps.ended[t], 0.0, following)
            following = returns[t]
        return returns

    @torch.no_grad()
    def _values(self, lists: Ints) -> Reals:
        """Return the baseline [m] of lists [m, n]."""
        if self.config.baseline == "scalar":
            return np.full(len(lists), self.scalar)
        return self._each(lists, lambda part, _: self.value(encode_lists(part)))

    # State

    def save_state(self) -> tuple[Tensors, dict[str, Any]]:
        """Return everything that `load_state` needs to go on exactly from here."""
        tensors = {
            **self.network_state(),
            **{f"lists.{size}": lists for size, lists in self.lists.items()},
            **{f"ages.{size}": ages for size, ages in self.ages.items()},
            **{f"{KEPT}{name}": tensor for name, tensor in self.kept.items()},
        }
        record = {
            "updates": self.updates,
            "grown": self.grown,
            "draws": self.draws,
            "scalar": self.scalar,
            "random": self.random.bit_generator.state,
            "reach": self.reach,
        }
        return tensors, record

    def load_state(self, tensors: Tensors, record: dict[str, Any]) -> None:
        """Go back to a saved state in place."""
        state, episodes = conform(STATE, record, SOURCE), self.config.episodes
        self.load_network_state(tensors)
        sizes = [size for size in range(2, self.sizes[1] + 1) if f"lists.{size}" in tensors]
        self.lists = {
            size: take(tensors, f"lists.{size}", np.zeros((episodes, size), np.int64), SOURCE) for size in sizes
        }
        self.ages = {size: take(tensors, f"ages.{size}", np.zeros(episodes, np.int64), SOURCE) for size in sizes}
        self.updates, self.grown, self.draws = state["updates"], state["grown"], state["draws"]
        self.scalar, self.reach = state["scalar"], state["reach"]
        self.kept = tensors_under(KEPT, tensors)
        if self.kept:
            fill_network(GraphPolicy(), self.kept, SOURCE)
        load_random(self.random, state["random"])


def _are_sorted(lists: Ints) -> Flags:
    """Tell which of lists [m, n] are sorted."""
    are_sorted: Flags = np.all(lists[:, :-1] <= lists[:, 1:], axis=1)
    return are_sorted


def _find_distinct(rows: Ints) -> tuple[Ints, Ints]:
    """Return the distinct ones of rows [m, k], in order, and the number [m] that each row has among them."""
    distinct, which = np.unique(rows, axis=0, return_inverse=True)
    return distinct, which.reshape(-1)


def _split(count: int, size: int) -> list[tuple[int, int]]:
    """Return the bounds of slices of `count` lists that go through the networks together."""
    share = max(1, GRAPH_WORK // size**2)
    return [(at, min(at + share, count)) for at in range(0, count, share)]


def _draw_choices(options: Reals, uniform: Reals) -> Ints:
    """Return the choice [m] at which the sum of probabilities passes `uniform` [m], from log-probabilities [m, n]."""
    sums = np.cumsum(np.exp(options), axis=1)
    passed = sums[:, :-1] <= (uniform * sums[:, -1])[:, None]
    choices: Ints = passed.sum(axis=1)
    return choices


def _weigh(weights: Reals, options: Tensor) -> Tensor:
    """Return the sum of log-probabilities times their weights."""
    return (torch.from_numpy(weights).float() * options).sum()


def _entropy(counts: Reals, options: Tensor) -> Tensor:
    """Return the sum of the entropies of log-probabilities [m, n], each as often as `counts` [m] says."""
    return -(torch.from_numpy(counts).float() * (options.exp() * options).sum(dim=1)).sum()


def _unevenness(counts: Reals, options: Tensor) -> Tensor:
    """Return the sum of the means of -log-probabilities [m, n], each as often as `counts` [m] says."""
    return -(torch.from_numpy(counts).float() * options.mean(dim=1)).sum()
