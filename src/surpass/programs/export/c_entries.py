"""The functions of an exported C file that its caller sees, and what stands around them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from surpass.programs.export.code import Register
from surpass.programs.export.header import describe, for_c
from surpass.programs.export.plan import Plan
from surpass.tasks.knapsack import CAPACITY, LARGEST, WEIGHTS
from surpass.tasks.task import Limit

__all__ = ["Parts", "write_file"]


@dataclass(frozen=True)
class Parts:
    """What has been written of a file."""

    code: dict[str, list[str]]
    """For each type of items, by its suffix, the functions that run the program."""
    types: dict[str, str]
    """The types by their suffixes."""
    frame: list[str]
    """The declaration of what a call saves, if there are calls."""


_PROTOTYPES = {
    "sort": "int64_t surpass_sort_{suffix}({type} *items, size_t count)",
    "search": "int64_t surpass_search_{suffix}(const {type} *items, size_t count, {type} query, int64_t *steps)",
    "knapsack": "int64_t surpass_knapsack_f64(const double *weights, const double *values, size_t count,"
    " double capacity,\n                             int64_t budget, unsigned char *chosen, double *value)",
    "list": "int64_t surpass_{name}_{suffix}({const}{type} *items, size_t count, surpass_{name}_result *result)",
    "memory": "int64_t surpass_{name}(size_t size, {const}int64_t *items, double *reals,"
    " surpass_{name}_result *result)",
}
_WORDS = {
    "sort": "surpass_sort_i64(items, count) and surpass_sort_f64 sort an array in place and return the number of steps,"
    " or one of the negative codes below; the array then holds the same values in some order.",
    "search": "surpass_search_i64(items, count, query, &steps) and surpass_search_f64 return the position of the query"
    " in an ordered array, -1 if it is not there, or one of the other negative codes below. The number of steps goes to"
    " *steps, unless that is NULL.",
    "knapsack": "surpass_knapsack_f64(weights, values, count, capacity, budget, chosen, &value) returns the number of"
    " steps, or one of the negative codes below. It works for at most `budget` steps (20 n is usual), sets chosen[k] to"
    " 1 for each packed item and to 0 for the others, and value to what they are worth.",
    "list": "surpass_{name}_i64(items, count, &result){also} works on an array in place and returns the number of"
    " steps, or one of the negative codes below. The result has the steps, the score and the variables at the end.",
    "memory": "surpass_{name}(size, items, reals, &result) works on the memory with which an episode of that size"
    " starts, in place, and returns the number of steps, or one of the negative codes below. The result has the steps,"
    " the score and the variables at the end.",
}
_CODES = (
    ("SURPASS_NO_RULE", -2, "the program has no rule for what it sees"),
    ("SURPASS_STEP_LIMIT", -3, "{limit} steps were not enough"),
    ("SURPASS_STACK_LIMIT", -4, "too many calls were open at once"),
    ("SURPASS_OUT_OF_MEMORY", -5, "there was no memory for the calls that are open"),
    ("SURPASS_BAD_INPUT", -6, "{input}"),
    ("SURPASS_WRONG_ANSWER", -7, "the program gave an answer that does not hold"),
)
_BAD_INPUT = {
    "knapsack": f"a number that is not from 0 to {LARGEST:g}, or a budget below 1",
}
_HELPERS = {
    "least_i64": "static inline int64_t least_i64(int64_t a, int64_t b) { return b < a ? b : a; }",
    "least_f64": "static inline double least_f64(double a, double b) { return b < a ? b : a; }",
    "most_i64": "static inline int64_t most_i64(int64_t a, int64_t b) { return b > a ? b : a; }",
    "most_f64": "static inline double most_f64(double a, double b) { return b > a ? b : a; }",
    "floor_div_i64": """/* Division that rounds down. */
static inline int64_t floor_div_i64(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}""",
    "floor_mod_i64": """/* The remainder of a division that rounds down. */
