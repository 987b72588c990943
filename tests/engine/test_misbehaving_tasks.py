"""A user's task file that is wrong is refused when it is loaded, with one sentence that names what is wrong.

Each case is one edit of a right task. Compiled, many of them would end the process by a signal or never come back.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import surpass
from surpass.api import as_task
from surpass.engine import rehearsal, trial
from surpass.errors import SurpassError
from surpass.tasks.registry import PAPER_TASKS, forget_task, known_tasks
from surpass.tasks.teacher import declared_teachers, forget_teachers
from surpass.tasks.user_file import forget_task_file
from tests.long import LONG

GOOD = (Path(__file__).parent / "mountain.py").read_text()


class Edit(NamedTuple):
    """A text of the right task, what stands there instead, and what the sentence must say."""

    old: str
    new: str
    said: str


WALK = "    state.registers[v] = clamp(state.registers[v] + step, state.registers[SIZE])\n"
SWAP = "    state.items[i], state.items[j] = state.items[j], state.items[i]\n"
COUNT = "    state.items[state.registers[SIZE]] += TABLE[i % 3]\n"
BEGIN = "    state.registers[R.answer] = -1\n"
STOPS = "    state.reals[SCORE] = 1.0\n"
ITEM = "    return state.items[state.registers[v]]\n"
ZONE = "    if state.registers[v] == 0:\n"
CALL = "    surpass.enter(state, 1, R.j)\n"
BACK = "    surpass.leave(state, state.registers[R.i])\n"
WHILE = "    while True:\n        state.reals[TOTAL] += 1\n"
LINE = r" \(mountain.py, line \d+\), "

INDEX = {
    "a hint that reads past the end": Edit(
        "find_wrong=find_wrong,",
        'find_wrong=find_wrong,\n        hints=(surpass.value("far", item, 99),),',
        r"hint 'far': 'item' reads register 99, but the task declares 5 to 7",
    ),
    "a hint that is no value": Edit(
        "find_wrong=find_wrong,",
        "find_wrong=find_wrong,\n        hints=(item,),",
        r"hints of task 'mountain'.*surpass.value",
    ),
    "a step past the end": Edit(
        WALK,
        "    state.registers[v] += step\n",
        r"(reads|writes) (items|reals)\[-?\d+\], but it has \d+ values, 0 to \d+" + LINE,
    ),
    "a read past the end": Edit(
        ITEM,
        "    return state.items[state.registers[v] + 2]\n",
        r"'item' reads items\[2\], but it has 2 values, 0 to 1" + LINE,
    ),
    "a read far away": Edit(
        ITEM, "    return state.items[10**9]\n", r"'item' reads items\[1000000000\], but it has 2 values"
    ),
    "a read before the first": Edit(ITEM, "    return state.items[-1]\n", r"'item' reads items\[-1\], but it has"),
    "a read far before": Edit(ITEM, "    return state.items[-(2**40)]\n", r"'item' reads items\[-1099511627776\]"),
    "a write past the end": Edit(
        SWAP,
        SWAP + "    state.items[i + 5] = 0\n",
        r"instruction Swap: 'swap' writes items\[5\], but it has 2 values, 0 to 1"
        + LINE
        + r"in Swap\(\) on an instance",
    ),
    "a write far away": Edit(SWAP, "    state.items[1 << 40] = i + j\n", r"'swap' writes items\[1099511627776\]"),
    "a write before the first": Edit(SWAP, "    state.items[i - j - 1] = 0\n", r"'swap' writes items\[-1\]"),
    "a counter that is not there": Edit(
        "item_width=lambda size: size + 1",
        "item_width=lambda size: size",
        r"'swap' reads items\[1\], but it has one value, 0",
    ),
    "no items at all": Edit(
        "item_width=lambda size: size + 1",
        "item_width=lambda size: 0",
        r"start: 'start' reads items\[0\], but it has no",
    ),
    "an index from an item": Edit(ITEM, "    return state.items[state.items[0] * 9]\n", r"'item' reads items\[\d+\]"),
    "a real past the end": Edit(
        "HEIGHTS + state.registers[v] + 1]",
        "HEIGHTS + state.registers[v] + 9]",
        r"value 'A\[i\+1\]': 'height_after' reads reals\[11\], but it has 4 values",
    ),
    "a real before the first": Edit(STOPS, "    state.reals[SCORE - 1] = 1.0\n", r"Stop: 'stop' writes reals\[-1\]"),
    "reals that are too few": Edit(
        "real_width=lambda size: 2 + size",
        "real_width=lambda size: 2",
        r"start: 'start' writes reals\[2\], but it has 2",
    ),
    "an edge that is not looked at": Edit(
        "return state.registers[v] == state.registers[SIZE] - 1\n",
        "return state.registers[v] < 0\n",
        r"value 'A\[i\+1\]': 'height_after' reads reals\[3\], but it has 3 values, 0 to 2" + LINE,
    ),
    "a register that is not declared": Edit(
        "        registers=R,\n        ".replace("        ", "            "),
        '            registers=surpass.registers("i", "j"),\n            ',
        r"start: 'start' writes register 7, but the task declares 5 to 6 \(i, j\)",
    ),
    "no registers": Edit(
        "            registers=R,\n            saved=2,\n",
        "            saved=0,\n",
        "start: 'start' writes register 7, but the task declares none of its own",
    ),
    "a register far away": Edit(
        BEGIN, BEGIN + "    state.registers[700] = 1\n", "'start' writes register 700, but the"
    ),
    "a negative register": Edit(
        BEGIN, BEGIN + "    state.registers[R.i - 6] = 0\n", "'start' writes register -1, but the task declares 5 to 7"
    ),
    "an argument that is no register": Edit(
        "zone, (R.i,))", "zone, (40,))", r"feature 'zone': 'zone' reads register 40, but the task declares 5 to 7"
    ),
    "an operand that is no register": Edit(
        'surpass.variable("v", R.i, R.j)',
        'surpass.variable("v", R.i, 12)',
        r"instruction Move: 'move' reads register 12, .* in Move\(2, [-+]1\) on an instance of size \d+",
    ),
    "a helper that goes wrong": Edit(
        WALK,
        "    state.registers[v] = look_ahead(state, 2)\n    return RUNNING\n\n\n@kernel\n"
        "def look_ahead(state: State, k: int) -> int:\n    return state.items[state.registers[SIZE] + k]\n",
        r"instruction Move: 'look_ahead' reads items\[3\], but it has 2" + ".*" + LINE + r"in Move\(",
    ),
    "a tuple that is too short": Edit("TABLE[i % 3]", "TABLE[i]", "'swap' raises IndexError: tuple index out of range"),
    "an array of constants that is too short": Edit(
        "TABLE = (1, 2, 4)\n", "TABLE = np.array([1, 2])\n", "'swap' raises IndexError: index 2 is out of bounds"
    ),
    "the size is written": Edit(
        BEGIN, BEGIN + "    state.registers[SIZE] = 3\n", "'start' writes register SIZE, which"
    ),
    "every register is written": Edit(
        BEGIN, BEGIN + "    state.registers[:] = 0\n", "'start' writes register SIZE, which belongs to the machine"
    ),
    "a part of the registers is too short": Edit(
        BEGIN,
        BEGIN + "    own = state.registers[R.i :]\n    own[3] = 1\n",
        r"'start' writes a part of the registers\[3\], but",
    ),
    "a part of the items is too short": Edit(
        SWAP,
        SWAP + "    part = state.items[1:]\n    part[len(part)] = 0\n",
        r"'swap' writes items\[1\], but it has one value",
    ),
    "the depth is written": Edit(
        SWAP, "    state.registers[surpass.DEPTH] = 9\n", "'swap' writes register DEPTH, which belongs to the machine"
    ),
    "the stack is written": Edit(BACK, "    state.stack[0] = 7\n" + BACK, "'back' writes the stack, which belongs to"),
    "a feature that writes": Edit(
        ZONE, "    state.registers[v] = 0\n" + ZONE, "feature 'zone': 'zone' writes registers, but what a program sees"
    ),
    "a value that writes": Edit(
        ITEM, "    state.items[0] = 1\n" + ITEM, r"'item' writes items, but what a program sees"
    ),
}

CALLS = {
    "a call that is opened twice": Edit(
        CALL, CALL + CALL, r"instruction Call: 'call' opens call 2 in one step; an instruction opens one" + ".*" + LINE
    ),
    "a call in a loop": Edit(
        CALL, "    for _ in range(99):\n        surpass.enter(state, 1, R.j)\n", "'call' opens call 2 in one step"
    ),
    "a call that saves nothing known": Edit(
        "            saved=2,\n", "", "'call' opens a call, but the task's memory does not say how many .* saves"
    ),
    "a result for no register": Edit(
        CALL,
        "    surpass.enter(state, 1, 99)\n",
        "'call' opens a call whose result goes to register 99; allowed: 5 to 7",
    ),
    "a result for a register of the machine": Edit(
        CALL, "    surpass.enter(state, 1, SIZE)\n", "'call' opens a call whose result goes to register 0; allowed: 5"
    ),
    "a function that is not there": Edit(
        CALL, "    surpass.enter(state, 7, R.j)\n", "feature 'function' returned 7; allowed: 0 to 1"
    ),
    "a call in a feature": Edit(
        ZONE,
        "    surpass.enter(state, 1, R.j)\n" + ZONE,
        "feature 'zone': 'zone' opens a call, but what a program sees",
    ),
    "too many calls at the start": Edit(
        BEGIN, BEGIN + "    for _ in range(999):\n        surpass.enter(state, 1, R.j)\n", "'start' opens call 2 in one"
    ),
    "more saved than registers": Edit("saved=2", "saved=9", "task 'mountain' saves 9 registers in a call but has 3"),
    "fewer saved than none": Edit("saved=2", "saved=-1", "task 'mountain' saves -1 registers in a call"),
    "half a register saved": Edit("saved=2", "saved=1.5", "saved of a memory is 1.5; it must be a whole number"),
    "a kernel that calls itself": Edit(
        "    return min(max(value, 0), size - 1)\n",
        "    return clamp(value - 1, size) if value >= size else max(value, 0)\n",
        r"instruction Move: 'clamp' calls itself \(mountain.py, line \d+\); a kernel must not",
    ),
    "a kernel that calls itself for ever": Edit(
        ITEM, "    return item(state, v) + 1\n", r"'item' calls itself \(mountain.py, line \d+\)"
    ),
    "two kernels that call each other": Edit(
        "    return min(max(value, 0), size - 1)\n",
        "    return value if 0 <= value < size else bring_back(value, size)\n\n\n"
        "@kernel\ndef bring_back(value: int, size: int) -> int:\n    return clamp(value // 2, size)\n",
        r"instruction Move: 'clamp' calls itself by way of 'bring_back' \(mountain.py",
    ),
}

TIME = {
    "a start that does not end": Edit(
        BEGIN,
        BEGIN + WHILE,
        r"start: 'start' does not come to an end" + LINE + r"at the start of an instance of size 0",
    ),
    "an instruction that does not end": Edit(
        SWAP, SWAP + WHILE, r"instruction Swap: 'swap' does not come to an end" + LINE + r"in Swap\(\) on an instance"
    ),
    "a teacher that does not end": Edit(
        '    return do.Move(1, +1) if see("A[i] <= A[i+1]") else do.Stop()\n',
        "    while True:\n        pass\n",
        r"teacher:climb: 'climb' does not come to an end \(mountain.py, line \d+\), asked about observation \d+",
    ),
    "a feature that does not end": Edit(
        ZONE, "    while state.registers[v] >= 0:\n        v += 0\n" + ZONE, "feature 'zone': 'zone' does not come to"
    ),
    "an edge that does not end": Edit(
        "return state.registers[v] == state.registers[SIZE] - 1\n",
        "k = 0\n    while k < 1:\n        k -= 1\n    return k == v\n",
        "edge 'i at end': 'at_end' does not come to an end",
    ),
    "a helper that does not end": Edit(
        "    return min(max(value, 0), size - 1)\n",
        "    while value != size:\n        value = min(value + 1, size - 1)\n    return value\n",
        "instruction Move: 'clamp' does not come to an end",
    ),
    "an end that waits for an item": Edit(
        STOPS,
        "    while state.items[0] < 99:\n        state.reals[SCORE] += 1\n",
        "Stop: 'stop' does not come to an end",
    ),
    "a draw that does not end": Edit(
        '    """Draw lists of small values."""\n',
        "    while True:\n        pass\n",
        r"inputs.draw\['small'\]: 'draw' does not come to an end \(mountain.py, line \d+\), for an instance of size 1",
    ),
    "a find_wrong that does not end": Edit(
        "    wrong = np.zeros(before.count, np.bool_)\n",
        "    wrong = np.zeros(before.count, np.bool_)\n    while True:\n        pass\n",
        "find_wrong: 'find_wrong' does not come to an end",
    ),
}

RETURNS = {
    "an unknown outcome": Edit(
        BACK + "    return RUNNING\n",
        BACK + "    return 7\n",
        r"instruction Back: 'back' returns 7, which is no outcome; it must return RUNNING \(0\), SOLVED \(1\) or WRONG",
    ),
    "an outcome of the engine": Edit(
        BACK + "    return RUNNING\n", BACK + "    return -2\n", "'back' returns -2, which is no outcome"
    ),
    "an unknown outcome now and then": Edit(
        STOPS + "    return SOLVED\n",
        STOPS + "    return state.registers[R.i] + 1\n",
        "'stop' returns 3, which is no outcome",
    ),
    "a start with an unknown outcome": Edit(
        "    return SOLVED if size == 0 else RUNNING\n",
        "    return 3\n",
        "start: 'start' returns 3, which is no outcome",
    ),
    "an instruction without a return": Edit(
        BACK + "    return RUNNING\n", BACK, "instruction Back: 'back' returns nothing; it must return RUNNING, SOLVED"
    ),
    "a start without a return": Edit(
        "    return SOLVED if size == 0 else RUNNING\n", "", "start: 'start' returns nothing; it must return RUNNING"
    ),
    "a start that returns now and then": Edit(
        "    return SOLVED if size == 0 else RUNNING\n",
        "    if size == 0:\n        return SOLVED\n",
        "start: 'start' returns nothing on some of its paths",
    ),
    "an instruction that returns a real": Edit(
        BACK + "    return RUNNING\n", BACK + "    return 0.5\n", "'back' returns float64; it must return RUNNING"
    ),
    "an instruction that returns a truth": Edit(
        BACK + "    return RUNNING\n",
        BACK + "    return state.items[0] > 0\n",
        "'back' returns bool; it must return RUNNING",
    ),
    "a feature out of range": Edit(
        "    return 2 if state", "    return 3 if state", "feature 'zone' returned 3; allowed: 0"
    ),
    "a feature below 0": Edit(
        "        return 0\n", "        return -1\n", "feature 'zone' returned -1; allowed: 0 to 2"
    ),
    "a flag that is a number": Edit(
        "== state.registers[R.j]\n", "+ state.registers[R.j] + 2\n", "feature 'i = j' returned 2; allowed: 0 to 1"
    ),
    "a feature that is a real": Edit(
        "        return 0\n",
        "        return 0.25\n",
        "feature 'zone': 'zone' returns float64; it must return the number",
    ),
    "a value that is a tuple": Edit(ITEM, "    return (1, 2)\n", "'(item|stop)' (returns|does not compile)"),
    "a value that is nothing": Edit(ITEM, "    return None\n", r"'(item|stop)' (returns|does not compile)"),
}

RAISES = {
    "a division by zero": Edit(
        SWAP, "    i //= state.items[0] * 0\n" + SWAP, "'swap' divides by zero" + LINE + "in Swap"
    ),
    "a remainder by zero": Edit("i % 3", "i % (i - j)", "'swap' divides by zero"),
    "a real division by zero": Edit(
        "return state.reals[HEIGHTS + state.registers[v] + 1]",
        "return 1 / state.reals[SCORE]",
        "'height_after' divides by",
    ),
    "an exception": Edit(
        SWAP,
        "    if i == j:\n        raise ValueError('stuck')\n" + SWAP,
        "Swap: 'swap' raises ValueError: stuck" + LINE,
    ),
    "an assertion": Edit(SWAP, "    assert i != j\n" + SWAP, "instruction Swap: 'swap' raises AssertionError"),
    "a real that is no whole number": Edit(
        STOPS,
        "    state.registers[R.answer] = int(1e300 * 1e300)\n" + STOPS,
        "'stop' raises OverflowError: cannot convert",
    ),
    "an attribute that is not there": Edit(
        ITEM,
        "    return state.itms[0]\n",
        r"does not compile: Unknown attribute 'itms' of type State \(mountain.py, line \d+, in item",
    ),
    "a register that is not named": Edit(
        BEGIN, "    state.registers[R.anwser] = -1\n", "start: 'start' does not compile: .*anwser"
    ),
    "a name that is not there": Edit(
        WALK, "    state.registers[v] = clip(0, 1)\n", "Move: 'move' names clip, which is not defined, perhaps .*line 7"
    ),
    "a dictionary": Edit(SWAP, "    state.items[{}] = 1\n", "instruction Swap: 'swap' does not compile"),
    "a text as a number": Edit(SWAP, "    i = 'a' + 1\n" + SWAP, "instruction Swap: 'swap' does not compile"),
}

SHAPES = {
    "a start that is no kernel": Edit(
        "@kernel\ndef start", "def start", "start: 'start' is no kernel; write @surpass.kernel"
    ),
    "an instruction that is no kernel": Edit("@kernel\ndef swap", "def swap", "instruction Swap: 'swap' is no kernel"),
    "a feature that is no kernel": Edit("@kernel\ndef zone", "def zone", "feature 'zone': 'zone' is no kernel; write"),
    "a value that is no kernel": Edit("@kernel\ndef item", "def item", r"value 'A\[i\]': 'item' is no kernel; write"),
    "an edge that is no kernel": Edit("@kernel\ndef at_end", "def at_end", "edge 'i at end': 'at_end' is no kernel"),
    "a parameter too many": Edit(
        "def swap(state: State)", "def swap(state: State, k: int)", r"'swap' takes \(state, k\) but"
    ),
    "a parameter too few": Edit(
        "def move(state: State, v: int, step: int)", "def move(state: State, v: int)", "is given the state and 2 more"
    ),
    "a parameter with a star": Edit("def swap(state: State)", "def swap(*state: State)", "a parameter with a star"),
    "a start with a parameter": Edit(
        "def start(state: State)", "def start(state: State, k: int)", r"takes \(state, k\)"
    ),
    "a lambda": Edit("does=swap)", "does=lambda state: 0)", "instruction Swap: '<lambda>' is no kernel"),
    "a number for a kernel": Edit(
        "does=swap)", "does=5)", "what instruction Swap does is 5; it must be a kernel, called as"
    ),
    "a class for a kernel": Edit(
        "does=swap)", "does=dict)", "what instruction Swap does is .*dict.*; it must be a kernel"
    ),
    "no kernel for an instruction": Edit(
        ", does=swap)", ")", "task 'mountain' needs a kernel for its instruction Swap"
    ),
    "no kernel for a feature": Edit("zone, (R.i,))", ")", "task 'mountain' needs a kernel for its feature 'zone'"),
    "no start": Edit(
        "start=start", "start=None", "start of task 'mountain' is None; it must be a kernel, called as start"
    ),
}

FIELDS = {
    "a negative width": Edit(
        "lambda size: size + 1", "lambda size: size - 3", r"item_width\(0\) of a memory is -3; it must be"
    ),
    "a real width": Edit(
        "lambda size: size + 1", "lambda size: size / 2", r"item_width\(0\) of a memory is 0.0; it must be a wh"
    ),
    "no width": Edit(
        "lambda size: size + 1", "lambda size: None", r"item_width\(0\) of a memory is None; it must be a whole"
    ),
    "a width that is a number": Edit(
        "item_width=lambda size: size + 1", "item_width=9", "item_width of a memory is 9; it must be"
    ),
    "a width that shrinks": Edit(
        "lambda size: size + 1", "lambda size: 30 - size % 9", r"item_width\(1\) of a memory is 29"
    ),
    "a width that raises": Edit(
        "lambda size: size + 1", "lambda size: 8 // size", r"item_width\(0\) of a memory raises ZeroDiv"
    ),
    "a width with two parameters": Edit(
        "lambda size: size + 1", "lambda a, b: a", r"item_width\(0\) of a memory raises TypeError"
    ),
    "too few reals for their names": Edit(
        "lambda size: 2 + size", "lambda size: 1", r"real_width\(0\) of a memory is 1; it must"
    ),
    "no reals": Edit(
        'reals=("score", "total")', "reals=()", r"reals of a memory is \(\); it must be a tuple of names, the score"
    ),
    "reals that are a text": Edit(
        '("score", "total")', '"score"', "reals of a memory is 'score'; it must be a tuple of names"
    ),
    "reals that are numbers": Edit(
        '("score", "total")', "(1, 2)", r"reals of a memory\[0\] is 1; it must be the name of a real"
    ),
    "an item name that is a number": Edit(
        "saved=2,",
        "saved=2, item_name=lambda k, n: k,",
        r"item_name\(0, 1\) of a memory is 0; it must be a text or None",
    ),
    "registers that are a list": Edit(
        "            registers=R,",
        '            registers=["i"],',
        r"registers of a memory is \['i'\]; it must be what surpass",
    ),
    "registers without names": Edit(
        "            registers=R,", "            registers=(5, 6, 7),", "have no names; make them with"
    ),
    "a register with a bad name": Edit(
        '("i", "j", "answer")', '("i", "j", "an answer")', "register 'an answer' needs a plain"
    ),
    "a register that is a number": Edit(
        '("i", "j", "answer")', '("i", "j", 3)', "a register's name is 3; it must be a text"
    ),
    "a memory that is none": Edit(
        "        memory=surpass.Memory(",
        "        memory=dict(",
        "memory of task 'mountain' is .*; it must be a surpass.Memory",
    ),
    "a limit that is none": Edit(
        'limit="20n"', 'limit="n^3"', r"the limit 'n\^3' is not a number above 0, Kn or Kn\^2"
    ),
    "a limit of another type": Edit(
        'limit="20n"', "limit=None", "limit of task 'mountain' is None; it must be a number of"
    ),
    "a name that is a number": Edit('name="mountain"', "name=5", "a task's name is 5; it must be a text"),
    "a summary that is none": Edit(
        'summary="find a highest value of a list"', "summary=None", "summary of task 'mountain' is None"
    ),
    "a measure that is none": Edit(
        "        sizes=(5, 10),", '        measure="time",', "measure .* is 'time'; it must be steps or rew"
    ),
    "a size of 0": Edit(
        "sizes=(5, 10)", "sizes=(0, 10)", "a size in sizes of task 'mountain' is 0; it must be a whole number of 1"
    ),
    "sizes that are a number": Edit(
        "        sizes=(5, 10)", "        sizes=5", "sizes of task 'mountain' is 5; it must be a tuple"
    ),
    "no sizes": Edit(
        "        sizes=(5, 10)", "        sizes=()", r"sizes of task 'mountain' is \(\); it must be at least one size"
    ),
    "training sizes upside down": Edit(
        "(3, 6)", "(6, 3)", r"training_sizes of task 'mountain' is \(6, 3\); it must be the small"
    ),
    "half a training size": Edit(
        "(3, 6)", "(3, 6.5)", "a size in training_sizes of task 'mountain' is 6.5; it must be a whole"
    ),
    "learning that is a list": Edit(
        '{"rl": {"updates": 2}}', "[1]", r"learning of task 'mountain' is \[1\]; it must be a dict"
    ),
    "learning without settings": Edit(
        '{"rl": {"updates": 2}}', '{"rl": 5}', r"learning\['rl'\] of task 'mountain' is 5; it must"
    ),
    "a cost that is a text": Edit(
        "step_cost=1.0", 'step_cost="1"', "step_cost of a reward is '1'; it must be a finite number"
    ),
    "a cost that is no number": Edit(
        "wrong_cost=100.0", 'wrong_cost=float("nan")', "wrong_cost of a reward is nan; it must be"
    ),
    "a reward that is a number": Edit(
        "reward=surpass.Reward(step_cost=1.0, wrong_cost=100.0)",
        "reward=1.0",
        "reward of task 'mountain' is 1.0; it must be a",
    ),
    "a teacher that is a function": Edit(
        'default_teacher="climb"', "default_teacher=print", "default_teacher of task .* a text"
    ),
    "a signature that is a text": Edit(
        '        default_teacher="climb",',
        '        signature="f(x)",',
        "signature of task 'mountain' is 'f.x.'; it must be a Sign",
    ),
    "an interface that is a list": Edit(
        "        interface=surpass.Interface(\n",
        "        interface=list(\n",
        "fails when it is run: TypeError: list expected",
    ),
    "values that are a text": Edit(
        '("first", "inner", "last")', '"abc"', "the values of feature 'zone' is 'abc'; it must be a tuple"
    ),
    "values that cannot be compared": Edit(
        '("first", "inner", "last")', "([1], [2])", r"values of feature 'zone'\[0\] is \[1\]"
    ),
    "an argument that is a real": Edit(
        "zone, (R.i,))", "zone, (5.0,))", "an argument of feature 'zone' is 5.0; it must be a whole"
    ),
    "an argument without a tuple": Edit(
        "zone, (R.i,))", "zone, R.i)", "the arguments of feature 'zone' is 5; it must be a tuple"
    ),
    "a feature without a name": Edit('Feature("zone"', "Feature(None", "a feature's name is None; it must be a text"),
    "a feature that is a text": Edit(
        "surpass.PREVIOUS_ACTION,", '"previous",', r"features of an interface\[4\] is 'previous'; it"
    ),
    "an instruction that is a function": Edit(
        'Instruction("Back", does=back)', "back", r"instructions of an interface\[3\] is"
    ),
    "an instruction without a name": Edit(
        'Instruction("Back"', "Instruction(7", "an instruction's name is 7; it must be a text"
    ),
    "an operand that is a number": Edit(
        '"Swap", does', '"Swap", R.i, does', r"operands of instruction Swap\[0\] is 5; it must be an"
    ),
    "a variable that is a text": Edit(
        "R.i, R.j), surpass", '"i", "j"), surpass', "a code of operand 'v' is 'i'; it must be a whole"
    ),
    "a side that is a kernel": Edit(
        'surpass.value("A[i]", item, R.i)', "item", "the left of a comparison is .*; it must be a value"
    ),
    "a sign that is not there": Edit(
        '("<", "=", ">", "end")', '("<", "=", "end")', "it needs <, =, > and one more for an edge"
    ),
    "an edge that is a kernel": Edit(
        'surpass.value("i at end", at_end, R.i)', "at_end", "the edge of a comparison is .*; it must be"
    ),
}

FUNCTIONS = {
    "no way to draw": Edit('{"small": draw}', "{}", "task 'mountain' needs at least one way to draw instances"),
    "a draw that is no function": Edit(
        '{"small": draw}', '{"small": 5}', r"draw\['small'\] of inputs is 5; it must be a function"
    ),
    "draws without names": Edit(
        '{"small": draw}', "[draw]", "draw of inputs is .*; it must be a dictionary of functions"
    ),
    "a draw that raises": Edit(
        '    """Draw lists of small values."""\n',
        "    [].pop()\n",
        r"inputs.draw\['small'\], asked for 2 of size 3, raises IndexError: pop from empty list \(mountain.py, line",
    ),
    "a draw that returns nothing": Edit(
        "    return lay_out(request",
        "    lay_out(request",
        r"inputs.draw\['small'\] returned None; it must return surpass.Instances",
    ),
    "a draw of other sizes": Edit(
        "(request.count, request.size)))",
        "(request.count, request.size + 1)))",
        r"draw\['small'\] returned 2 instances of the sizes",
    ),
    "a draw of too few": Edit(
        "(request.count, request.size)))",
        "(1, request.size)))",
        r"inputs.draw\['small'\] returned 1 instances .* asked for 2",
    ),
    "a draw of real items": Edit(
        "    return lay_out(request.stream",
        "    return lay_out(0.5 + request.stream",
        "items that are an array .* of float64; they",
    ),
    "items without rows": Edit(
        "np.full(count, size), items,", "np.full(count, size), items[0],", r"must be an array \[count, width\]"
    ),
    "sizes that are a number": Edit(
        "Instances(np.full(count, size),", "Instances(size,", r"sizes that are \d; they must be an array"
    ),
    "too few items": Edit(
        "Instances(np.full(count, size), items,", "Instances(np.full(count, size), items[:, 1:],", "says that it needs"
    ),
    "too few reals": Edit(
        "np.zeros((count, 2 + size)))", "np.zeros((count, 1)))", "1 reals for size .; memory.real_width says that it"
    ),
    "rows that are missing": Edit("items, np.zeros((count,", "items[:0], np.zeros((count,", "0 rows of items and"),
    "an enumeration that raises": Edit(
        '    """Yield every list of 0, 1 and 2."""\n', "    1 // 0\n", "inputs.small raises ZeroDivisionErr"
    ),
    "an enumeration of lists": Edit(
        "    yield lay_out(", "    yield list(", "inputs.small.instances returned .*; it must return surpass"
    ),
    "an enumeration without a count": Edit(
        "count=lambda size: 3**size", "count=3", "count of an enumeration is 3; it must be a func"
    ),
    "a reader that fails": Edit(
        "    (values,) = parts\n", "    (values, _) = parts\n", r"inputs.read does not read '\d', which inputs.write"
    ),
    "a reader that returns a list": Edit(
        "len(values))), ()\n",
        "len(values)))\n",
        "inputs.read returned .*; it must return an instance and a tuple of the texts",
    ),
    "a reader that is no function": Edit(
        "            read=read,", '            read="yes",', "read of inputs is 'yes'; it must be a func"
    ),
    "a writer that returns a number": Edit(
        '    return ",".join(map(str, ', "    return sum(map(int, ", "inputs.write returned \\d; it must return a text"
    ),
    "a writer that raises": Edit(
        '    return ",".join(', '    return None + ",".join(', "inputs.write raises TypeError: unsupported operand"
    ),
    "a find_wrong that raises": Edit(
        "!= items[k, :size].max()", "!= items[k, size + 9]", r"find_wrong raises IndexError: .*\(mountain.py, li"
    ),
    "a find_wrong that returns nothing": Edit(
        "    return wrong\n", "    pass\n", "find_wrong returned an array .* of object; it must return"
    ),
    "a find_wrong that returns one truth": Edit(
        "    return wrong\n", "    return wrong.any()\n", r"find_wrong returned an array \[\] of bool"
    ),
    "a find_wrong that counts": Edit(
        "    return wrong\n", "    return wrong * 1\n", r"find_wrong returned an array \[\d+\] of int64; it must"
    ),
    "a find_wrong that is no function": Edit(
        "find_wrong=find_wrong", "find_wrong=True", "find_wrong of task 'mountain' is True; it must"
    ),
    "a find_wrong with too few parameters": Edit(
        ", reals: NDArray[np.float64]\n", "\n", "find_wrong raises TypeError: .*takes 3 pos"
    ),
    "a kernel that prints": Edit(
        "    return state.registers[R.i] == state.registers[R.j]\n",
        "    print(1)\n    return state.registers[R.i] == state.registers[R.j]\n",
        r"'together' calls print \(mountain.py, line \d+\); a kernel must not",
    ),
    "a teacher of nothing": Edit(
        "@surpass.teacher(MOUNTAIN)", "@surpass.teacher(None)", "the task of a teacher is None; it must be"
    ),
    "a task without a find_wrong": Edit(
        "        find_wrong=find_wrong,\n",
        "",
        r"^surpass.Task needs find_wrong, which is left out \(mountain.py, line \d+\)$",
    ),
    "a field with a typo": Edit(
        "        find_wrong=find_wrong,\n",
        "        find_worng=find_wrong,\n",
        r"^surpass.Task (needs find_wrong|has no find_worng, perhaps find_wrong; it has: name, .*) .*line \d+\)$",
    ),
    "a name with a typo": Edit(
        "    state.reals[SCORE] = 1.0\n    return SOLVED\n",
        "    state.reals[SCORE] = 1.0\n    return SOVLED\n",
        r"instruction Stop: 'stop' names SOVLED, which is not defined, perhaps SOLVED \(mountain.py, line 107\)$",
    ),
    "a file that fails": Edit(
        "TABLE = (1, 2, 4)\n",
        "TABLE = 1 // 0\n",
        r"fails when it is run: ZeroDivisionError: .* \(mountain.py, line \d+\)",
    ),
    "a file with a syntax error": Edit(
        "TABLE = (1, 2, 4)\n", "TABLE = (1, 2\n", "fails when it is run: SyntaxError: .*mountain.py, line"
    ),
    "a file that ends the process": Edit(
        "TABLE = (1, 2, 4)\n", "TABLE = (1, 2, 4)\nraise SystemExit(3)\n", "fails when it is run: SystemExit"
    ),
    "a file that registers nothing": Edit(
        "MOUNTAIN = surpass.register_task(", "MOUNTAIN = (", "the task of a teacher|registers no task"
    ),
}

CLIMB = 'return do.Move(1, +1) if see("A[i] <= A[i+1]") else do.Stop()'
NEVER = 'if see("zone = last") and see("A[i] < A[i+1]"):\n'
TEACHERS = {
    "a condition with a typo": Edit(
        'see("A[i] <= A[i+1]")',
        'see("A[i] <= A[i+l]")',
        r"teacher:climb of task 'mountain': unknown condition 'A\[i\] <= A\[i\+l\]', perhaps A\[i\] <= A\[i\+1\]"
        r".*; known: .* \(mountain.py, line 204\)",
    ),
    "an instruction with a typo": Edit(
        "else do.Stop()",
        "else do.Stopp()",
        r"unknown instruction 'Stopp', perhaps Stop; known: .* \(mountain.py, line 204\)",
    ),
    "an operand too few": Edit(
        "do.Move(1, +1)",
        "do.Move(1)",
        r"unknown action 'Move\(1\)': 1 operand missing, by \(-1 or \+1\); known: Move\(v, by\), .*line 204\)",
    ),
    "an operand too many": Edit("do.Move(1, +1)", "do.Move(1, +1, 2)", "Move takes 2 operands, and 3 are given"),
    "an operand out of range": Edit("do.Move(1, +1)", "do.Move(1, 2)", r"'Move\(1, 2\)': by must be -1 or \+1; known"),
    "a register for an operand": Edit(
        "do.Move(1, +1)", "do.Move(R.i, +1)", r"v must be 1 or 2, and register 5 is written 1; known"
    ),
    "an action without brackets": Edit(
        "else do.Stop()",
        "else do.Stop",
        r"climb of task 'mountain' returns do.Stop without brackets; it must .* \(mountain.py, line 201\)",
    ),
    "a text": Edit("else do.Stop()", 'else "Stop"', r"returns 'Stop'; it must return an action, such as do.Move"),
    "a mistake where it never comes": Edit(
        CLIMB, f"{NEVER}        return do.Move(1)\n    {CLIMB}", r"1 operand missing, .* \(mountain.py, line 205\)"
    ),
    "a teacher that raises": Edit(
        "else do.Stop()", "else 1 // 0", r"climb of task 'mountain' raises ZeroDivisionError: .*line 204\)"
    ),
}

GROUPS = {
    "index": INDEX,
    "calls": CALLS,
    "time": TIME,
    "returns": RETURNS,
    "raises": RAISES,
    "shapes": SHAPES,
    "fields": FIELDS,
    "functions": FUNCTIONS,
    "teachers": TEACHERS,
}
CASES = {f"{group}: {case}": edit for group, edits in GROUPS.items() for case, edit in edits.items()}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Take a kernel to be endless sooner, and keep what is found in a folder of its own."""
    monkeypatch.setattr(rehearsal, "CALL_SECONDS", 0.25)
    monkeypatch.setattr(trial, "cache_folder", lambda: tmp_path / "cache")


