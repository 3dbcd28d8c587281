"""Lowered programs against the host compiler: random integer programs with control flow give the same
numbers on a strict evaluator of the core IR and compiled as C++, whenever they run without a fault."""

import random
import re
import shutil
import subprocess
from pathlib import Path

from semantics.parser import parse
from semantics.printer import print_module
from semantics.program import load
from semantics.span import Refusal
from semantics.task import Task, Tensor
from tests.semantics.corpus_tasks import make_task
from tests.semantics.strict_machine import Fault, run_strictly

PROGRAMS, THREADS, CELLS = 120, 6, 5
TYPES = {"a": "int", "b": "unsigned int", "c": "long long", "d": "size_t", "p": "bool"}
LITERALS = ["0", "1", "2", "3", "7", "31", "5u", "11LL", "9ULL", "0x10", "true", "-1", "-4"]
PRELUDE = """#include <cstddef>
#include <cstdio>
#include <algorithm>
using std::abs;
struct { unsigned x, y, z; } threadIdx;
template <class A, class B> auto max(A a, B b) { return a > b ? a : b; }
template <class A, class B> auto min(A a, B b) { return a < b ? a : b; }
#define __global__ static
#define __device__ static
"""


class Generator:
    """Random statements over five variables of different types; loops are short, nesting is bounded."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.loops = 0
        self.fresh = 0

    def pick(self, *options: str) -> str:
        return self.random.choice(options)

    def expr(self, depth: int = 3) -> str:
        if depth == 0 or self.random.random() < 0.2:
            return self.pick(*TYPES, "t", *LITERALS)
        a, b = self.expr(depth - 1), self.expr(depth - 1)
        match self.random.randrange(12):
            case 0 | 1 | 2 | 3:
                return f"({a} {self.pick('+', '-', '*', '/', '%', '+', '-')} {b})"
            case 4:
                return f"({a} {self.pick('&', '|', '^')} {b})"
            case 5:
                return f"({a} {self.pick('<<', '>>')} {self.pick('0', '1', '2', '5', 't')})"
            case 6:
                return f"({a} {self.pick('<', '<=', '>', '>=', '==', '!=')} {b})"
            case 7:
                return f"({a} {self.pick('&&', '||')} {b})"
            case 8:
                return f"({a} ? {b} : {self.expr(depth - 1)})"
            case 9:
                return f"{self.pick('-', '!', '+', '~')}({a})"
            case 10:
                return f"({self.pick('int', 'unsigned', 'long long', 'size_t', 'bool')})({a})"
            case _:
                return self.pick(f"twist({a}, (int)({b}))", f"abs((int)({a}))", f"pick({a} > 2)")

    def block(self, depth: int) -> str:
        return "{ " + " ".join(self.statement(depth) for _ in range(self.random.randint(1, 3))) + " }"

    def statement(self, depth: int = 3) -> str:
        name = self.pick(*TYPES)
        number = self.pick("a", "b", "c", "d")
        choice = self.random.randrange(14) if depth else self.random.randrange(5)
        match choice:
            case 0 | 1:
                return f"{name} = {self.expr()};"
            case 2:
                return f"{number} {self.pick('+=', '-=', '*=', '/=', '%=', '^=', '|=', '&=')} {self.expr(2)};"
            case 3:
                return self.pick(
                    f"{number}++;", f"--{number};", f"{name} = {number}++ % 5 + {self.pick('t', '2')};"
                )
            case 4:
                return f"{name} = {number} = {self.expr(2)};"
            case 5 | 6:
                other = f" else {self.block(depth - 1)}" if self.random.random() < 0.5 else ""
                return f"if ({self.expr(2)}) {self.block(depth - 1)}{other}"
            case 7 | 8:
                return self.loop(depth)
            case 9 if self.loops:
                return f"if ({self.expr(2)}) {self.pick('break', 'continue')};"
            case 10 if self.loops:
                return f"if ({self.expr(2)}) {{ {number} += 3; {self.pick('break', 'continue')}; }}"
            case 11:
                return f"if ({self.expr(2)}) {{ {self.store()} return; }}"
            case 12:
                target = f"m[{self.pick('0', '1', '2', 't % 3')}]"
                return f"{target} {self.pick('=', '+=', '-=')} (int)({self.expr(2)});"
            case _:
                return f"{name} = m[{self.pick('0', '1', '2', '(t + 1) % 3')}];"

    def loop(self, depth: int) -> str:
        self.loops += 1
        self.fresh += 1
        i, body = f"i{self.fresh}", self.block(depth - 1)
        self.loops -= 1
        return self.pick(
            f"for (int {i} = 0; {i} < {self.pick('3', 't')}; ++{i}) {body}",
            f"for (unsigned {i} = 8; {i} > 0; {i} >>= 1) {body}",
            f"{{ int {i} = 3; while ({i}-- > 0) {body} }}",
            f"{{ int {i} = 0; do {body} while (++{i} < {self.pick('2', 't')}); }}",
            f"for (int {i} = 0, j = 4; {i} < j; {i}++, j--) {{ {body} }}",
        )

    def store(self) -> str:
        names = [*TYPES, "m[0]", "m[1]", "m[2]"]
        return " ".join(f"y[{CELLS} * t + {k}] = (int)({v} % 9973);" for k, v in enumerate(names[:CELLS]))

    def source(self, name: str) -> str:
        body = " ".join(self.statement() for _ in range(4))
        return f"""__device__ int twist(int v, int k) {{
    if (k > 4) return v - k;
    for (int i = 0; i < 3; ++i) {{ if (i == k) return v + 10 * i; v += i; }}
    return v;
}}
__device__ int pick(bool first) {{ return first ? 3 : -2; }}
__global__ void {name}(const int* x, int* y, int n) {{
    const int t = threadIdx.x;
    int a = t - 2;
    unsigned b = t * 3;
    long long c = x[t];
    size_t d = n;
    bool p = t > 1;
    int m[3] = {{t, 2, -1}};
    {body}
    {self.store()}
}}
void launch(const int* x, int* y, int n) {{ {name}<<<1, {THREADS}>>>(x, y, n); }}
"""


def _task() -> Task:
    task = make_task("random", {"n": 17}, {}, {})
    return task.model_copy(
        update={
            "inputs": (Tensor(name="x", shape=(THREADS,), dtype="int32"),),
            "outputs": (Tensor(name="y", shape=(THREADS * CELLS,), dtype="int32"),),
        }
    )


X = [5, -7, 100, 0, 65536, -1]


def _interpreted(source: str) -> list[int] | None:
    """The numbers a program leaves, None when it has a fault (overflow, division by zero, ...)."""
    task = _task()
    try:
        program = load(source)
    except Refusal as refusal:
        assert refusal.reason in ("division by zero",) or "without an order" in refusal.reason, source
        return None
    (call,) = program.plan(task, task.workload()).calls
    try:
        memory = run_strictly(call, {"x": X}, THREADS)
    except Fault:
        return None
    return [memory["y", k] for k in range(THREADS * CELLS)]


def _compiled(sources: list[str], folder: Path) -> list[list[int]]:
    parts = [PRELUDE]
    calls = []
    for k, source in enumerate(sources):
        body = re.sub(r"void launch\(.*", "", source)
        parts.append(f"namespace program_{k} {{\n{body}\n}}")
        calls.append(f"run(program_{k}::k{k});")
    shown = ", ".join(str(v) for v in X)
    parts.append(f"""