static inline int64_t floor_mod_i64(int64_t a, int64_t b)
{
    int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}""",
    "floor_div_f64": "static inline double floor_div_f64(double a, double b) { return floor(a / b); }",
    "floor_mod_f64": "static inline double floor_mod_f64(double a, double b) { return a - b * floor(a / b); }",
}
_GROW = """/* Makes room for more open calls; returns 0 if there is no memory. */
static int grow(Frame **frames, int64_t *capacity)
{
    int64_t wanted = *capacity ? 2 * *capacity : 64;
    Frame *found = realloc(*frames, (size_t)wanted * sizeof *found);
    if (found == NULL) return 0;
    *frames = found;
    *capacity = wanted;
    return 1;
}"""
_LIMIT = """/* The number of steps that a run may take: {limit}. */
static int64_t limit_of(int64_t n)
{{
    double limit = {formula};
    return limit < 1 ? 1 : limit < 9e18 ? (int64_t)limit : INT64_MAX;
}}"""
_WAS_MET = """/* Tells whether the agent met an observation. */
static int was_met(int64_t observation)
{{
    static const int64_t met[] = {{
{table}
    }};
    size_t low = 0, high = sizeof met / sizeof *met;
    while (low < high) {{
        size_t middle = low + (high - low) / 2;
        if (met[middle] < observation) low = middle + 1;
        else high = middle;
    }}
    return low < sizeof met / sizeof *met && met[low] == observation;
}}"""
_REFUSE_NAN = """    for (size_t k = 0; k < count; ++k)
        if (items[k] != items[k]) return SURPASS_BAD_INPUT;