def write(folder: Path, edit: Edit | None = None) -> Path:
    """Write the task with an edit into a folder, and return the file."""
    path = folder / "mountain.py"
    if edit is not None:
        assert GOOD.count(edit.old) == 1
    path.write_text(GOOD if edit is None else GOOD.replace(edit.old, edit.new))
    return path


def check_sentence(sentence: str, edit: Edit) -> None:
    """Check that a sentence says what is wrong, in one line that is not too long."""
    assert re.search(edit.said, sentence), sentence
    assert "\n" not in sentence
    assert len(sentence) < 400


def test_there_are_many_kinds_of_mistakes() -> None:
    assert len(CASES) >= 150
    assert len({edit.new for edit in CASES.values()}) >= 140


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_file_is_refused_when_it_is_loaded(case: str, tmp_path: Path) -> None:
    before = known_tasks(), set(declared_teachers())
    with pytest.raises(SurpassError) as refused:
        as_task(write(tmp_path, CASES[case]))
    check_sentence(str(refused.value), CASES[case])
    assert (known_tasks(), set(declared_teachers())) == before
    assert not list((tmp_path / "cache").rglob("mountain*"))


SAMPLE = ("index: a write far away", "calls: a call in a loop", "time: an instruction that does not end")
"""The cases that go through a process of their own in every run: compiled, these three end or hang it."""


