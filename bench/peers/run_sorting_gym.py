"""Sort the lists given on standard input with sorting-gym's insertion sort, and print the steps and seconds.

This runs in the peers' environment and imports nothing of ours.
"""

from __future__ import annotations

import json
import sys
from time import perf_counter

from sorting_gym.agents.scripted import insertion_sort_agent
from sorting_gym.envs.basic_neural_sort_interface import BasicNeuralSortInterfaceEnv


def main() -> None:
    """Time whole episodes, one per list, after one to warm up."""
    lists: list[list[int]] = json.load(sys.stdin)
    size = len(lists[0])
    environment = BasicNeuralSortInterfaceEnv(base=size)

    def sort(values: list[int]) -> int:
        # The environment draws short lists of its own; from here on it gets ours.
        environment.tape_env.generate_input_data = lambda _: list(values)
        observation, done, steps = environment.reset(), False, 0
        while not done:
            observation, _, done, _ = environment.step(insertion_sort_agent(observation, environment.k))
            steps += 1
        if sorted(values) != environment.A:
            sys.exit("sorting-gym did not sort its list")
        return steps

    sort(lists[0])
    begin = perf_counter()
    steps = sum(sort(values) for values in lists)
    print(json.dumps({"steps": steps, "seconds": perf_counter() - begin}))


if __name__ == "__main__":
    main()
