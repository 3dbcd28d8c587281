// Runs the threads of a block as fibers on one operating-system thread.
//
// A fiber leaves only at a barrier, at a warp operation and at its end; the next runnable fiber is entered
// directly: the one after it in turn, or (greedy) always the first, so that the first warps run as far
// ahead of the others as barriers let them, which brings races to light. When none is runnable and not
// all have ended, the threads wait for each other in vain: that is how a divergent barrier and a wrong
// mask are found and named.
#include "runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace {

constexpr size_t stack_bytes = 64 * 1024;
constexpr size_t guard_bytes = 4096;
constexpr unsigned words = kshell_max_threads / 64;

thread_local const kshell_thread* running = nullptr;

}  // namespace

enum class Wait : uint8_t { none, barrier, warp, ended };

// The threads of one block. A slot is a place in the order in which fibers are started; arrays are
// indexed by slot, `slot_of` maps a linear thread index to its slot.
struct kshell_block {
    const kshell_kernel* kernel;
    unsigned count;
    bool greedy;
    unsigned waiting;
    unsigned ended;
    int barrier_line;
    bool mixed;
    unsigned phase;
    unsigned warp_phase[kshell_max_threads / 32];
    unsigned exchanges[kshell_max_threads / 32];
    uint64_t runnable[words];
    uint32_t arrived[kshell_max_threads / 32];
    uint16_t slot_of[kshell_max_threads];
    Wait wait[kshell_max_threads];
    int line[kshell_max_threads];
    int kind[kshell_max_threads];
    unsigned mask[kshell_max_threads];
    int arg[kshell_max_threads];
    int width[kshell_max_threads];
    uint64_t value[kshell_max_threads];
    kshell_thread threads[kshell_max_threads];
#if defined(__x86_64__)
    void* stack_pointer[kshell_max_threads];
    void* scheduler;
#else
    ucontext_t context[kshell_max_threads];
    ucontext_t scheduler;
#endif
};

struct Worker {
    kshell_block block;
    Order order;
    bool greedy;
    uint64_t random;
    char* stacks;
    unsigned stack_count;
    char* shared;
};

