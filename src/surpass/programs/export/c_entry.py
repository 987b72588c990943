"""The functions of an exported C file that its caller sees, and what stands around them."""

from __future__ import annotations

import re
import textwrap

from surpass.programs.export import syntax
from surpass.programs.export.heading import Lines, describe, describe_memory, indent, scaled, show_widths
from surpass.programs.export.plan import Plan
from surpass.tasks.task import Limit

TYPES = {"i64": "int64_t", "f64": "double"}
"""The types of items, by the suffixes of the functions that work on them."""

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
    Frame *found = (Frame *)realloc(*frames, (size_t)wanted * sizeof *found);
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


def write_file(plan: Plan, code: dict[str, list[str]]) -> str:
    """Return the text of a C file, given the functions that run the program: for each type of items, by its suffix."""
    signature, limit = plan.signature, Limit.parse(plan.task.limit)
    whole = "\n".join(line for lines in code.values() for line in lines)
    helpers = [text for name, text in _HELPERS.items() if f"{name}(" in whole]
    needs_math = re.search(r"\b(INFINITY|sqrt|floor|ceil|exp|log|fabs)\b", whole + "".join(helpers))
    heading = describe(
        plan,
        [_describe_calls(plan, list(code)), "It takes a compiler for C11 or C++11 and the standard library."],
        "it stops with SURPASS_NO_RULE",
    )
    prototypes = {suffix: _prototype(plan, suffix) for suffix in code}
    result = ["int64_t steps;", "double score;", *(f"int64_t {own};" for own in plan.outputs)]
    size = ("1.0 + 0 * (double)n", "(double)n", "(double)n * (double)n")[limit.power]
    sections = [
        "\n".join(as_comment(heading)),
        ("#include <math.h>\n" if needs_math else "") + "#include <stddef.h>\n#include <stdint.h>\n#include <stdlib.h>",
        _codes(plan, limit),
        *([_structure(f"surpass_{signature.name}_result", result)] if signature.everything else []),
        "\n".join(f"{prototype};" for prototype in prototypes.values()),
        "enum { RUNNING, SOLVED, WRONG_ANSWER };",
        *helpers,
    ]
    if plan.stack_limit is not None:
        fields = [f"int64_t {', '.join(plan.saved)};"] if plan.saved else []
        sections += [_structure("Frame", fields + (["int site;"] if plan.keeps_sites else [])), _GROW]
    if not signature.budget:
        sections.append(_LIMIT.format(limit=limit, formula=f"{limit.factor!r} * ({size})"))
    if signature.reals:
        sections.append(_IN_RANGE.format(largest=signature.largest))
    for suffix, prototype in prototypes.items():
        body = "\n".join(f"    {line}" for line in _body(plan, suffix))
        sections += ["\n".join(code[suffix]), f"{prototype}\n{{\n{body}\n}}"]
    return "\n\n".join(section.rstrip() for section in sections) + "\n"


def as_comment(lines: list[str]) -> list[str]:
    """Return lines as a comment of C, with nothing in it that could end it or mean something else."""
    text = "\n   ".join(lines).replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")
    return [line.rstrip() for line in f"/* {text} */".split("\n")] if lines else []


def _function(plan: Plan, suffix: str) -> str:
    signature = plan.signature
    kind = "" if signature.items == "memory" else "_f64" if signature.items == "own" else f"_{suffix}"
    return f"surpass_{signature.name}{kind}"


def _parameters(plan: Plan, suffix: str) -> dict[str, str]:
    """Return what a function is given: how each is declared, by how it is given in a call."""
    signature, item_type = plan.signature, TYPES[suffix]
    items = {"items": f"{'' if plan.changes_items else 'const '}{item_type} *items"}
    count = {"count": "size_t count"}
    found = {} if signature.items == "own" else items | count
    if signature.items == "memory":
        found = {"size": "size_t size"} | items | ({"reals": "double *reals"} if plan.has_real_array else {})
    found |= {given.name: f"const double *{given.name}" for given in signature.reals if given.each}
    found |= count if signature.items == "own" else {}
    found |= {signature.query: f"{item_type} {signature.query}"} if signature.query else {}
    found |= {given.name: f"double {given.name}" for given in signature.reals if not given.each}
    found |= {signature.budget: f"int64_t {signature.budget}"} if signature.budget else {}
    found |= {signature.chosen: f"unsigned char *{signature.chosen}"} if signature.chosen else {}
    found |= {f"&{signature.score}": f"double *{signature.score}"} if signature.score else {}
    found |= {"&result": f"surpass_{signature.name}_result *result"} if signature.everything else {}
    return found | ({"&steps": "int64_t *steps"} if signature.answer is not None else {})