@pytest.mark.parametrize("case", CASES if LONG else SAMPLE)
def test_a_command_ends_with_the_sentence_and_nothing_else(case: str, tmp_path: Path) -> None:
    path = write(tmp_path, CASES[case])
    words = {
        "evaluate": ("teacher:climb", "--task", str(path), "--sizes", "5"),
        "learn": (str(path), "--out", str(tmp_path / "run")),
    }
    command = "learn" if len(case) % 2 else "evaluate"
    environment = {**os.environ, "SURPASS_CACHE_DIR": str(tmp_path / "cache")}
    call = [sys.executable, "-m", "surpass", command, *words[command]]
    ran = subprocess.run(call, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 2, ran.stderr
    assert "Traceback" not in ran.stderr + ran.stdout
    *before, sentence = ran.stderr.splitlines()
    assert sentence.startswith("surpass: ")
    check_sentence(sentence.removeprefix("surpass: "), CASES[case])
    assert all("trying the kernels" in line for line in before)


def test_a_teacher_without_an_action_where_it_comes_to_is_pointed_out_each_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path, Edit(" else do.Stop()", " else None", ""))
    for _ in range(2):
        try:
            as_task(path)
        finally:
            forget_task_file(path)
    first, second = (message for message in caplog.messages if "teacher" in message)
    assert first == second
    said = r"teacher:climb .* returns no action on an instance of size \d.*, for .* \(mountain.py, line 201"
    assert re.match(said, first)


