// The host side of a candidate: reads a plan and the inputs named on the command line, allocates, launches,
// times, writes what came out. It judges nothing: expected values exist only in the judging process.
#include "runtime.h"

#include <atomic>
#include <condition_variable>
#include <errno.h>
#include <fcntl.h>
#include <mutex>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <sys/mman.h>
#if defined(__linux__)
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif
#include <thread>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

extern "C" char __executable_start;

void kshell_fault(const char* name, int line, const kshell_thread* at, const char* message) {
    char text[1024], block[40] = "", thread[40] = "";
    if (at) {
        snprintf(block, sizeof block, "%u,%u,%u", at->bid[0], at->bid[1], at->bid[2]);
        snprintf(thread, sizeof thread, "%u,%u,%u", at->tid[0], at->tid[1], at->tid[2]);
    }
    int n = snprintf(text, sizeof text, "kshell-fault\t%s\t%d\t%s\t%s\t%s\n", name, line, block, thread, message);
    if (n > (int)sizeof text) n = (int)sizeof text;
    if (n > 0) (void)!write(2, text, (size_t)n);
    _exit(70);
}

namespace {

// Every buffer is guard + red zone + data + red zone + guard; the guards cannot be touched.
constexpr size_t page = 4096;
constexpr size_t guard = 16 << 20;
constexpr size_t red_zone = 4096;
// A quiet NaN whose payload no arithmetic makes.
constexpr uint32_t poison = 0x7fc0dead;

struct Buffer {
    std::string name;
    char role;  // i(nput), o(utput), w(orkspace)
    size_t bytes;
    char* map = nullptr;
    size_t mapped = 0;
    char* data = nullptr;  // of the first set; set k is at data_of(k)
    std::vector<char*> sets;
};

struct Call {
    unsigned kernel;
    kshell_launch launch;
    size_t shared;
    std::vector<kshell_value> args;
    std::vector<int> pointers;  // buffer index of each argument, -1 for a scalar
};

struct Job {
    std::vector<Buffer> buffers;
    std::vector<Call> calls;
    unsigned sets = 1, warmup = 0, repeats = 1, threads = 1;
    bool fast = true;
    Order order = Order::forward;
    uint64_t seed = 0;
    const char* times = nullptr;
    std::vector<std::pair<std::string, std::string>> inputs, outputs;
};

Job job;

[[noreturn]] void usage(const std::string& message) {
    fprintf(stderr, "kshell-program: %s\n", message.c_str());
    exit(64);
}

// ---------------------------------------------------------------- buffers

char* map_guarded(size_t bytes) {
    size_t inner = (red_zone + bytes + red_zone + page - 1) / page * page;
    void* p = mmap(nullptr, inner + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) usage("cannot allocate a buffer of " + std::to_string(bytes) + " bytes");
    char* start = static_cast<char*>(p);
    if (mprotect(start + guard, inner, PROT_READ | PROT_WRITE)) usage("cannot allocate a buffer of " + std::to_string(bytes) + " bytes");
    return start + guard + red_zone;
}

void fill_poison(char* from, size_t bytes) {
    size_t n = bytes / 4;
    uint32_t* w = reinterpret_cast<uint32_t*>(from);
    for (size_t i = 0; i < n; ++i) w[i] = poison;
    memset(from + n * 4, 0xad, bytes % 4);
}

// Order-sensitive sum over 4-byte words; the judge computes the same from the outputs it has checked.
uint64_t digest(const char* data, size_t bytes) {
    const uint32_t* w = reinterpret_cast<const uint32_t*>(data);
    uint64_t sum = 0;
    for (size_t i = 0; i < bytes / 4; ++i) sum += ((uint64_t)w[i] + 0x9e3779b97f4a7c15ull * (i + 1)) * ((uint64_t)w[i] | 1);
    return sum;
}

void read_all(const std::string& path, const std::vector<char*>& parts, size_t bytes) {
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) usage("cannot read " + path + ": " + strerror(errno));
    for (char* part : parts) {
        size_t done = 0;
        while (done < bytes) {
            ssize_t n = read(fd, part + done, bytes - done);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) usage(path + " is shorter than its buffer");
            done += (size_t)n;
        }
    }
    close(fd);
}

// Writes every set with its red zones.
void write_all(const std::string& path, const std::vector<char*>& parts, size_t bytes) {
    int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) usage("cannot write " + path + ": " + strerror(errno));
    for (char* part : parts) {
        const char* from = part - red_zone;
        size_t left = bytes + 2 * red_zone;
        while (left) {
            ssize_t n = write(fd, from, left);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) usage("cannot write " + path + ": " + strerror(errno));
            from += n;
            left -= (size_t)n;
        }
    }
    close(fd);
}