uint64_t kshell_mix(uint64_t& state) {
    uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

const kshell_thread* kshell_current() { return running; }
unsigned kshell_phase(const kshell_thread* t) { return t->block->phase; }
unsigned kshell_exchanges(const kshell_thread* t) { return t->block->exchanges[t->linear / 32]; }
unsigned kshell_warp_phase(const kshell_thread* t) { return t->block->warp_phase[t->linear / 32]; }

// ---------------------------------------------------------------- context switch

#if defined(__x86_64__)

// Saves the callee-saved registers and the place to continue at on the stack of the one that leaves.
// Continuing with an indirect jump keeps the return predictor of the processor in step.
extern "C" void kshell_switch(void** save, void* to);
extern "C" void kshell_enter();
asm(R"(
    .text
    .globl kshell_switch
    .type kshell_switch, @function
kshell_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    popq %rcx
    jmp *%rcx
    .size kshell_switch, .-kshell_switch
    .globl kshell_enter
    .type kshell_enter, @function
kshell_enter:
    movq %rbx, %rdi
    call *%r12
    ud2
    .size kshell_enter, .-kshell_enter
    .section .note.GNU-stack,"",@progbits
    .text
)");

static inline void leave_to_slot(kshell_block* b, unsigned from, unsigned to) {
    kshell_switch(&b->stack_pointer[from], b->stack_pointer[to]);
}
static inline void leave_to_scheduler(kshell_block* b, unsigned from) {
    kshell_switch(&b->stack_pointer[from], b->scheduler);
}
static inline void start(kshell_block* b, unsigned slot) { kshell_switch(&b->scheduler, b->stack_pointer[slot]); }

static void fiber_main(kshell_thread*);

static void prepare(Worker* w, unsigned slot) {
    // Tops are staggered so that the hot ends of the stacks do not all fall into the same cache sets.
    char* top = w->stacks + (size_t)(slot + 1) * (stack_bytes + guard_bytes) - (slot % 32) * 128;
    void** sp = reinterpret_cast<void**>(top);
    // kshell_enter calls from an address that is a multiple of 16.
    *--sp = nullptr;
    *--sp = nullptr;
    *--sp = reinterpret_cast<void*>(&kshell_enter);
    *--sp = nullptr;                                    // rbp
    *--sp = &w->block.threads[slot];                    // rbx
    *--sp = reinterpret_cast<void*>(&fiber_main);       // r12
    *--sp = nullptr;
    *--sp = nullptr;
    *--sp = nullptr;
    w->block.stack_pointer[slot] = sp;
}

#else

static inline void leave_to_slot(kshell_block* b, unsigned from, unsigned to) {
    swapcontext(&b->context[from], &b->context[to]);
}
static inline void leave_to_scheduler(kshell_block* b, unsigned from) {
    swapcontext(&b->context[from], &b->scheduler);
}
static inline void start(kshell_block* b, unsigned slot) { swapcontext(&b->scheduler, &b->context[slot]); }

static void fiber_main(kshell_thread*);

static void fiber_entry(unsigned high, unsigned low) {
    fiber_main(reinterpret_cast<kshell_thread*>(((uintptr_t)high << 32) | low));
}

static void prepare(Worker* w, unsigned slot) {
    ucontext_t* c = &w->block.context[slot];
    getcontext(c);
    c->uc_stack.ss_sp = w->stacks + (size_t)slot * (stack_bytes + guard_bytes) + guard_bytes;
    c->uc_stack.ss_size = stack_bytes;
    c->uc_link = nullptr;
    uintptr_t t = reinterpret_cast<uintptr_t>(&w->block.threads[slot]);
    makecontext(c, reinterpret_cast<void (*)()>(fiber_entry), 2, (unsigned)((uint64_t)t >> 32), (unsigned)t);
}

#endif

// ---------------------------------------------------------------- scheduling

static inline void set_runnable(kshell_block* b, unsigned slot) { b->runnable[slot / 64] |= 1ull << (slot % 64); }
static inline void clear_runnable(kshell_block* b, unsigned slot) { b->runnable[slot / 64] &= ~(1ull << (slot % 64)); }

// The next runnable slot after `from`, cyclically; -1 when there is none.
static inline int next_slot(const kshell_block* b, unsigned from) {
    unsigned count = (b->count + 63) / 64, word = from / 64, bit = from % 64;
    uint64_t later = bit == 63 ? 0 : b->runnable[word] & (~0ull << (bit + 1));
    if (later) return (int)(word * 64 + (unsigned)__builtin_ctzll(later));
    for (unsigned k = 1; k <= count; ++k) {
        unsigned at = word + k;
        if (at >= count) at -= count;
        if (b->runnable[at]) return (int)(at * 64 + (unsigned)__builtin_ctzll(b->runnable[at]));
    }
    return -1;
}

[[noreturn]] static void explain_deadlock(kshell_block* b);

static inline void yield(kshell_block* b, kshell_thread* t) {
    unsigned slot = (unsigned)(t - b->threads);
    int next = next_slot(b, b->greedy ? b->count - 1 : slot);
    if (next < 0) explain_deadlock(b);
    running = &b->threads[next];
    leave_to_slot(b, slot, (unsigned)next);
}

static void fiber_main(kshell_thread* t) {
    kshell_block* b = t->block;
    b->kernel->thread(t);
    unsigned slot = (unsigned)(t - b->threads);
    b->wait[slot] = Wait::ended;
    b->ended += 1;
    clear_runnable(b, slot);
    if (b->ended == b->count) leave_to_scheduler(b, slot);
    yield(b, t);
    __builtin_unreachable();
}

// ---------------------------------------------------------------- naming what went wrong

// Appends the threads for which `pick` holds, at most six, as (x,y,z).
template <class F>
static void list_threads(const kshell_block* b, char* text, size_t size, F pick) {
    unsigned found = 0;
    size_t used = strlen(text);
    for (unsigned i = 0; i < b->count; ++i) {
        unsigned slot = b->slot_of[i];
        if (!pick(slot)) continue;
        found += 1;
        const unsigned* t = b->threads[slot].tid;
        if (found <= 6 && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s(%u,%u,%u)", found > 1 ? " " : "", t[0], t[1], t[2]);
    }
    if (found > 6 && used < size) snprintf(text + used, size - used, " and %u more", found - 6);
}

[[noreturn]] static void explain_barrier(kshell_block* b, unsigned at) {
    char text[600];
    int line = b->line[at];
    if (b->ended) {
        snprintf(text, sizeof text, "__syncthreads is missed by %u of %u threads, which have returned: ", b->ended, b->count);
        list_threads(b, text, sizeof text, [&](unsigned s) { return b->wait[s] == Wait::ended; });
    } else {
        int other = line;
        for (unsigned s = 0; s < b->count; ++s)
            if (b->wait[s] == Wait::barrier && b->line[s] != line) other = b->line[s];
        snprintf(text, sizeof text, "threads wait at __syncthreads of line %d while others wait at line %d: ", line, other);
        list_threads(b, text, sizeof text, [&](unsigned s) { return !(b->wait[s] == Wait::barrier && b->line[s] == line); });
    }
    kshell_fault("DIVERGENT BARRIER", line, &b->threads[at], text);
}

[[noreturn]] static void explain_deadlock(kshell_block* b) {
    char text[600];
    for (unsigned i = 0; i < b->count; ++i) {
        unsigned s = b->slot_of[i];
        if (b->wait[s] != Wait::warp) continue;
        unsigned base = i & ~31u, missing = 0;
        for (unsigned lane = 0; lane < 32; ++lane) {
            if (!(b->mask[s] >> lane & 1)) continue;
            bool here = base + lane < b->count;
            unsigned other = here ? b->slot_of[base + lane] : 0;
            if (!here || b->wait[other] != Wait::warp || b->line[other] != b->line[s] || b->mask[other] != b->mask[s])
                missing |= 1u << lane;
        }
        snprintf(text, sizeof text, "a warp operation with mask 0x%08x waits for lanes that are not there: 0x%08x", b->mask[s], missing);
        kshell_fault("BAD MASK", b->line[s], &b->threads[s], text);
    }
    for (unsigned i = 0; i < b->count; ++i)
        if (b->wait[b->slot_of[i]] == Wait::barrier) explain_barrier(b, b->slot_of[i]);
    kshell_fault("DIVERGENT BARRIER", 0, nullptr, "no thread of the block can go on");
}

// ---------------------------------------------------------------- barriers and warp operations

extern "C" void kshell_barrier(kshell_thread* t, int line) {
    kshell_block* b = t->block;
    unsigned slot = (unsigned)(t - b->threads);
    b->line[slot] = line;
    if (b->waiting == 0) {
        b->barrier_line = line;
        b->mixed = false;
    } else if (line != b->barrier_line) {
        b->mixed = true;
    }
    b->waiting += 1;
    if (b->waiting == b->count) {
        if (b->mixed) {
            b->wait[slot] = Wait::barrier;
            explain_barrier(b, slot);
        }
        b->waiting = 0;
        b->phase += 1;
        for (unsigned k = 0; k < b->count / 64; ++k) b->runnable[k] = ~0ull;
        if (b->count % 64) b->runnable[b->count / 64] = (1ull << (b->count % 64)) - 1;
        return;
    }
    b->wait[slot] = Wait::barrier;
    clear_runnable(b, slot);
    yield(b, t);
    b->wait[slot] = Wait::none;
}

// The lane whose value `lane` receives, or `lane` itself.
static inline unsigned source_lane(int kind, unsigned lane, int arg, int width) {
    int own = (int)lane, low = own & ~(width - 1), high = low + width - 1, from = own;
    switch (kind) {
        case KSHELL_IDX: from = low | (arg & (width - 1)); break;
        case KSHELL_UP: from = own - arg; return (unsigned)(from < low ? own : from);
        case KSHELL_DOWN: from = own + arg; break;
        case KSHELL_XOR: from = own ^ arg; break;
    }
    return (unsigned)(from > high || from < 0 ? own : from);
}

static void complete(kshell_block* b, unsigned base, unsigned mask, const kshell_thread* t, int line) {
    uint64_t got[32] = {};
    unsigned ballot = 0;
    for (unsigned rest = mask; rest; rest &= rest - 1) {
        unsigned lane = (unsigned)__builtin_ctz(rest), s = b->slot_of[base + lane];
        if (b->value[s]) ballot |= 1u << lane;
    }
    for (unsigned rest = mask; rest; rest &= rest - 1) {
        unsigned lane = (unsigned)__builtin_ctz(rest), s = b->slot_of[base + lane];
        if (b->kind[s] == KSHELL_BALLOT || b->kind[s] == KSHELL_SYNCWARP) {
            got[lane] = ballot;
            continue;
        }
        unsigned from = source_lane(b->kind[s], lane, b->arg[s], b->width[s]);
        if (!(mask >> from & 1)) {
            char text[160];
            snprintf(text, sizeof text, "lane %u reads lane %u, which is not in the mask 0x%08x", lane, from, mask);
            kshell_fault("BAD MASK", line, t, text);
        }
        got[lane] = b->value[b->slot_of[base + from]];
    }
    for (unsigned rest = mask; rest; rest &= rest - 1) {
        unsigned lane = (unsigned)__builtin_ctz(rest), s = b->slot_of[base + lane];
        b->value[s] = got[lane];
        b->wait[s] = Wait::none;
        set_runnable(b, s);
    }
}

extern "C" uint64_t kshell_exchange(kshell_thread* t, int line, int kind, unsigned mask, uint64_t value, int arg, int width) {
    kshell_block* b = t->block;
    unsigned slot = (unsigned)(t - b->threads), lane = t->linear % 32, base = t->linear - lane;
    if (!(mask >> lane & 1)) {
        char text[120];
        snprintf(text, sizeof text, "lane %u calls with the mask 0x%08x, which leaves it out", lane, mask);
        kshell_fault("BAD MASK", line, t, text);
    }
    b->line[slot] = line;
    b->kind[slot] = kind;
    b->mask[slot] = mask;
    b->arg[slot] = arg;
    b->width[slot] = width;
    b->value[slot] = value;
    uint32_t& arrived = b->arrived[base / 32];
    arrived |= 1u << lane;
    b->wait[slot] = Wait::warp;
    if ((arrived & mask) == mask) {
        for (unsigned rest = mask; rest; rest &= rest - 1) {
            unsigned s = b->slot_of[base + (unsigned)__builtin_ctz(rest)];
            if (b->mask[s] != mask || b->line[s] != line || b->kind[s] != kind) {
                char text[160];
                snprintf(text, sizeof text, "lanes of one warp meet in different operations (lines %d and %d, masks 0x%08x and 0x%08x)", line, b->line[s], mask, b->mask[s]);
                kshell_fault("BAD MASK", line, t, text);
            }
        }
        arrived &= ~mask;
        if (kind == KSHELL_SYNCWARP) b->warp_phase[base / 32] += 1;
        b->exchanges[base / 32] += 1;
        complete(b, base, mask, t, line);
        return b->value[slot];
    }
    clear_runnable(b, slot);
    yield(b, t);
    return b->value[slot];
}

extern "C" void kshell_syncwarp(kshell_thread* t, int line, unsigned mask) {
    kshell_exchange(t, line, KSHELL_SYNCWARP, mask, 0, 0, 32);
}

// ---------------------------------------------------------------- workers and blocks

Worker* kshell_worker_create(Order order, bool greedy, uint64_t seed) {
    Worker* w = static_cast<Worker*>(calloc(1, sizeof(Worker)));
    if (!w) kshell_fault("OUT OF MEMORY", 0, nullptr, "cannot allocate a worker");
    w->order = order;
    w->greedy = greedy;
    w->random = seed;
    size_t bytes = kshell_shared_limit + kshell_shared_guard;
    void* shared = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) kshell_fault("OUT OF MEMORY", 0, nullptr, "cannot map shared memory");
    w->shared = static_cast<char*>(shared);
    mprotect(w->shared + (kshell_shared_limit & ~(size_t)4095) + 4096, 4096, PROT_NONE);
    return w;
}

void kshell_worker_destroy(Worker* w) {
    if (w->stacks) munmap(w->stacks, (size_t)w->stack_count * (stack_bytes + guard_bytes));
    munmap(w->shared, kshell_shared_limit + kshell_shared_guard);
    free(w);
}

char* kshell_worker_shared(Worker* w) { return w->shared; }

static void need_stacks(Worker* w, unsigned count) {
    if (w->stack_count >= count) return;
    size_t each = stack_bytes + guard_bytes;
    if (w->stacks) munmap(w->stacks, (size_t)w->stack_count * each);
    void* p = mmap(nullptr, count * each, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) kshell_fault("OUT OF MEMORY", 0, nullptr, "cannot map the stacks of the threads");
    w->stacks = static_cast<char*>(p);
    w->stack_count = count;
    for (unsigned i = 0; i < count; ++i) mprotect(w->stacks + i * each, guard_bytes, PROT_NONE);
}

static void shuffle(uint64_t& random, uint16_t* values, unsigned count) {
    for (unsigned i = count; i > 1; --i) {
        unsigned other = (unsigned)(kshell_mix(random) % i);
        uint16_t kept = values[i - 1];
        values[i - 1] = values[other];
        values[other] = kept;
    }
}

// Which linear thread index a slot gets, in the worker's order; the threads of a warp stay together.
static void number_threads(Worker* w, unsigned count) {
    kshell_block& b = w->block;
    uint16_t thread_of[kshell_max_threads];
    for (unsigned s = 0; s < count; ++s) thread_of[s] = (uint16_t)(w->order == Order::reverse ? count - 1 - s : s);
    if (w->order == Order::random) {
        uint16_t warp[kshell_max_threads / 32];
        unsigned warps = (count + 31) / 32, slot = 0;
        for (unsigned i = 0; i < warps; ++i) warp[i] = (uint16_t)i;
        shuffle(w->random, warp, warps);
        for (unsigned i = 0; i < warps; ++i) {
            unsigned first = warp[i] * 32u, lanes = count - first < 32 ? count - first : 32;
            for (unsigned lane = 0; lane < lanes; ++lane) thread_of[slot + lane] = (uint16_t)(first + lane);
            shuffle(w->random, thread_of + slot, lanes);
            slot += lanes;
        }
    }
    for (unsigned s = 0; s < count; ++s) {
        b.slot_of[thread_of[s]] = (uint16_t)s;
        b.threads[s].linear = thread_of[s];
    }
}

void kshell_run_block(Worker* w, const kshell_kernel& kernel, const kshell_launch& launch, const unsigned bid[3]) {
    kshell_block& b = w->block;
    unsigned count = launch.block[0] * launch.block[1] * launch.block[2];
    if (b.count != count || w->order == Order::random) number_threads(w, count);
    b.kernel = &kernel;
    b.greedy = w->greedy;
    b.count = count;
    b.waiting = b.ended = b.phase = 0;
    memset(b.warp_phase, 0, sizeof b.warp_phase);
    memset(b.exchanges, 0, sizeof b.exchanges);
    for (unsigned s = 0; s < count; ++s) {
        kshell_thread& t = b.threads[s];
        t.tid[0] = t.linear % launch.block[0];
        t.tid[1] = t.linear / launch.block[0] % launch.block[1];
        t.tid[2] = t.linear / launch.block[0] / launch.block[1];
        t.bid[0] = bid[0];
        t.bid[1] = bid[1];
        t.bid[2] = bid[2];
        t.launch = &launch;
        t.block = &b;
        t.shared = w->shared;
        b.wait[s] = Wait::none;
    }
    if (!kernel.synchronizes) {
        for (unsigned s = 0; s < count; ++s) {
            running = &b.threads[s];
            kernel.thread(&b.threads[s]);
        }
        running = nullptr;
        return;
    }
    need_stacks(w, count);
    memset(b.arrived, 0, sizeof b.arrived);
    memset(b.runnable, 0, sizeof b.runnable);
    for (unsigned s = 0; s < count; ++s) {
        set_runnable(&b, s);
        prepare(w, s);
    }
    running = &b.threads[0];
    start(&b, 0);
    running = nullptr;
}