def test_a_teacher_without_an_action_where_it_never_comes_is_right(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path, Edit(CLIMB, f"{NEVER}        return None\n    {CLIMB}", ""))
    try:
        as_task(path)
    finally:
        forget_task_file(path)
    assert not any("teacher" in message for message in caplog.messages)


def test_a_right_file_is_tried_once_and_again_when_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    ask = trial._ask_copy

    def count(task: surpass.Task) -> dict[str, str]:
        asked.append(task.name)
        return ask(task)

    monkeypatch.setattr(trial, "_ask_copy", count)
    path = write(tmp_path)
    try:
        for _ in range(3):
            as_task(path)
            forget_task_file(path)
        assert len(asked) == 1
        # Not a kernel, but a number that a plain function draws by.
        path.write_text(GOOD.replace(".integers(0, 9,", ".integers(0, 7,"))
        as_task(path)
        assert len(asked) == 2
    finally:
        forget_task_file(path)


def test_a_file_is_tried_again_when_one_that_it_imports_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    table = "TABLE = (1, 2, 4)\n"
    assert GOOD.count(table) == 1
    path = tmp_path / "mountain.py"
    path.write_text(GOOD.replace(table, "from heights import pick\n").replace("TABLE[i % 3]", "pick(i % 3)"))
    helper = "import surpass\n\n\n@surpass.kernel\ndef pick(k):\n    return (1, 2, 4)[k]\n"
    try:
        (tmp_path / "heights.py").write_text(helper)
        as_task(path)
        forget_task_file(path)
        monkeypatch.delitem(sys.modules, "heights")
        (tmp_path / "heights.py").write_text(helper.replace("(1, 2, 4)", "(1, 2)") + "# longer\n")
        with pytest.raises(
            SurpassError, match=r"'pick' raises IndexError: tuple index .* \(heights.py, line 6\), in Swap"
        ):
            as_task(path)
    finally:
        forget_task_file(path)
        sys.modules.pop("heights", None)