def _prototype(plan: Plan, suffix: str) -> str:
    head = f"int64_t {_function(plan, suffix)}("
    parts = ", ".join(part.replace(" ", "\0") for part in _parameters(plan, suffix).values())
    lines = textwrap.wrap(f"{head.replace(' ', chr(0))}{parts})", 101, subsequent_indent=" " * len(head))
    return "\n".join(lines).replace("\0", " ")


def _describe_calls(plan: Plan, suffixes: list[str]) -> str:
    signature = plan.signature
    first, *others = (_function(plan, suffix) for suffix in suffixes)
    also = "".join(f" and {other}" for other in others)
    given = ", ".join(_parameters(plan, "i64"))
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


def _structure(name: str, fields: list[str]) -> str:
    return "typedef struct {\n" + "".join(f"    {field}\n" for field in fields) + f"}} {name};"


def _body(plan: Plan, suffix: str) -> Lines:
    """Yield the lines of a function that the caller sees."""
    signature, task = plan.signature, plan.task
    is_own, size = signature.items == "own", "size" if signature.items == "memory" else "count"
    item_width, real_width = show_widths(task, size)
    allocated = [*(["items"] if is_own else []), *(["reals"] if signature.reals else [])]
    yield from _refusals(plan, suffix, size)
    if is_own:
        yield "/* The memory that the program works with: whole numbers, and the real numbers that it is given. */"
        yield f"int64_t *items = (int64_t *)calloc({item_width} + 1, sizeof *items);"
    if signature.reals:
        yield f"double *reals = (double *)calloc({real_width} + 1, sizeof *reals);"
    result = "result->" if signature.everything else ""
    given = [*plan.inputs, signature.budget or "limit_of(n)", "&taken"]
    given += [f"&{result}{'score' if own == plan.score else own}" for own in plan.results]
    lines = []
    for real in signature.reals:
        first = str(real.place) + (f" + {scaled(real.sizes, size)}" if real.sizes else "")
        each = f"for (size_t k = 0; k < {size}; ++k) reals[{first} + k] = {real.name}[k];"
        lines.append(each if real.each else f"reals[{first}] = {real.name};")
    lines.append(f"outcome = run_{suffix}({', '.join(given)});")
    if signature.chosen:
        lines.append(f"for (size_t k = 0; k < {size}; ++k) {signature.chosen}[k] = items[{size} + k] != 0;")
    if signature.score:
        lines.append(f"*{signature.score} = reals[0];")
    if allocated:
        yield f"int64_t n = (int64_t){size}, taken = 0, outcome = SURPASS_OUT_OF_MEMORY;"
        yield f"if ({' && '.join(f'{array} != NULL' for array in allocated)}) {{"
        yield from (*indent(lines), "}", *(f"free({array});" for array in allocated))
    else:
        outputs = [] if signature.everything else [f", {own}" for own in plan.outputs]
        yield f"int64_t n = (int64_t){size}, taken{''.join(outputs)}, {lines[0]}"
        yield from lines[1:]
    if signature.everything:
        yield "result->steps = taken;"
        yield from [] if plan.score else ["result->score = reals[0];"]
    if signature.answer is not None:
        yield "if (steps != NULL) *steps = taken;"
    if "WRONG_ANSWER" in syntax.names_in(*plan.lines, *(s for k in plan.subroutines.values() for s in k.body)):
        yield "if (outcome == WRONG_ANSWER) return SURPASS_WRONG_ANSWER;"
    answer = "taken" if signature.answer is None else plan.outputs[0]
    yield f"return outcome == SOLVED{' || outcome == SURPASS_STEP_LIMIT' if plan.uses_up else ''} ? {answer} : outcome;"


def _refusals(plan: Plan, suffix: str, size: str) -> Lines:
    """Yield the lines that refuse bad input."""
    signature, memory = plan.signature, plan.task.memory
    words = f"({max(1, memory.item_width(1), memory.real_width(1))} * sizeof(double))"
    tests = [f"{signature.budget} < 1"] if signature.budget else []
    tests += [f"{size} > PTRDIFF_MAX / {words if signature.reals else 'sizeof *items'}"]
    tests += ["reals == NULL"] if signature.items == "memory" and plan.has_real_array else []
    tests += [f"!in_range({given.name})" for given in signature.reals if not given.each]
    tests += [f"{signature.query} != {signature.query}"] if signature.query and suffix == "f64" else []
    yield f"if ({' || '.join(tests)}) return SURPASS_BAD_INPUT;"
    each = [f"!in_range({given.name}[k])" for given in signature.reals if given.each]
    each += ["items[k] != items[k]"] if signature.items == "list" and suffix == "f64" else []
    if each:
        yield f"for (size_t k = 0; k < {size}; ++k)"
        yield f"    if ({' || '.join(each)}) return SURPASS_BAD_INPUT;"