"""
_ENTRIES = {
    "sort": """{{
    int64_t steps;
    if (count > PTRDIFF_MAX / sizeof *items) return SURPASS_BAD_INPUT;
{refuse_nan}    int64_t n = (int64_t)count, outcome = run_{suffix}(n, items, limit_of(n), &steps);
    return outcome == SOLVED ? steps : outcome;
}}""",
    "search": """{{
    int64_t taken, answer;
    if (count > PTRDIFF_MAX / sizeof *items{or_nan}) return SURPASS_BAD_INPUT;
    int64_t n = (int64_t)count, outcome = run_{suffix}(n, items, query, limit_of(n), &taken, &answer);
    if (steps != NULL) *steps = taken;
    return outcome == SOLVED ? answer : outcome == WRONG_ANSWER ? SURPASS_WRONG_ANSWER : outcome;
}}""",
    "knapsack": """{{
    /* The memory: whether each item is packed, then whether it is in the best packing so far; and the real numbers
       that the program works with, weights and values from place {weights} on. */
    if (budget < 1 || count > PTRDIFF_MAX / (8 * sizeof(double)) || !in_range(capacity)) return SURPASS_BAD_INPUT;
    for (size_t k = 0; k < count; ++k)
        if (!in_range(weights[k]) || !in_range(values[k])) return SURPASS_BAD_INPUT;
    int64_t *items = calloc(2 * count + 1, sizeof *items);
    double *reals = calloc({weights} + 5 * count + 3, sizeof *reals);
    int64_t steps = 0, outcome = SURPASS_OUT_OF_MEMORY;
    if (items != NULL && reals != NULL) {{
        reals[{capacity}] = capacity;
        for (size_t k = 0; k < count; ++k) {{
            reals[{weights} + k] = weights[k];
            reals[{weights} + count + k] = values[k];
        }}
        outcome = run_{suffix}((int64_t)count, items, reals, budget, &steps);
        for (size_t k = 0; k < count; ++k) chosen[k] = items[count + k] != 0;
        *value = reals[0];
    }}
    free(items);
    free(reals);
    return outcome == SOLVED || outcome == SURPASS_STEP_LIMIT ? steps : outcome;
}}""",
    "list": """{{
    if (count > PTRDIFF_MAX / sizeof *items) return SURPASS_BAD_INPUT;
{refuse_nan}    int64_t n = (int64_t)count;
    int64_t outcome = run_{suffix}(n, items, limit_of(n), &result->steps, &result->score{outputs});
    if (outcome == WRONG_ANSWER) return SURPASS_WRONG_ANSWER;
    return outcome == SOLVED{or_limit} ? result->steps : outcome;
}}""",
    "memory": """{{
    if (size > PTRDIFF_MAX / sizeof *items) return SURPASS_BAD_INPUT;
    int64_t n = (int64_t)size;
    int64_t outcome = run_{suffix}(n, items, reals, limit_of(n), &result->steps{outputs});
    result->score = reals[0];
    if (outcome == WRONG_ANSWER) return SURPASS_WRONG_ANSWER;
    return outcome == SOLVED{or_limit} ? result->steps : outcome;
}}""",
}
_IN_RANGE = """/* Tells whether a number is one that can be packed; NaN is not. */
static int in_range(double number) {{ return number >= 0 && number <= {largest!r}; }}"""


def write_file(plan: Plan, parts: Parts) -> str:
    """Return the text of a C file, given the functions that run the program."""
    entry, task = plan.entry, plan.program.task
    limit = Limit.parse(task.limit)
    code = "\n".join(line for lines in parts.code.values() for line in lines)
    changes = re.search(r"run_i64\(int64_t n, int64_t \*items", code) is not None
    names = [plan.names[Register(index)] for index in entry.outputs]
    words = {
        "name": entry.name,
        "const": "" if changes else "const ",
        "limit": str(limit) if entry.shape != "knapsack" else "the",
        "input": _BAD_INPUT.get(entry.shape, "the array is too large, or holds NaN, which cannot be ordered"),
        "also": f" and surpass_{entry.name}_f64" if "f64" in parts.types else "",
        "weights": str(WEIGHTS),
        "capacity": str(CAPACITY),
        "outputs": "".join(f", &result->{name}" for name in names),
        "or_limit": " || outcome == SURPASS_STEP_LIMIT" if task.measure == "reward" else "",
    }
    heading = describe(
        plan,
        [_WORDS[entry.shape].format(**words), "It takes a compiler for C11 and the standard library, nothing else."],
        "it stops with SURPASS_NO_RULE",
        f"surpass_{entry.name}_unmet()",
    )
    prototypes = [
        _PROTOTYPES[entry.shape].format(suffix=suffix, type=kind, **words) for suffix, kind in parts.types.items()
    ]
    bodies = []
    for suffix, prototype in zip(parts.types, prototypes, strict=True):
        nan = {
            "refuse_nan": _REFUSE_NAN if suffix == "f64" else "",
            "or_nan": " || query != query" if suffix == "f64" else "",
        }
        bodies.append("\n".join(parts.code[suffix]))
        bodies.append(f"{prototype}\n" + _ENTRIES[entry.shape].format(suffix=suffix, **words, **nan))
    counter = f"int64_t surpass_{entry.name}_unmet(void)"
    sections = [
        "\n".join(["/* " + for_c(heading[0]), *("   " + for_c(line) if line else "" for line in heading[1:])]) + " */",
        _includes(code + "".join(_HELPERS[name] for name in _HELPERS if f"{name}(" in code)),
        _codes(words),
        _result_type(plan)
        + "".join(f"{prototype};\n" for prototype in prototypes)
        + "/* How many observations that the agent never met have come up in this thread, as far as they are counted."
        + " */\n"
        + f"{counter};",
        "enum { RUNNING, SOLVED, WRONG_ANSWER };",
        "static _Thread_local int64_t unmet;",
        f"{counter} {{ return unmet; }}",
        *(text for name, text in _HELPERS.items() if f"{name}(" in code),
        *(["\n".join(parts.frame), _GROW] if parts.frame else []),
        *([_limit(limit)] if entry.shape != "knapsack" else [_IN_RANGE.format(largest=LARGEST)]),
        *([_WAS_MET.format(table=_table(plan))] if plan.counts_unmet else []),
        *bodies,
    ]
    return "\n\n".join(section.rstrip() for section in sections) + "\n"


def _includes(code: str) -> str:
    needs_math = re.search(r"\b(INFINITY|sqrt|floor|ceil|exp|log|fabs)\b", code)
    names = [*(["math"] if needs_math else []), "stddef", "stdint", "stdlib"]
    return "\n".join(f"#include <{name}.h>" for name in names)


def _codes(words: dict[str, str]) -> str:
    lines = [f"    {name} = {value}, /* {meaning.format(**words)} */" for name, value, meaning in _CODES]
    lines[-1] = lines[-1].replace(", /*", "  /*", 1)
    return "/* What comes back instead of a result. */\nenum {\n" + "\n".join(lines) + "\n};"


def _result_type(plan: Plan) -> str:
    if plan.entry.shape not in ("list", "memory"):
        return ""
    names = [plan.names[Register(index)] for index in plan.entry.outputs]
    fields = ["int64_t steps;", "double score;", *(f"int64_t {name};" for name in names)]
    return (
        "typedef struct {\n"
        + "".join(f"    {field}\n" for field in fields)
        + f"}} surpass_{plan.entry.name}_result;\n\n"
    )


def _limit(limit: Limit) -> str:
    size = ("1.0 + 0 * (double)n", "(double)n", "(double)n * (double)n")[limit.power]
    return _LIMIT.format(limit=limit, formula=f"{limit.factor!r} * ({size})")


def _table(plan: Plan) -> str:
    numbers = [f"INT64_C({number})," for number in ([] if plan.met is None else plan.met.tolist())]
    return "\n".join("        " + " ".join(numbers[at : at + 4]) for at in range(0, len(numbers), 4))
