"""Compiled random edits of a draft, at the places where the program goes.

An edit is drawn from a generator of two words, so that a draft and the generator's state give the edited draft again.
Unlike kernels, what is `inner` is not inlined: edits are large and seldom.
"""

from __future__ import annotations

import numpy as np

from surpass.arrays import Ints
from surpass.engine.chance import draw_uniform
from surpass.learning.discover.drafts import BITS, Draft, EditContext
from surpass.machine.kernel import inner, kernel
from surpass.programs.evaluate import Digits

MOST_EDITS = 4
MOST_TESTS = 4
NONE = -1
"""Stands for no place, no rule and no action."""
(INSERT, ACTION, DROP, ADD_TEST, DROP_TEST, CHANGE_TEST, SWAP, COPY, RENAME, TRANSPLANT, DETOUR, JOIN, SPLIT) = range(
    13
)
"""The kinds of edits; the last three only where the previous action is seen."""


# Random choices


@inner
def uniform(random: Ints) -> float:
    """Return a number in [0, 1) and move the only generator of `random` [1, 2] on in place."""
    return draw_uniform(random, 0)


@inner
def below(random: Ints, count: int) -> int:
    """Return a whole number from 0 to `count - 1`."""
    return min(count - 1, int(uniform(random) * count))


# Reading a draft