int find_buffer(const std::string& name) {
    for (size_t i = 0; i < job.buffers.size(); ++i)
        if (job.buffers[i].name == name) return (int)i;
    usage("no buffer named " + name);
}

// ---------------------------------------------------------------- plan and command line

// The plan is lines of words:
//   buffer NAME input|output|workspace BYTES
//   call KERNEL GX GY GZ BX BY BZ SHARED DYNAMIC COUNT ARG...      with ARG = @NAME, an integer, or f:HEXFLOAT
void read_plan(const char* path) {
    FILE* f = fopen(path, "re");
    if (!f) usage(std::string("cannot read the plan ") + path);
    char word[256], role[32];
    while (fscanf(f, "%255s", word) == 1) {
        if (!strcmp(word, "buffer")) {
            size_t bytes;
            if (fscanf(f, "%255s %31s %zu", word, role, &bytes) != 3) usage("bad buffer line in the plan");
            job.buffers.push_back({word, role[0], bytes, nullptr, 0, nullptr, {}});
        } else if (!strcmp(word, "call")) {
            Call c{};
            unsigned count;
            unsigned* g = c.launch.grid;
            unsigned* b = c.launch.block;
            if (fscanf(f, "%u %u %u %u %u %u %u %zu %zu %u", &c.kernel, &g[0], &g[1], &g[2], &b[0], &b[1], &b[2], &c.shared, &c.launch.dynamic, &count) != 10)
                usage("bad call line in the plan");
            if (c.kernel >= kshell_kernel_count) usage("the plan calls a kernel that is not there");
            uint64_t threads = (uint64_t)b[0] * b[1] * b[2];
            if (!threads || threads > kshell_max_threads || !g[0] || !g[1] || !g[2]) usage("bad launch geometry in the plan");
            for (unsigned i = 0; i < count; ++i) {
                if (fscanf(f, "%255s", word) != 1) usage("a call line of the plan is too short");
                kshell_value v{};
                int at = -1;
                if (word[0] == '@')
                    at = find_buffer(word + 1);
                else if (word[0] == 'f')
                    v.real = strtof(word + 2, nullptr);
                else
                    v.integer = word[0] == '-' ? strtoll(word, nullptr, 10) : (int64_t)strtoull(word, nullptr, 10);
                c.args.push_back(v);
                c.pointers.push_back(at);
            }
            job.calls.push_back(std::move(c));
        } else {
            usage(std::string("unknown word in the plan: ") + word);
        }
    }
    fclose(f);
    if (job.calls.empty()) usage("the plan has no call");
}

std::pair<std::string, std::string> split(const char* text) {
    const char* eq = strchr(text, '=');
    if (!eq) usage(std::string("expected NAME=FILE, got ") + text);
    return {std::string(text, eq), std::string(eq + 1)};
}

void read_command_line(int argc, char** argv) {
    const char* plan = nullptr;
    for (int i = 1; i < argc; i += 2) {
        std::string option = argv[i];
        if (i + 1 >= argc) usage(option + " needs a value");
        const char* value = argv[i + 1];
        if (option == "--plan") plan = value;
        else if (option == "--in") job.inputs.push_back(split(value));
        else if (option == "--out") job.outputs.push_back(split(value));
        else if (option == "--times") job.times = value;
        else if (option == "--sets") job.sets = (unsigned)atoi(value);
        else if (option == "--warmup") job.warmup = (unsigned)atoi(value);
        else if (option == "--repeats") job.repeats = (unsigned)atoi(value);
        else if (option == "--threads") job.threads = (unsigned)atoi(value);
        else if (option == "--seed") job.seed = strtoull(value, nullptr, 10);
        else if (option == "--order") {
            std::string o = value;
            job.fast = o == "fast";
            if (o == "reverse") job.order = Order::reverse;
            else if (o == "random") job.order = Order::random;
            else if (o != "fast" && o != "forward") usage("unknown order " + o);
        } else usage("unknown option " + option);
    }
    if (!plan) usage("--plan FILE is missing");
    if (!job.sets || !job.repeats || !job.threads) usage("--sets, --repeats and --threads start at 1");
    read_plan(plan);
}

// ---------------------------------------------------------------- launching

struct Pool {
    std::vector<Worker*> workers;
    std::vector<std::thread> threads;
    std::mutex lock;
    std::condition_variable wake, done;
    const Call* call = nullptr;
    uint64_t generation = 0, blocks = 0, chunk = 1;
    std::atomic<uint64_t> next{0};
    unsigned busy = 0;
    bool stop = false;
};

Pool pool;