RIGHT = {
    "a lambda as a kernel": (
        'Instruction("Swap", does=swap)',
        'Instruction("Swap", does=kernel(lambda state: swap(state)))',
    ),
    "the sign of a difference": ("== state.registers[R.j]\n", "== (state.items[0] > 3) - (state.items[0] < 3)\n"),
    "numbers that wrap": (
        WALK,
        "    state.registers[R.answer] = 3**40 + step\n    state.registers[R.answer] *= 3**39\n" + WALK,
    ),
    "a part of the registers": (BEGIN, "    own = state.registers[R.i :]\n    own[2] = -1\n    own[0] = 0\n"),
    "a copy in a feature": (ZONE, "    copy = state.items.copy()\n    copy[0] = 7\n" + ZONE),
    "sums of arrays": ("        return 0\n", "        return 0 * int(np.sum(state.items[:2] + 1))\n"),
    "a walk through all items": (
        WALK,
        WALK + "    for x in state.items:\n        state.registers[R.answer] = -(x > 0)\n",
    ),
    "a part that is empty": (WALK, WALK + "    for x in state.items[9:]:\n        state.registers[R.answer] = x\n"),
    "a long loop": (BEGIN, BEGIN + "    for k in range(20_000):\n        state.registers[R.answer] = -1\n"),
    "truths as numbers": (WALK, WALK + "    state.registers[R.answer] = -(state.items[0] == 0) * 1\n"),
    "a draw that knows no small sizes": (
        '    """Draw lists of small values."""\n',
        "    if request.size < 3:\n        raise ValueError('too small')\n",
    ),
}
"""Edits that leave the task right, some of them where plain Python and compiled code differ."""


