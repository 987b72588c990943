"""Hunt for lists on which exported agents fail: python -m tools.hunt [AGENT ...] [--searches N] [--sorts N] [--seed S].

Each agent, by default every program of the zoo that searches or sorts, is exported as C and compiled with a driver.
The driver draws lists of 12 to 2,000 values with ties of every kind, and judges the answers by means of its own: a
search by the values that it drew, a sort by the order and by sums over its values. It ends with code 1 if one fails.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from surpass.agents import find_agent
from surpass.agents.zoo import zoo_entries
from surpass.api import export

DRIVER = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
%(signature)s
enum { SMALLEST = 12, LARGEST = 2000 };
static uint64_t state;
static uint64_t draw(void)
{
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}
static int64_t below(int64_t n) { return (int64_t)(draw() %% (uint64_t)n); }
static double unit(void) { return (double)(draw() >> 11) / 9007199254740992.0; }
static int64_t values[LARGEST], copy[LARGEST];
static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}
/* Few or many distinct values, single ones or long runs of one, evenly spread or crowded at an end. */
static void fill(int64_t n)
{
    int64_t kinds[] = {2, 3, 5, 1 + n / 8, n, 4 * n, 1000000007}, distinct = kinds[below(7)];
    double power = below(3) == 0 ? 4.0 : 1.0;
    int64_t run = below(3) == 0 ? 1 + below(n) : 1;
    for (int64_t k = 0, left = 0, value = 0; k < n; k++, left--) {
        if (left <= 0) {
            left = 1 + below(run);
            value = 2 * (int64_t)(pow(unit(), power) * (double)distinct);
        }
        values[k] = value;
    }
}
static int fail(int64_t n, int64_t query, int64_t got)
{
    fprintf(stderr, "fails: n = %%lld, query %%lld, got %%lld:", (long long)n, (long long)query, (long long)got);
    for (int64_t k = 0; k < n; k++) fprintf(stderr, " %%lld", (long long)copy[k]);
    fprintf(stderr, "\n");
    return 1;
}
int main(int count, char **given)
{
    int64_t wanted = atoll(given[1]), done = 0, failed = 0;
    state = (uint64_t)atoll(given[2]) * 1000003u;
    while (done < wanted && failed < 5) {
        %(play)s
    }
    printf("%%lld %%lld\n", (long long)done, (long long)failed);
    return count < 0;
}
"""
SEARCH = r"""
        int64_t n = (int64_t)(SMALLEST * pow((LARGEST + 1.0) / SMALLEST, unit()));
        fill(n);
        qsort(values, (size_t)n, sizeof *values, ascending);
        memcpy(copy, values, sizeof values);
        for (int turn = 0; turn < 400; turn++, done++) {
            int64_t at = below(5) == 0 ? (below(2) ? 0 : n - 1) : below(n), query = values[at] + below(3) - 1;
            int64_t low = 0, high = n;
            while (low < high) {
                int64_t mid = (low + high) / 2;
                if (values[mid] < query) low = mid + 1; else high = mid;
            }
            int is_there = low < n && values[low] == query;
            int64_t got = surpass_search_i64(values, (size_t)n, query, NULL);
            int holds = is_there ? got >= 0 && got < n && values[got] == query : got == -1;
            if (!holds) failed += fail(n, query, got);
        }
"""
SORT = r"""
        /* Evenly over doublings, or mostly small where a run takes about n^2 steps. */
        double u = unit(), least = SMALLEST, most = LARGEST + 1.0;
        double drawn = %(is_quadratic)d ? 1 / (1 / least - u * (1 / least - 1 / most)) : least * pow(most / least, u);
        int64_t n = (int64_t)drawn;
        fill(n);
        int64_t order = below(6), sum = 0;
        uint64_t mixed = 0, left = 0;
        if (order < 4) qsort(values, (size_t)n, sizeof *values, ascending);
        if (order == 1) for (int64_t k = 0; k < n / 2; k++) {
            int64_t kept = values[k]; values[k] = values[n - 1 - k]; values[n - 1 - k] = kept;
        }
        if (order == 2 || order == 3) for (int64_t k = below(order == 2 ? 6 : n); k >= 0; k--) {
            int64_t i = below(n), j = order == 2 ? below(n) : (i + 1) %% n, kept = values[i];
            values[i] = values[j]; values[j] = kept;
        }
        for (int64_t k = 0; k < n; k++) sum += values[k], mixed += (uint64_t)values[k] * (uint64_t)values[k];
        memcpy(copy, values, sizeof values);
        int64_t got = surpass_sort_i64(values, (size_t)n);
        int holds = got >= 0;
        for (int64_t k = 0; k < n; k++) {
            if (k && values[k - 1] > values[k]) holds = 0;
            sum -= values[k], left += (uint64_t)values[k] * (uint64_t)values[k];
        }
        if (!holds || sum || left != mixed) failed += fail(n, 0, got);
        done++;
"""
SIGNATURES = {
    "search": "int64_t surpass_search_i64(const int64_t *items, size_t count, int64_t query, int64_t *steps);",
    "sort": "int64_t surpass_sort_i64(int64_t *items, size_t count);",
}


def hunt(name: str, count: int, seed: int) -> tuple[int, int]:
    """Return on how many instances an agent was run, and on how many it failed."""
    agent = find_agent(name)
    is_search = agent.task.name == "search"
    play = SEARCH if is_search else SORT % {"is_quadratic": agent.task.name == "sort-bubble"}
    driver = DRIVER % {"signature": SIGNATURES["search" if is_search else "sort"], "play": play}
    with TemporaryDirectory() as folder:
        files = [Path(folder) / "agent.c", Path(folder) / "driver.c"]
        files[0].write_text(export(agent, "c").source)
        files[1].write_text(driver)
        program = Path(folder) / "hunt"
        subprocess.run(["gcc", "-O2", "-Wall", "-o", program, *files, "-lm"], check=True)
        ended = subprocess.run([program, str(count), str(seed)], check=True, stdout=subprocess.PIPE, text=True)
    done, failed = map(int, ended.stdout.split())
    return done, failed


def main() -> None:
    """Hunt with each agent, and print a line for it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", nargs="*", metavar="AGENT")
    parser.add_argument("--searches", type=int, default=1_000_000, help="instances for each agent that searches")
    parser.add_argument("--sorts", type=int, default=100_000, help="instances for each agent that sorts")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    tasks, total = ("search", "sort-bubble", "sort-quick"), 0
    for asked in given.agents or [f"zoo:{entry.name}" for entry in zoo_entries() if entry.task in tasks]:
        count = given.searches if find_agent(asked).task.name == "search" else given.sorts
        done, failed = hunt(asked, count, given.seed)
        total += failed
        print(f"{asked}: {done:,} instances, {failed:,} failed", flush=True)
    sys.exit(1 if total else 0)


if __name__ == "__main__":
    main()
