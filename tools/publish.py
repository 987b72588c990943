"""Put a finished run into the zoo: python -m tools.publish RUN NAME [--sizes ...].

The agent is evaluated on the sizes of the paper's tables; the scores go into its record with the recipe and the date.
"""

from __future__ import annotations

import argparse
import datetime
from pathlib import Path

from surpass.agents.networks.files import load_agent, save_agent
from surpass.agents.zoo import zoo_folder
from surpass.evaluation.scores import evaluate


def main() -> None:
    """Evaluate a run's agent and write it into the zoo."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("name", help="the name within its task, such as imitation-quick_sort")
    parser.add_argument("--teacher", default="", help="the name of its teacher, if that has another one by now")
    parser.add_argument("--instances", type=int, default=1000)
    parser.add_argument("--sizes", default="", help="sizes to score at; the task's if not given")
    arguments = parser.parse_args()
    agent, record = load_agent(arguments.run / "agent", str(arguments.run))
    if not record["finished"]:
        raise SystemExit(f"{arguments.run} is not finished")
    sizes = [int(word) for word in arguments.sizes.split(",") if word] or list(agent.task.sizes)
    queries = "present" if agent.task.queries else None
    scores = evaluate(agent, sizes=sizes, instances=arguments.instances, seed=0, queries=queries)
    renamed = {"teacher": arguments.teacher} if arguments.teacher else {}
    about = {
        "recipe": {**record["recipe"], **renamed},
        "seconds": record["seconds"],
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "scores": scores.as_json()["rows"],
    }
    folder = zoo_folder() / agent.task.name
    folder.mkdir(exist_ok=True)
    save_agent(folder / arguments.name, agent.task, agent.network, about)
    print(f"zoo:{agent.task.name}/{arguments.name}: {[(row.size, row.solved) for row in scores.rows]}")


if __name__ == "__main__":
    main()