void run_range(Worker* w, const Call& c, uint64_t first, uint64_t last, uint64_t blocks) {
    const kshell_kernel& k = kshell_kernels[c.kernel];
    if (job.fast && k.flat) {
        k.flat(&c.launch, kshell_worker_shared(w), first, last);
        return;
    }
    uint64_t gx = c.launch.grid[0], gy = c.launch.grid[1];
    for (uint64_t i = first; i < last; ++i) {
        uint64_t at = job.order == Order::forward ? i : blocks - 1 - i;
        unsigned bid[3] = {(unsigned)(at % gx), (unsigned)(at / gx % gy), (unsigned)(at / gx / gy)};
        if (!job.fast) fill_poison(kshell_worker_shared(w), c.shared);
        if (kshell_check_block) kshell_check_block(kshell_worker_shared(w));
        kshell_run_block(w, k, c.launch, bid);
    }
}

void take_chunks(Worker* w, const Call& c) {
    for (;;) {
        uint64_t first = pool.next.fetch_add(pool.chunk);
        if (first >= pool.blocks) return;
        uint64_t last = first + pool.chunk < pool.blocks ? first + pool.chunk : pool.blocks;
        run_range(w, c, first, last, pool.blocks);
    }
}

void worker_loop(unsigned index) {
    uint64_t seen = 0;
    for (;;) {
        const Call* call;
        {
            std::unique_lock<std::mutex> hold(pool.lock);
            pool.wake.wait(hold, [&] { return pool.stop || pool.generation != seen; });
            if (pool.stop) return;
            seen = pool.generation;
            call = pool.call;
        }
        take_chunks(pool.workers[index], *call);
        std::lock_guard<std::mutex> hold(pool.lock);
        if (--pool.busy == 0) pool.done.notify_one();
    }
}

void launch(const Call& c) {
    uint64_t blocks = (uint64_t)c.launch.grid[0] * c.launch.grid[1] * c.launch.grid[2];
    if (pool.threads.empty() || blocks == 1) {
        run_range(pool.workers[0], c, 0, blocks, blocks);
        return;
    }
    {
        std::lock_guard<std::mutex> hold(pool.lock);
        pool.call = &c;
        pool.blocks = blocks;
        pool.next = 0;
        pool.chunk = blocks / (pool.workers.size() * 4) + 1;
        pool.busy = (unsigned)pool.threads.size();
        pool.generation += 1;
    }
    pool.wake.notify_all();
    take_chunks(pool.workers[0], c);
    std::unique_lock<std::mutex> hold(pool.lock);
    pool.done.wait(hold, [] { return pool.busy == 0; });
}

void start_pool() {
    for (unsigned i = 0; i < job.threads; ++i) pool.workers.push_back(kshell_worker_create(job.order, !job.fast, job.seed + i));
    for (unsigned i = 1; i < job.threads; ++i) pool.threads.emplace_back(worker_loop, i);
}

void stop_pool() {
    {
        std::lock_guard<std::mutex> hold(pool.lock);
        pool.stop = true;
    }
    pool.wake.notify_all();
    for (std::thread& t : pool.threads) t.join();
    for (Worker* w : pool.workers) kshell_worker_destroy(w);
}

// ---------------------------------------------------------------- one run

void bind(unsigned set) {
    for (Call& c : job.calls) {
        for (size_t i = 0; i < c.args.size(); ++i)
            if (c.pointers[i] >= 0) {
                const Buffer& b = job.buffers[(size_t)c.pointers[i]];
                c.args[i].pointer = b.sets[b.role == 'w' ? 0 : set];
            }
        c.launch.args = c.args.data();
    }
}

void poison_outputs(unsigned set) {
    for (Buffer& b : job.buffers)
        if (b.role != 'i') fill_poison(b.sets[b.role == 'w' ? 0 : set], b.bytes);
}

uint64_t run_once(unsigned set) {
    bind(set);
    poison_outputs(set);
    timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (const Call& c : job.calls) {
        if (kshell_check_launch) kshell_check_launch();
        launch(c);
    }
    clock_gettime(CLOCK_MONOTONIC, &b);
    if (kshell_check_launch) kshell_check_launch();
    return (uint64_t)(b.tv_sec - a.tv_sec) * 1000000000ull + (uint64_t)b.tv_nsec - (uint64_t)a.tv_nsec;
}

uint64_t digest_outputs(unsigned set) {
    uint64_t sum = 0;
    for (const Buffer& b : job.buffers)
        if (b.role == 'o') sum = sum * 0x100000001b3ull + digest(b.sets[set], b.bytes);
    return sum;
}