@kernel
def holds(draft: Draft, place: int, rule: int, digits: Digits) -> bool:
    """Tell whether all tests of a rule hold for the value numbers [F] of an observation."""
    for c in range(draft.test_counts[place, rule]):
        value = digits[draft.features[place, rule, c]]
        if not (draft.sets[place, rule, c, value // BITS] >> (value % BITS)) & 1:
            return False
    return True


@kernel
def place_of(draft: Draft, context: EditContext, digits: Digits) -> int:
    """Return the place where an observation is seen, or `NONE`."""
    function, previous = context.where
    f = 0 if function < 0 else context.function_of[digits[function]]
    if f < 0:
        return NONE
    return int(draft.place_at[f, 0 if previous < 0 else digits[previous]])


@kernel
def firing(draft: Draft, place: int, digits: Digits) -> int:
    """Return the first rule of a place that holds for an observation, or `NONE`."""
    for rule in range(draft.rule_counts[place]):
        if holds(draft, place, rule, digits):
            return rule
    return NONE


@inner
def has_same_rules(draft: Draft, other: Draft, place: int) -> bool:
    """Tell whether two drafts of the same shape have the same rules at a place."""
    if draft.rule_counts[place] != other.rule_counts[place]:
        return False
    for r in range(draft.rule_counts[place]):
        if draft.actions[place, r] != other.actions[place, r]:
            return False
        if draft.test_counts[place, r] != other.test_counts[place, r]:
            return False
        for c in range(draft.test_counts[place, r]):
            if draft.features[place, r, c] != other.features[place, r, c]:
                return False
            for w in range(draft.sets.shape[3]):
                if draft.sets[place, r, c, w] != other.sets[place, r, c, w]:
                    return False
    return True


@inner
def price(draft: Draft, rule_price: float, test_price: float) -> float:
    """Return what the rules and conditions of a draft cost."""
    cost = 0.0
    for p in range(len(draft.owners)):
        if draft.owners[p] >= 0:
            cost += rule_price * draft.rule_counts[p]
            for r in range(draft.rule_counts[p]):
                cost += test_price * draft.test_counts[p, r]
    return cost


# Changing a draft


@inner
def copy_rule(source: Draft, p: int, r: int, target: Draft, q: int, s: int) -> None:
    """Copy a rule of a draft to a place of another, or of the same one, in place."""
    target.actions[q, s] = source.actions[p, r]
    target.test_counts[q, s] = source.test_counts[p, r]
    for c in range(source.test_counts[p, r]):
        target.features[q, s, c] = source.features[p, r, c]
        for w in range(source.sets.shape[3]):
            target.sets[q, s, c, w] = source.sets[p, r, c, w]


@inner
def copy_draft(source: Draft, target: Draft) -> None:
    """Copy a draft onto another one of the same shape, in place."""
    for f in range(source.place_at.shape[0]):
        for k in range(source.place_at.shape[1]):
            target.place_at[f, k] = source.place_at[f, k]
    for p in range(len(source.owners)):
        target.owners[p] = source.owners[p]
        target.rule_counts[p] = source.rule_counts[p]
        if source.owners[p] >= 0:
            for r in range(source.rule_counts[p]):
                copy_rule(source, p, r, target, p, r)


@inner
def make_room(draft: Draft, place: int, at: int) -> bool:
    """Move the rules of a place from one on down by one, in place; return False if there is no room."""
    count = draft.rule_counts[place]
    if count == draft.actions.shape[1]:
        return False
    for r in range(count, at, -1):
        copy_rule(draft, place, r - 1, draft, place, r)
    draft.rule_counts[place] = count + 1
    draft.test_counts[place, at] = 0
    return True


@inner
def remove_rule(draft: Draft, place: int, at: int) -> None:
    """Remove a rule of a place, in place."""
    for r in range(at, draft.rule_counts[place] - 1):
        copy_rule(draft, place, r + 1, draft, place, r)
    draft.rule_counts[place] -= 1


@inner
def new_place(draft: Draft, owner: int, value: int) -> int:
    """Give a value of the previous action a new place without rules, in place; return it, or `NONE` without room."""
    for p in range(len(draft.owners)):
        if draft.owners[p] < 0:
            draft.owners[p] = owner
            draft.rule_counts[p] = 0
            draft.place_at[owner, value] = p
            return p
    return NONE


@inner
def split(draft: Draft, place: int, value: int) -> int:
    """Give one value of the previous action a place of its own with the same rules, in place; return it."""
    owner = draft.owners[place]
    shared = 0
    for k in range(draft.place_at.shape[1]):
        shared += draft.place_at[owner, k] == place
    if shared < 2:
        return place
    fresh = new_place(draft, owner, value)
    if fresh == NONE:
        return place
    for r in range(draft.rule_counts[place]):
        copy_rule(draft, place, r, draft, fresh, r)
    draft.rule_counts[fresh] = draft.rule_counts[place]
    return fresh


@inner
def some_place(draft: Draft, owner: int, random: Ints) -> int:
    """Return any place of a function."""
    count = 0
    for p in range(len(draft.owners)):
        count += draft.owners[p] == owner
    left = below(random, count)
    for p in range(len(draft.owners)):
        if draft.owners[p] == owner:
            if left == 0:
                return p
            left -= 1
    return NONE


@inner
def some_rule(draft: Draft, place: int, digits: Digits, random: Ints) -> int:
    """Return a rule of a place, or `NONE` if it has none: the one that fires, or any."""
    if draft.rule_counts[place] == 0:
        return NONE
    fires = firing(draft, place, digits)
    return below(random, draft.rule_counts[place]) if fires == NONE or uniform(random) < 0.3 else fires


@inner
def other_action(draft: Draft, context: EditContext, old: int, random: Ints) -> int:
    """Return an action: the old one with another operand, one that the program takes, or any."""
    kind = uniform(random)
    if kind < 0.35 and old >= 0:
        instruction = context.action_rows[old, 0]
        count = 0
        while count < context.operand_sizes.shape[1] and context.operand_sizes[instruction, count] > 0:
            count += 1
        if count == 0:
            return old
        k = below(random, count)
        value = below(random, context.operand_sizes[instruction, k])
        return int(old + (value - context.action_rows[old, 1 + k]) * context.operand_weights[instruction, k])
    if kind < 0.65:
        for _ in range(8):
            p = below(random, len(draft.owners))
            if draft.owners[p] >= 0 and draft.rule_counts[p] > 0:
                return int(draft.actions[p, below(random, draft.rule_counts[p])])
    instruction = below(random, len(context.offsets))
    action = context.offsets[instruction]
    for k in range(context.operand_sizes.shape[1]):
        if context.operand_sizes[instruction, k] > 0:
            action += below(random, context.operand_sizes[instruction, k]) * context.operand_weights[instruction, k]
    return int(action)


@inner
def lead_on(draft: Draft, place: int, action: int, instead: int, random: Ints) -> None:
    """Give a new action a place to lead to in place, if it has none: where the replaced one leads or comes, or any."""
    owner = draft.owners[place]
    if draft.place_at.shape[1] == 1 or draft.place_at[owner, action + 1] >= 0:
        return
    goal, kind = place, uniform(random)
    if instead >= 0 and draft.place_at[owner, instead + 1] >= 0:
        goal = int(draft.place_at[owner, instead + 1])
    if instead >= 0 and kind < 0.4:
        fresh = new_place(draft, owner, action + 1)
        if fresh != NONE and make_room(draft, fresh, 0):
            draft.actions[fresh, 0] = instead
        return
    if kind < 0.55:
        goal = some_place(draft, owner, random)
    elif kind < 0.75:
        goal = place
    draft.place_at[owner, action + 1] = goal


@inner
def write_test(
    draft: Draft, context: EditContext, place: int, rule: int, at: int, feature: int, digits: Digits, random: Ints
) -> None:
    """Write a test of a feature in place that holds for what is seen: for its value alone, or for a few more."""
    radix = context.radices[feature]
    draft.features[place, rule, at] = feature
    for w in range(draft.sets.shape[3]):
        draft.sets[place, rule, at, w] = 0
    value, held = int(digits[feature]), 0
    while True:
        bit = 1 << (value % BITS)
        held += (draft.sets[place, rule, at, value // BITS] & bit) == 0
        draft.sets[place, rule, at, value // BITS] |= bit
        if held >= radix - 1 or uniform(random) >= 0.3:
            return
        value = below(random, radix)


@inner
def has_test(draft: Draft, place: int, rule: int, feature: int) -> int:
    """Return which test of a rule is one of a feature, or `NONE`."""
    for c in range(draft.test_counts[place, rule]):
        if draft.features[place, rule, c] == feature:
            return c
    return NONE


@inner
def write_tests(draft: Draft, context: EditContext, place: int, rule: int, digits: Digits, random: Ints) -> None:
    """Write a few tests of a rule in place, all of which hold for what is seen."""
    wanted = 1 + below(random, min(MOST_TESTS, len(context.tested)))
    for _ in range(wanted):
        feature = context.tested[below(random, len(context.tested))]
        if has_test(draft, place, rule, feature) == NONE:
            at = draft.test_counts[place, rule]
            write_test(draft, context, place, rule, at, feature, digits, random)
            draft.test_counts[place, rule] = at + 1


# The edits


@inner
def insert(draft: Draft, context: EditContext, place: int, digits: Digits, random: Ints) -> None:
    """Insert a rule in place that fires for what is seen."""
    fires = firing(draft, place, digits)
    fires = draft.rule_counts[place] if fires == NONE else fires
    old = draft.actions[place, fires] if fires < draft.rule_counts[place] else NONE
    at = below(random, fires + 1) if uniform(random) < 0.5 else fires
    action = other_action(draft, context, old, random)
    if make_room(draft, place, at):
        draft.actions[place, at] = action
        write_tests(draft, context, place, at, digits, random)
        lead_on(draft, place, action, old, random)


@inner
def copy_one(draft: Draft, mate: Draft, context: EditContext, place: int, digits: Digits, random: Ints) -> None:
    """Copy a rule of the program or of its mate to this place, and change its action or one of its tests, in place."""
    is_own = uniform(random) < 0.5
    source = draft if is_own else mate
    p = below(random, len(source.owners))
    if source.owners[p] < 0 or source.rule_counts[p] == 0:
        p = place_of(source, context, digits)
    if p == NONE or source.rule_counts[p] == 0:
        return
    r = below(random, source.rule_counts[p])
    if source.test_counts[p, r] > draft.features.shape[2]:
        return
    at = below(random, draft.rule_counts[place] + 1)
    if not make_room(draft, place, at):
        return
    copy_rule(source, p, r + 1 if is_own and p == place and r >= at else r, draft, place, at)
    kind = uniform(random)
    if kind < 0.4:
        draft.actions[place, at] = other_action(draft, context, draft.actions[place, at], random)
    elif kind < 0.8:
        change_test(draft, context, place, at, digits, random)
    lead_on(draft, place, draft.actions[place, at], NONE, random)


@inner
def transplant(draft: Draft, mate: Draft, context: EditContext, place: int, digits: Digits) -> None:
    """Give a place the rules that the mate has where the same is seen, in place."""
    p = place_of(mate, context, digits)
    if p == NONE or mate.rule_counts[p] > draft.actions.shape[1]:
        return
    for r in range(mate.rule_counts[p]):
        if mate.test_counts[p, r] > draft.features.shape[2]:
            return
    for r in range(mate.rule_counts[p]):
        copy_rule(mate, p, r, draft, place, r)
    draft.rule_counts[place] = mate.rule_counts[p]


@inner
def copy_renamed(draft: Draft, context: EditContext, p: int, r: int, q: int, s: int, which: int) -> None:
    """Copy a rule to a place of the same draft with the names of two variables changed, in place."""
    draft.actions[q, s] = context.renamed_actions[which, draft.actions[p, r]]
    draft.test_counts[q, s] = draft.test_counts[p, r]
    for c in range(draft.test_counts[p, r]):
        feature = draft.features[p, r, c]
        draft.features[q, s, c] = context.renamed_features[which, feature]
        for w in range(draft.sets.shape[3]):
            draft.sets[q, s, c, w] = 0
        for value in range(context.radices[feature]):
            if (draft.sets[p, r, c, value // BITS] >> (value % BITS)) & 1:
                new = context.renamed_values[which, feature, value]
                draft.sets[q, s, c, new // BITS] |= 1 << (new % BITS)


@inner
def find_origin(context: EditContext, done: Ints, count: int, action: int) -> tuple[int, int]:
    """Return which of some actions another one is when two variables change their names, and which two; or `NONE`."""
    for k in range(count):
        for which in range(len(context.renamed_actions)):
            if context.renamed_actions[which, done[k]] == action:
                return k, which
    return NONE, NONE


@inner
def spread(draft: Draft, context: EditContext, place: int, came: int) -> None:
    """Let the place after an action serve, with other names, after all actions of other names that it leads to."""
    owner = draft.owners[place]
    done = draft.notes
    done[0], count, k = came, 1, 0
    while k < count:
        p = draft.place_at[owner, done[k] + 1]
        for r in range(draft.rule_counts[p]):
            action = draft.actions[p, r]
            is_done = False
            for j in range(count):
                is_done |= done[j] == action
            origin, which = find_origin(context, done, count, action)
            if is_done or origin == NONE or count == len(done):
                continue
            fresh = new_place(draft, owner, action + 1)
            if fresh == NONE:
                return
            source = draft.place_at[owner, done[origin] + 1]
            for s in range(draft.rule_counts[source]):
                copy_renamed(draft, context, source, s, fresh, s, which)
            draft.rule_counts[fresh] = draft.rule_counts[source]
            done[count] = action
            count += 1
        k += 1


@inner
def rename(draft: Draft, context: EditContext, place: int, digits: Digits, random: Ints) -> None:
    """Let two variables change their names, in place.

    Where the previous action is seen, the rule that fires repeats that action, renamed. Places that renamed actions
    lead to become renamed copies of those that the actions lead to. Elsewhere a rule is copied, renamed.
    """
    if len(context.renamed_actions) == 0 or draft.rule_counts[place] == 0:
        return
    which, previous = below(random, len(context.renamed_actions)), context.where[1]
    if previous < 0:
        at = below(random, draft.rule_counts[place] + 1)
        r = below(random, draft.rule_counts[place])
        if make_room(draft, place, at):
            copy_renamed(draft, context, place, r + 1 if r >= at else r, place, at, which)
        return
    came = int(digits[previous]) - 1
    rule = firing(draft, place, digits)
    if came < 0 or rule == NONE:
        return
    owner = draft.owners[place]
    draft.actions[place, rule] = context.renamed_actions[which, came]
    if uniform(random) < 0.5:
        spread(draft, context, split(draft, place, came + 1), came)
        return
    for p in range(len(draft.owners)):
        if draft.owners[p] != owner:
            continue
        # The loop reaches a place that is added behind this one in its turn.
        for r in range(draft.rule_counts[p]):
            action = draft.actions[p, r]
            origin = context.renamed_actions[which, action] + 1
            source = draft.place_at[owner, origin]
            if draft.place_at[owner, action + 1] >= 0 or source < 0 or not context.followed[origin]:
                continue
            fresh = new_place(draft, owner, action + 1)
            if fresh == NONE:
                return
            for k in range(draft.rule_counts[source]):
                copy_renamed(draft, context, source, k, fresh, k, which)
            draft.rule_counts[fresh] = draft.rule_counts[source]


@inner
def add_test(draft: Draft, context: EditContext, place: int, rule: int, digits: Digits, random: Ints) -> None:
    """Add a test to a rule in place, which holds for what is seen or for all else; or replace one of its feature."""
    feature = context.tested[below(random, len(context.tested))]
    at = has_test(draft, place, rule, feature)
    if at == NONE:
        at = draft.test_counts[place, rule]
        if at == draft.features.shape[2]:
            return
        draft.test_counts[place, rule] = at + 1
    write_test(draft, context, place, rule, at, feature, digits, random)
    if uniform(random) < 0.5:
        for value in range(context.radices[feature]):
            draft.sets[place, rule, at, value // BITS] ^= 1 << (value % BITS)


@inner
def drop_test(draft: Draft, place: int, rule: int, random: Ints) -> None:
    """Drop a test of a rule, in place."""
    count = draft.test_counts[place, rule]
    if count > 0:
        for c in range(below(random, count), count - 1):
            draft.features[place, rule, c] = draft.features[place, rule, c + 1]
            for w in range(draft.sets.shape[3]):
                draft.sets[place, rule, c, w] = draft.sets[place, rule, c + 1, w]
        draft.test_counts[place, rule] = count - 1


@inner
def change_test(draft: Draft, context: EditContext, place: int, rule: int, digits: Digits, random: Ints) -> None:
    """Replace a test of a rule in place by another of the same feature or of any."""
    count = draft.test_counts[place, rule]
    if count > 0:
        at = below(random, count)
        feature = draft.features[place, rule, at]
        if uniform(random) < 0.5:
            feature = context.tested[below(random, len(context.tested))]
        other = has_test(draft, place, rule, feature)
        if other in (NONE, at):
            write_test(draft, context, place, rule, at, feature, digits, random)


@inner
def swap_rules(draft: Draft, place: int, random: Ints) -> None:
    """Swap two rules of a place that have conditions, in place."""
    count = draft.rule_counts[place]
    if count < 2:
        return
    i, j = below(random, count), below(random, count)
    if i == j or draft.test_counts[place, i] == 0 or draft.test_counts[place, j] == 0:
        return
    first, last = min(i, j), max(i, j)
    if make_room(draft, place, first):
        copy_rule(draft, place, last + 1, draft, place, first)
        copy_rule(draft, place, first + 1, draft, place, last + 1)
        remove_rule(draft, place, first + 1)


@inner
def detour(draft: Draft, context: EditContext, place: int, digits: Digits, random: Ints) -> None:
    """Do one or two things before an action, which then comes next, in place."""
    fires = firing(draft, place, digits)
    if fires == NONE:
        return
    owner, goal = draft.owners[place], draft.actions[place, fires]
    first = other_action(draft, context, goal, random)
    second = other_action(draft, context, goal, random) if uniform(random) < 0.5 else NONE
    if first in (goal, second) or second == goal:
        return
    if draft.place_at[owner, first + 1] >= 0 or (second != NONE and draft.place_at[owner, second + 1] >= 0):
        return
    if uniform(random) < 0.5:
        if not make_room(draft, place, fires):
            return
        write_tests(draft, context, place, fires, digits, random)
    draft.actions[place, fires] = first
    fresh = new_place(draft, owner, first + 1)
    if fresh == NONE or not make_room(draft, fresh, 0):
        return
    draft.actions[fresh, 0] = goal if second == NONE else second
    if second != NONE:
        fresh = new_place(draft, owner, second + 1)
        if fresh != NONE and make_room(draft, fresh, 0):
            draft.actions[fresh, 0] = goal


@inner
def join(draft: Draft, place: int, random: Ints) -> None:
    """Make one place of two in place: the rules of one of them serve both."""
    owner = draft.owners[place]
    other = some_place(draft, owner, random)
    if other in (place, NONE):
        return
    keep, gone = (place, other) if uniform(random) < 0.5 else (other, place)
    for k in range(draft.place_at.shape[1]):
        if draft.place_at[owner, k] == gone:
            draft.place_at[owner, k] = keep
    draft.owners[gone] = NONE


@inner
def edit_once(draft: Draft, mate: Draft, context: EditContext, kind: int, random: Ints) -> None:
    """Edit a draft once in place, where the program goes often or ever."""
    seen = len(context.digits)
    row = below(random, seen)
    if uniform(random) < 0.5:
        row = min(seen - 1, int(np.searchsorted(context.often, uniform(random), side="right")))
    digits = context.digits[row]
    place = place_of(draft, context, digits)
    if place == NONE:
        return
    if context.where[1] >= 0 and (kind == SPLIT or (kind <= COPY and uniform(random) < 0.3)):
        place = split(draft, place, int(digits[context.where[1]]))
    rule = some_rule(draft, place, digits, random)
    if kind == INSERT:
        insert(draft, context, place, digits, random)
    elif kind == COPY:
        copy_one(draft, mate, context, place, digits, random)
    elif kind == TRANSPLANT:
        transplant(draft, mate, context, place, digits)
    elif kind == RENAME:
        rename(draft, context, place, digits, random)
    elif kind == DETOUR:
        detour(draft, context, place, digits, random)
    elif kind == JOIN:
        join(draft, place, random)
    elif kind == SWAP:
        swap_rules(draft, place, random)
    elif kind == SPLIT or rule == NONE:
        return
    elif kind == ACTION:
        old = draft.actions[place, rule]
        draft.actions[place, rule] = other_action(draft, context, old, random)
        lead_on(draft, place, draft.actions[place, rule], old, random)
    elif kind == DROP:
        if draft.rule_counts[place] > 1:
            remove_rule(draft, place, rule)
    elif kind == ADD_TEST:
        add_test(draft, context, place, rule, digits, random)
    elif kind == DROP_TEST:
        drop_test(draft, place, rule, random)
    else:
        change_test(draft, context, place, rule, digits, random)


WEIGHTS = (5, 3, 3, 2, 2, 3, 3, 1, 1, 1, 4, 2, 1)
"""How often each kind of edit is made; the last three only where the previous action is seen."""


@inner
def edit(draft: Draft, mate: Draft, context: EditContext, random: Ints) -> None:
    """Edit a draft one to four times in place; a half of all are edited once."""
    total = 0
    kinds = len(WEIGHTS) if context.where[1] >= 0 else DETOUR
    for kind in range(kinds):
        total += WEIGHTS[kind]
    for _ in range(MOST_EDITS):
        drawn, kind = below(random, total), 0
        while drawn >= WEIGHTS[kind]:
            drawn -= WEIGHTS[kind]
            kind += 1
        edit_once(draft, mate, context, kind, random)
        if uniform(random) < 0.5:
            return