@pytest.mark.parametrize("case", RIGHT)
def test_a_right_file_is_not_refused(case: str, tmp_path: Path) -> None:
    path = write(tmp_path, Edit(*RIGHT[case], ""))
    try:
        assert as_task(path).name == "mountain"
    finally:
        forget_task_file(path)


def test_a_file_that_was_mended_is_loaded_in_the_same_process(tmp_path: Path) -> None:
    with pytest.raises(SurpassError, match="'swap' writes items"):
        as_task(write(tmp_path, INDEX["a write far away"]))
    path = write(tmp_path)
    try:
        assert as_task(path).name == "mountain"
    finally:
        forget_task_file(path)


def test_a_task_that_was_registered_from_python_is_tried_before_it_runs(tmp_path: Path) -> None:
    names: dict[str, object] = {"__name__": "mountain_in_python"}
    edit = INDEX["a write far away"]
    exec(compile(GOOD.replace(edit.old, edit.new), str(tmp_path / "session.py"), "exec"), names)
    task = names["MOUNTAIN"]
    assert isinstance(task, surpass.Task)
    try:
        with pytest.raises(SurpassError, match=r"'swap' writes items.* \(session.py, line \d+\), in Swap\(\)"):
            surpass.evaluate("teacher:climb", sizes=[5])
    finally:
        forget_task(task)
        forget_teachers("mountain_in_python")


@pytest.mark.parametrize("task", PAPER_TASKS, ids=lambda task: task.name)
def test_the_packages_own_tasks_are_not_tried_and_would_be_found_good(
    task: surpass.Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert trial._ask_copy(task) == {"kind": "good", "said": ""}
    monkeypatch.setattr(trial, "_ask_copy", lambda task: pytest.fail("it was tried"))
    monkeypatch.setattr(trial, "check_shapes", lambda task: pytest.fail("it was looked at"))
    trial.try_kernels(task)


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        ("os.kill(os.getpid(), 11)", "the trial of the kernels of task 'mountain' was ended by signal SIGSEGV"),
        ("os._exit(0)", "the trial of the kernels of task 'mountain' ended without an answer"),
        ("time.sleep(60)", "the trial of the kernels of task 'mountain' gave no answer within 1 seconds"),
    ],
)
def test_a_trial_that_says_nothing_is_a_refusal(
    ending: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "MOST_SECONDS", 1.0)
    path = tmp_path / "mountain.py"
    text = '    """Draw lists of small values."""\n'
    assert GOOD.count(text) == 1
    path.write_text(GOOD.replace(text, f"    import os, time\n    {ending}\n"))
    with pytest.raises(SurpassError, match=said):
        as_task(path)