// Turns a fault of the hardware into a named one.
void on_signal(int signal, siginfo_t* info, void* context) {
    const kshell_thread* at = kshell_current();
    char text[300];
#if defined(__x86_64__) && defined(REG_RIP)
    if (at) {
        const char* place = reinterpret_cast<const char*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
        int n = snprintf(text, sizeof text, "kshell-place\t%zx\t%u,%u,%u\t%u,%u,%u\taccess\n", (size_t)(place - &__executable_start),
                         at->bid[0], at->bid[1], at->bid[2], at->tid[0], at->tid[1], at->tid[2]);
        (void)!write(2, text, (size_t)n);
    }
#else
    (void)context;
#endif
    if (signal == SIGFPE) kshell_fault("UNDEFINED ARITHMETIC", 0, at, "integer division by zero");
    if (signal == SIGILL) kshell_fault("ILLEGAL INSTRUCTION", 0, at, "the program reached an illegal instruction");
#if defined(__x86_64__) && defined(SI_KERNEL)
    // The processor gives no address for a vector access that is not aligned.
    if (info->si_code == SI_KERNEL) kshell_fault("MISALIGNED", 0, at, "a vector access is not aligned to its size");
#endif
    const char* address = static_cast<const char*>(info->si_addr);
    for (const Buffer& b : job.buffers)
        for (const char* data : b.sets) {
            if (address >= data - red_zone - guard && address < data) {
                snprintf(text, sizeof text, "access %td bytes before the start of %s", data - address, b.name.c_str());
                kshell_fault("OUT OF BOUNDS", 0, at, text);
            }
            if (address >= data + b.bytes && address < data + b.bytes + red_zone + page + guard) {
                snprintf(text, sizeof text, "access %td bytes after the end of %s (%zu bytes)", address - data - (ptrdiff_t)b.bytes, b.name.c_str(), b.bytes);
                kshell_fault("OUT OF BOUNDS", 0, at, text);
            }
        }
    snprintf(text, sizeof text, "access to address %p, far from every buffer", info->si_addr);
    kshell_fault("OUT OF BOUNDS", 0, at, text);
}

void catch_signals() {
    static char stack[64 * 1024];
    stack_t alternative{};
    alternative.ss_sp = stack;
    alternative.ss_size = sizeof stack;
    sigaltstack(&alternative, nullptr);
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigaction(signal, &action, nullptr);
}

// Before the candidate's code is entered the process gives up sockets, new processes and threads, and
// other programs. Where the kernel does not know seccomp the program runs without.
void give_up_rights() {
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#if defined(__x86_64__)
    const unsigned arch = AUDIT_ARCH_X86_64;
#else
    const unsigned arch = AUDIT_ARCH_AARCH64;
#endif
    const unsigned denied[] = {
        SYS_socket, SYS_socketpair, SYS_connect, SYS_clone, SYS_execve, SYS_execveat, SYS_ptrace, SYS_kill,
        SYS_process_vm_readv, SYS_process_vm_writev,
#if defined(SYS_fork)
        SYS_fork, SYS_vfork,
#endif
#if defined(SYS_clone3)
        SYS_clone3,
#endif
    };
    std::vector<sock_filter> code;
    code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)));
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arch, 1, 0));
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    for (unsigned number : denied) {
        code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
        code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
    }
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    sock_fprog program = {(unsigned short)code.size(), code.data()};
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
#endif
}

}  // namespace

int main(int argc, char** argv) {
#if defined(__linux__)
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
#endif
    read_command_line(argc, argv);
    for (Buffer& b : job.buffers)
        for (unsigned k = 0; k < (b.role == 'w' ? 1 : job.sets); ++k) {
            char* data = map_guarded(b.bytes);
            fill_poison(data - red_zone, b.bytes + 2 * red_zone);
            b.sets.push_back(data);
        }
    for (const auto& [name, path] : job.inputs) {
        const Buffer& b = job.buffers[(size_t)find_buffer(name)];
        read_all(path, b.sets, b.bytes);
    }
    if (kshell_check_buffer)
        for (const Buffer& b : job.buffers) kshell_check_buffer(b.name.c_str(), b.sets[0], b.bytes, b.role);
    catch_signals();
    start_pool();
    give_up_rights();
    FILE* times = job.times ? fopen(job.times, "we") : nullptr;
    if (job.times && !times) usage(std::string("cannot write ") + job.times);
    for (unsigned r = 0; r < job.warmup; ++r) run_once(r % job.sets);
    for (unsigned r = 0; r < job.repeats; ++r) {
        uint64_t ns = run_once(r % job.sets);
        if (times) fprintf(times, "%u %llu %016llx\n", r % job.sets, (unsigned long long)ns, (unsigned long long)digest_outputs(r % job.sets));
    }
    if (times && fclose(times)) usage(std::string("cannot write ") + job.times);
    stop_pool();
    for (const auto& [name, path] : job.outputs) {
        const Buffer& b = job.buffers[(size_t)find_buffer(name)];
        write_all(path, b.sets, b.bytes);
    }
    return 0;
}
