"""The functions of an exported C file that its caller sees, and what stands around them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from surpass.programs.export import syntax
from surpass.programs.export.heading import Lines, describe, describe_memory, scaled, show_widths
from surpass.programs.export.plan import Plan
from surpass.tasks.task import Limit


@dataclass(frozen=True)
class WrittenFile:
    """What has been written of a file."""

    code: dict[str, list[str]]
    """For each type of items, by its suffix, the functions that run the program."""
    types: dict[str, str]
    """The types by their suffixes."""
    frame: list[str]
    """The declaration of what a call saves, if there are calls."""
    changes_items: bool


_CODES = (
    ("SURPASS_NO_RULE", -2, "the program has no rule for what it sees"),
    ("SURPASS_STEP_LIMIT", -3, "{limit} steps were not enough"),
    ("SURPASS_STACK_LIMIT", -4, "too many calls were open at once"),
    ("SURPASS_OUT_OF_MEMORY", -5, "there was no memory for the calls that are open"),
    ("SURPASS_BAD_INPUT", -6, "{input}"),
    ("SURPASS_WRONG_ANSWER", -7, "the program gave an answer that does not hold"),
)
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
_IN_RANGE = """/* Tells whether a number is one that is allowed; NaN is not. */
static int in_range(double number) {{ return number >= 0 && number <= {largest!r}; }}"""


def write_file(plan: Plan, written: WrittenFile) -> str:
    """Return the text of a C file, given the functions that run the program."""
    signature, limit = plan.signature, Limit.parse(plan.task.limit)
    code = "\n".join(line for lines in written.code.values() for line in lines)
    heading = describe(
        plan,
        [_describe_calls(plan, written), "It takes a compiler for C11 and the standard library, nothing else."],
        "it stops with SURPASS_NO_RULE",
    )
    heading = [line.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?") for line in heading]
    prototypes = {suffix: _prototype(plan, written, suffix) for suffix in written.types}
    size = ("1.0 + 0 * (double)n", "(double)n", "(double)n * (double)n")[limit.power]
    sections = [
        "\n".join(["/* " + heading[0], *(f"   {line}" if line else "" for line in heading[1:])]) + " */",
        _includes(code + "".join(text for name, text in _HELPERS.items() if f"{name}(" in code)),
        _codes(plan, limit),
        _result_type(plan) + "\n".join(f"{prototype};" for prototype in prototypes.values()),
        "enum { RUNNING, SOLVED, WRONG_ANSWER };",
        *(text for name, text in _HELPERS.items() if f"{name}(" in code),
        *(["\n".join(written.frame), _GROW] if written.frame else []),
        *([] if signature.budget else [_LIMIT.format(limit=limit, formula=f"{limit.factor!r} * ({size})")]),
        *([_IN_RANGE.format(largest=signature.largest)] if signature.reals else []),
    ]
    for suffix, prototype in prototypes.items():
        body = "\n".join(f"    {line}" for line in _body(plan, suffix))
        sections += ["\n".join(written.code[suffix]), f"{prototype}\n{{\n{body}\n}}"]
    return "\n\n".join(section.rstrip() for section in sections) + "\n"


def _function(plan: Plan, suffix: str) -> str:
    signature = plan.signature
    kind = "" if signature.items == "memory" else "_f64" if signature.items == "own" else f"_{suffix}"
    return f"surpass_{signature.name}{kind}"


def _parameters(plan: Plan, written: WrittenFile, suffix: str) -> dict[str, str]:
    """Return what a function is given: how each is declared, by how it is given in a call."""
    signature, item_type = plan.signature, written.types[suffix]
    const = "" if written.changes_items else "const "
    found = {}
    if signature.items == "memory":
        found = {"size": "size_t size", "items": f"{const}int64_t *items"}
        found |= {"reals": "double *reals"} if plan.has_real_array else {}
    elif signature.items != "own":
        found = {"items": f"{const}{item_type} *items", "count": "size_t count"}
    found |= {given.name: f"const double *{given.name}" for given in signature.reals if given.each}
    found |= {"count": "size_t count"} if signature.items == "own" else {}
    found |= {signature.query: f"{item_type} {signature.query}"} if signature.query else {}
    found |= {given.name: f"double {given.name}" for given in signature.reals if not given.each}
    found |= {signature.budget: f"int64_t {signature.budget}"} if signature.budget else {}
    found |= {signature.chosen: f"unsigned char *{signature.chosen}"} if signature.chosen else {}
    found |= {f"&{signature.score}": f"double *{signature.score}"} if signature.score else {}
    found |= {"&result": f"surpass_{signature.name}_result *result"} if signature.everything else {}
    return found | ({"&steps": "int64_t *steps"} if signature.answer is not None else {})


def _prototype(plan: Plan, written: WrittenFile, suffix: str) -> str:
    lines = [f"int64_t {_function(plan, suffix)}("]
    indent = " " * len(lines[0])
    parts = list(_parameters(plan, written, suffix).values())
    for k, part in enumerate(parts):
        if len(lines[-1]) + len(part) > 100 and not lines[-1].endswith("("):
            lines[-1] = lines[-1].rstrip()
            lines.append(indent)
        lines[-1] += part + (")" if k + 1 == len(parts) else ", ")
    return "\n".join(lines)


def _describe_calls(plan: Plan, written: WrittenFile) -> str:
    signature = plan.signature
    first, *others = (_function(plan, suffix) for suffix in written.types)
    also = "".join(f" and {other}" for other in others)
    given = ", ".join(_parameters(plan, written, "i64"))
    words = [f"{first}({given}){also}: {signature.summary}.{describe_memory(plan)}"]
    if signature.answer is not None:
        words.append(
            f"What comes back is the {plan.outputs[0]}, -1 if there is none, or one of the other negative codes below."
            " The number of steps goes to *steps, unless that is NULL."
        )
    else:
        words.append("What comes back is the number of steps, or one of the negative codes below.")
    if signature.budget:
        limit = Limit.parse(plan.task.limit)
        words.append(f"It works for at most `{signature.budget}` steps ({limit} is usual).")
    if signature.chosen:
        words.append(f"{signature.chosen}[k] becomes 1 for each position k that is chosen and 0 for the others.")
    if signature.score:
        words.append(f"*{signature.score} becomes the {signature.score} of what is chosen.")
    if signature.everything:
        words.append("The result has the steps, the score and the variables at the end.")
    return " ".join(words)


def _includes(code: str) -> str:
    needs_math = re.search(r"\b(INFINITY|sqrt|floor|ceil|exp|log|fabs)\b", code)
    names = [*(["math"] if needs_math else []), "stddef", "stdint", "stdlib"]
    return "\n".join(f"#include <{name}.h>" for name in names)


def _codes(plan: Plan, limit: Limit) -> str:
    signature = plan.signature
    bad = "the array is too large, or holds NaN, which cannot be ordered"
    if signature.items == "memory":
        bad = "the array is too large" + (", or there are no reals" if plan.has_real_array else "")
    if signature.reals:
        bad = f"a number that is not from 0 to {signature.largest:g}, or a {signature.budget or 'size'} out of range"
    words = {"limit": "the" if signature.budget else str(limit), "input": bad}
    lines = [f"    {name} = {value}, /* {meaning.format(**words)} */" for name, value, meaning in _CODES]
    lines[-1] = lines[-1].replace(", /*", "  /*", 1)
    return "/* What comes back instead of a result. */\nenum {\n" + "\n".join(lines) + "\n};"


def _result_type(plan: Plan) -> str:
    if not plan.signature.everything:
        return ""
    fields = ["int64_t steps;", "double score;", *(f"int64_t {own};" for own in plan.outputs)]
    body = "".join(f"    {line}\n" for line in fields)
    return f"typedef struct {{\n{body}}} surpass_{plan.signature.name}_result;\n\n"


def _body(plan: Plan, suffix: str) -> Lines:
    """Yield the lines of a function that the caller sees."""
    signature, task = plan.signature, plan.task
    is_own, size = signature.items == "own", "size" if signature.items == "memory" else "count"
    arrays = [given.name for given in signature.reals if given.each]
    tests = [f"{signature.budget} < 1"] if signature.budget else []
    item_width, real_width = show_widths(task, size)
    words = max(1, task.memory.item_width(1), task.memory.real_width(1))
    tests += [
        f"{size} > PTRDIFF_MAX / ({words} * sizeof(double))"
        if signature.reals
        else f"{size} > PTRDIFF_MAX / sizeof *items"
    ]
    tests += ["reals == NULL"] if signature.items == "memory" and plan.has_real_array else []
    tests += [f"!in_range({given.name})" for given in signature.reals if not given.each]
    tests += [f"{signature.query} != {signature.query}"] if signature.query and suffix == "f64" else []
    yield f"if ({' || '.join(tests)}) return SURPASS_BAD_INPUT;"
    checks = [f"!in_range({name}[k])" for name in arrays]
    checks += ["items[k] != items[k]"] if signature.items == "list" and suffix == "f64" else []
    if checks:
        yield f"for (size_t k = 0; k < {size}; ++k)"
        yield f"    if ({' || '.join(checks)}) return SURPASS_BAD_INPUT;"
    if is_own:
        yield "/* The memory that the program works with: whole numbers, and the real numbers that it is given. */"
        yield f"int64_t *items = calloc({item_width} + 1, sizeof *items);"
    if signature.reals:
        yield f"double *reals = calloc({real_width} + 1, sizeof *reals);"
    outputs = [] if signature.everything else [f", {own}" for own in plan.outputs]
    allocated = [*(["items"] if is_own else []), *(["reals"] if signature.reals else [])]
    inner, begin = (
        ("    ", "outcome") if allocated else ("", f"int64_t n = (int64_t){size}, taken{''.join(outputs)}, outcome")
    )
    if allocated:
        yield f"int64_t n = (int64_t){size}, taken = 0, outcome = SURPASS_OUT_OF_MEMORY;"
        yield f"if ({' && '.join(f'{array} != NULL' for array in allocated)}) {{"
    for given in signature.reals:
        first = str(given.place) + (f" + {scaled(given.sizes, size)}" if given.sizes else "")
        if given.each:
            yield f"{inner}for (size_t k = 0; k < {size}; ++k) reals[{first} + k] = {given.name}[k];"
        else:
            yield f"{inner}reals[{first}] = {given.name};"
    given_to_run = [*plan.inputs, signature.budget or "limit_of(n)", "&taken"]
    given_to_run += ["&result->score"] if plan.score else []
    given_to_run += [f"&{'result->' if signature.everything else ''}{own}" for own in plan.outputs]
    yield f"{inner}{begin} = run_{suffix}({', '.join(given_to_run)});"
    if signature.chosen:
        yield f"{inner}for (size_t k = 0; k < {size}; ++k) {signature.chosen}[k] = items[{size} + k] != 0;"
    if signature.score:
        yield f"{inner}*{signature.score} = reals[0];"
    if allocated:
        yield "}"
        yield from (f"free({array});" for array in allocated)
    if signature.everything:
        yield "result->steps = taken;"
        yield from [] if plan.score else ["result->score = reals[0];"]
    if signature.answer is not None:
        yield "if (steps != NULL) *steps = taken;"
    if "WRONG_ANSWER" in _outcomes(plan):
        yield "if (outcome == WRONG_ANSWER) return SURPASS_WRONG_ANSWER;"
    result = "taken" if signature.answer is None else plan.outputs[0]
    yield f"return outcome == SOLVED{' || outcome == SURPASS_STEP_LIMIT' if plan.uses_up else ''} ? {result} : outcome;"


def _outcomes(plan: Plan) -> set[str]:
    """Return the names in all code of a plan, among them those of the outcomes that it can end with."""
    return syntax.names_in(*plan.lines, *(line for found in plan.subroutines.values() for line in found.body))
