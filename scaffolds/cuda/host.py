"""The self-contained CUDA program of a candidate: the form that is archived and exported.

`nvcc` compiles the text; the candidate's source stands in it verbatim, launcher included. The program
has the calling convention of device `cpu` (without the plan, which its own launcher makes)."""

from collections.abc import Mapping

from semantics.program import Program
from semantics.task import Task, Workload

CALLING_CONVENTION = (
    "PROGRAM [--in NAME=FILE]... [--out NAME=FILE]... [--times FILE] [--warmup N] [--repeats N]; inputs are "
    "raw elements; outputs are raw elements with 4096 guard bytes before and behind; a line of times is the "
    "milliseconds of one call between CUDA events, the second-level cache flushed before"
)

_MAIN = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define KSHELL_CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { \
    fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e_)); exit(3); } } while (0)

#ifndef KSHELL_GUARD
#define KSHELL_GUARD 4096
#endif
static const size_t kshell_guard = KSHELL_GUARD;
// Without a fill, a tool that looks for uninitialised reads sees those of outputs too.
#ifndef KSHELL_FILL
#define KSHELL_FILL 1
#endif
static const unsigned kshell_poison = 0x7FC0DEADu;

struct kshell_buffer { const char* name; bool output; size_t bytes; char* device; };

static void kshell_fill(char* at, size_t bytes) {
    if (!KSHELL_FILL) return;
    std::vector<unsigned> words(bytes / 4 + 1, kshell_poison);
    KSHELL_CHECK(cudaMemcpy(at, words.data(), bytes, cudaMemcpyHostToDevice));
}

static std::vector<char> kshell_read(const std::string& path, size_t bytes) {
    std::vector<char> data(bytes);
    FILE* file = fopen(path.c_str(), "rb");
    if (!file || fread(data.data(), 1, bytes, file) != bytes) {
        fprintf(stderr, "%s: cannot read %zu bytes\n", path.c_str(), bytes);
        exit(2);
    }
    fclose(file);
    return data;
}

static void* kshell_workspace(size_t bytes) {
    void* memory = nullptr;
    KSHELL_CHECK(cudaMalloc(&memory, bytes));
    return memory;
}
// One buffer a place in the source, kept for every call.
#define KSHELL_WORKSPACE(type, count) ([&]() -> type* { \
    static void* kept = kshell_workspace(sizeof(type) * (count)); return static_cast<type*>(kept); }())
"""

_BODY = r"""
int main(int argc, char** argv) {
    long warmup = 2, repeats = 1;
    std::string times;
    std::vector<std::pair<std::string, std::string>> in, out;
    for (int a = 1; a + 1 < argc; a += 2) {
        std::string flag = argv[a], value = argv[a + 1];
        size_t cut = value.find('=');
        if (flag == "--in") in.push_back({value.substr(0, cut), value.substr(cut + 1)});
        else if (flag == "--out") out.push_back({value.substr(0, cut), value.substr(cut + 1)});
        else if (flag == "--times") times = value;
        else if (flag == "--warmup") warmup = atol(value.c_str());
        else if (flag == "--repeats") repeats = atol(value.c_str());
        else { fprintf(stderr, "unknown option %s\n", flag.c_str()); return 2; }
    }
    for (auto& b : kshell_buffers) {
        char* all = static_cast<char*>(kshell_workspace(b.bytes + 2 * kshell_guard));
        kshell_fill(all, b.bytes + 2 * kshell_guard);
        b.device = all + kshell_guard;
        for (auto& p : in) if (p.first == b.name) {
            std::vector<char> data = kshell_read(p.second, b.bytes);
            KSHELL_CHECK(cudaMemcpy(b.device, data.data(), b.bytes, cudaMemcpyHostToDevice));
        }
    }
    int device = 0, l2 = 0;
    KSHELL_CHECK(cudaGetDevice(&device));
    KSHELL_CHECK(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device));
    char* flush = static_cast<char*>(kshell_workspace(2 * size_t(l2) + 1));
    std::vector<float> spent;
    cudaEvent_t begin, end;
    KSHELL_CHECK(cudaEventCreate(&begin));
    KSHELL_CHECK(cudaEventCreate(&end));
    for (long r = -warmup; r < repeats; ++r) {
        for (auto& b : kshell_buffers) if (b.output) kshell_fill(b.device, b.bytes);
        KSHELL_CHECK(cudaMemsetAsync(flush, int(r & 255), 2 * size_t(l2) + 1));
        KSHELL_CHECK(cudaEventRecord(begin));
        kshell_call();
        KSHELL_CHECK(cudaGetLastError());
        KSHELL_CHECK(cudaEventRecord(end));
        KSHELL_CHECK(cudaDeviceSynchronize());
        float ms = 0;
        KSHELL_CHECK(cudaEventElapsedTime(&ms, begin, end));
        if (r >= 0) spent.push_back(ms);
    }
    if (!times.empty()) {
        FILE* file = fopen(times.c_str(), "w");
        if (!file) { fprintf(stderr, "%s: cannot write\n", times.c_str()); return 2; }
        for (float ms : spent) fprintf(file, "%.6f\n", ms);
        fclose(file);
    }
    for (auto& p : out) for (auto& b : kshell_buffers) if (p.first == b.name) {
        std::vector<char> data(b.bytes + 2 * kshell_guard);
        KSHELL_CHECK(cudaMemcpy(data.data(), b.device - kshell_guard, data.size(), cudaMemcpyDeviceToHost));
        FILE* file = fopen(p.second.c_str(), "wb");
        if (!file || fwrite(data.data(), 1, data.size(), file) != data.size()) {
            fprintf(stderr, "%s: cannot write\n", p.second.c_str());
            return 2;
        }
        fclose(file);
    }
    return 0;
}
"""


def host_program(program: Program, source: str, task: Task, workload: Workload) -> str:
    """Text for nvcc at one workload. `source` is the candidate's own text."""
    plan = program.plan(task, workload)
    outputs = {t.name for t in task.outputs}
    tensors = [t.name for t in (*task.inputs, *task.outputs)]
    sizes: Mapping[str, tuple[int, str]] = plan.buffers
    rows = []
    for name in tensors:
        count, element = sizes[name]
        written = str(name in outputs).lower()
        rows.append(f'    {{"{name}", {written}, {count}ull * sizeof({element}), nullptr}},')
    launchers = program.module.functions("host")
    arguments = []
    for parameter in launchers[0].params:
        if parameter.name in tensors:
            index = tensors.index(parameter.name)
            arguments.append(f"reinterpret_cast<float*>(kshell_buffers[{index}].device)")
        elif parameter.name in workload.axes:
            arguments.append(str(workload.axes[parameter.name]))
        else:
            arguments.append(f"{task.scalars[parameter.name]!r}f")
    return "\n".join(
        [
            f'#pragma message "{CALLING_CONVENTION}"',
            "#include <cfloat>",
            "#include <cmath>",
            _MAIN,
            "// ---- the candidate, verbatim",
            source.rstrip(),
            "// ---- end of the candidate",
            "static kshell_buffer kshell_buffers[] = {",
            *rows,
            "};",
            f"static void kshell_call() {{ {launchers[0].name}({', '.join(arguments)}); }}",
            _BODY,
        ]
    )