static void run(void (*kernel)(const int*, int*, int)) {{
    static const int x[] = {{{shown}}};
    int y[{THREADS * CELLS}];
    for (threadIdx.x = 0; threadIdx.x < {THREADS}; ++threadIdx.x) kernel(x, y, 17);
    for (int v : y) printf("%d ", v);
    puts("");
}}
int main() {{ {" ".join(calls)} }}""")
    file, program = folder / "programs.cpp", folder / "programs"
    file.write_text("\n".join(parts))
    compiler = shutil.which("g++") or "c++"
    subprocess.run(
        [compiler, "-std=c++17", "-O0", "-w", "-fno-strict-overflow", str(file), "-o", str(program)],
        check=True,
    )
    done = subprocess.run([str(program)], capture_output=True, text=True, check=True, timeout=60)
    return [[int(v) for v in line.split()] for line in done.stdout.splitlines()]


def test_random_programs_agree_with_the_compiler(tmp_path: Path) -> None:
    sources, expected = [], []
    for seed in range(PROGRAMS):
        source = Generator(seed).source(f"k{len(sources)}")
        numbers = _interpreted(source)
        if numbers is not None:
            sources.append(source)
            expected.append(numbers)
    assert len(sources) >= 20
    printed = [print_module(parse(source)) for source in sources]
    for got, numbers, source in zip(_compiled(sources, tmp_path), expected, sources, strict=True):
        assert got == numbers, source
    printed = [re.sub(r"void launch\([^{]*\{[^}]*\}", "", text) for text in printed]
    assert _compiled(printed, tmp_path) == expected
