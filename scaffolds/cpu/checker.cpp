// Finds races, out-of-bounds and uninitialised accesses while a kernel runs thread by thread.
//
// The candidate is compiled with -fsanitize=thread, which only adds a call before every memory access;
// the functions called are ours. A shadow cell for every 4-byte word of the buffers and of shared memory
// keeps the last write and two reads: block, thread, barriers passed, warp synchronisations passed, place
// in the program. Two accesses of different threads are ordered when a barrier of their block, or a
// __syncwarp of their warp, lies between them, or when a launch ended between them.
#include "runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vector>

extern "C" char __executable_start;

namespace {

struct Access {
    const void* place;
    uint64_t epoch;  // launch, or block of shared memory; 0: none
    uint32_t block, phase, warp_phase, exchanges;
    uint16_t thread;
    bool atomic;
};

struct Cell {
    Access write, read[2];
    bool initialised;
};

struct Area {
    const char* name;
    const char* data;
    size_t bytes;
    char role;  // i(nput), o(utput), w(orkspace), s(hared)
    std::vector<Cell> cells;
};

std::vector<Area> areas;
std::vector<Area> shared_arrays;  // of the running block
Area arena{"shared memory", nullptr, kshell_shared_limit, 's', {}};
uint64_t epoch = 0, shared_epoch = 0;

// Two lanes of a warp wrote one cell: a race unless the values are equal. The hook runs before the store,
// so the comparison waits for the next hook.
struct Doubt {
    const Area* area = nullptr;
    size_t offset = 0;
    const char* address = nullptr;
    uint32_t value = 0;
    Access before, now;
    const kshell_thread* thread = nullptr;
} doubt;

// Reads of cells nobody wrote. Should another thread write one later in the same interval, the read is
// half of a race, so that these are reported at the end of the block or launch.
struct Unwritten {
    const Area* area;
    size_t offset;
    Access now;
    kshell_thread thread;
};
std::vector<Unwritten> unwritten;

uint32_t linear_block(const kshell_thread* t) {
    const unsigned* g = t->launch->grid;
    return (t->bid[2] * g[1] + t->bid[1]) * g[0] + t->bid[0];
}

// `kshell-place`, the address within the program (of the instruction before `place`), block, thread, what.
void tell_place(const Access& a, const kshell_thread* t, const char* what) {
    const unsigned *g = t->launch->grid, *b = t->launch->block;
    char text[200];
    unsigned block[3] = {a.block % g[0], a.block / g[0] % g[1], a.block / g[0] / g[1]};
    unsigned thread[3] = {a.thread % b[0], a.thread / b[0] % b[1], a.thread / b[0] / b[1]};
    int n = snprintf(text, sizeof text, "kshell-place\t%zx\t%u,%u,%u\t%u,%u,%u\t%s\n",
                     (size_t)((const char*)a.place - &__executable_start - 1), block[0], block[1], block[2], thread[0],
                     thread[1], thread[2], what);
    (void)!write(2, text, (size_t)n);
}

[[noreturn]] void report(const char* name, const Area& area, size_t offset, const kshell_thread* t, const char* what) {
    char text[200];
    snprintf(text, sizeof text, "%s %s[%zu]", what, area.name, offset / 4);
    kshell_fault(name, 0, t, text);
}

bool same_warp(const Access& a, const Access& b) { return a.block == b.block && a.thread / 32 == b.thread / 32; }

bool ordered(const Access& before, const Access& now, bool shared) {
    if (before.epoch != now.epoch) return true;
    if (before.block != now.block && !shared) return false;
    if (before.thread == now.thread || before.phase != now.phase) return true;
    return same_warp(before, now) && before.warp_phase != now.warp_phase;
}

// A read is complete when its lane takes part in a warp operation.
bool read_ordered(const Access& before, const Access& now, bool shared) {
    return ordered(before, now, shared) || (same_warp(before, now) && before.exchanges != now.exchanges);
}

void race(const Area& area, size_t offset, const Access& before, const char* did, const Access& now, const char* does,
          const kshell_thread* t) {
    tell_place(before, t, did);
    tell_place(now, t, does);
    char text[160];
    snprintf(text, sizeof text, "%s and %s by another thread without synchronisation between them:", did, does);
    report("RACE", area, offset, t, text);
}

void touch(const Area& area, Cell& cell, size_t offset, const Access& now, bool writes, const kshell_thread* t) {
    bool shared = area.role == 's';
    bool known = shared ? cell.initialised && cell.write.epoch == now.epoch : cell.initialised || area.role == 'i';
    const char* does = now.atomic ? "atomic addition" : writes ? "write" : "read";
    if ((!writes || now.atomic) && !known && unwritten.size() < 64) unwritten.push_back({&area, offset, now, *t});
    if (cell.write.epoch && !ordered(cell.write, now, shared) && !(cell.write.atomic && now.atomic)) {
        bool plain = writes && !now.atomic && !cell.write.atomic;
        if (plain && same_warp(cell.write, now)) {
            doubt = {&area, offset, area.data + offset, 0, cell.write, now, t};
            memcpy(&doubt.value, doubt.address, 4);
        } else {
            race(area, offset, cell.write, cell.write.atomic ? "atomic addition" : "write", now, does, t);
        }
    }
    if (writes) {
        for (Access& r : cell.read) {
            if (r.epoch && !read_ordered(r, now, shared)) race(area, offset, r, "read", now, does, t);
            r.epoch = 0;
        }
        cell.write = now;
        cell.initialised = true;
        return;
    }
    for (Access& r : cell.read)
        if (!r.epoch || ordered(r, now, shared)) {
            r = now;
            return;
        }
}

void settle_doubt() {
    if (!doubt.area) return;
    uint32_t value;
    memcpy(&value, doubt.address, 4);
    if (value != doubt.value) race(*doubt.area, doubt.offset, doubt.before, "write", doubt.now, "write", doubt.thread);
    doubt.area = nullptr;
}

void settle_unwritten(bool shared) {
    for (const Unwritten& u : unwritten)
        if ((u.area->role == 's') == shared) {
            tell_place(u.now, &u.thread, "read");
            report("UNINITIALISED READ", *u.area, u.offset, &u.thread, "nothing was written yet to");
        }
}

// The area an address lies in or right beside; `inside` says which.
Area* find(std::vector<Area>& among, const char* address, size_t margin, bool& inside) {
    for (Area& a : among)
        if (address + margin >= a.data && address < a.data + a.bytes + margin) {
            inside = address >= a.data && address < a.data + a.bytes;
            return &a;
        }
    return nullptr;
}

void access(void* pointer, size_t size, bool writes, bool atomic, const void* place) {
    const kshell_thread* t = kshell_current();
    if (!t) return;
    settle_doubt();
    const char* address = static_cast<const char*>(pointer);
    bool shared = address >= arena.data && address < arena.data + arena.bytes;
    Access now{place, shared ? shared_epoch : epoch, linear_block(t), kshell_phase(t), kshell_warp_phase(t), kshell_exchanges(t),
               (uint16_t)t->linear, atomic};
    bool inside = false;
    Area* area = find(shared ? shared_arrays : areas, address, shared ? 0 : 4096, inside);
    if (!area && !shared) return;  // the stack, a constant
    const char* does = writes ? "write" : "read";
    if (!inside || address + size > area->data + area->bytes) {
        char text[200];
        tell_place(now, t, does);
        if (area)
            snprintf(text, sizeof text, "%s of %s[%td], which has %zu elements", does, area->name, (address - area->data) / 4, area->bytes / 4);
        else
            snprintf(text, sizeof text, "%s of shared memory outside every array", does);
        kshell_fault("OUT OF BOUNDS", 0, t, text);
    }
    if (size >= 8 && (size_t)(address - area->data) % size) {
        tell_place(now, t, does);
        report("MISALIGNED", *area, (size_t)(address - area->data), t, size == 16 ? "a 16-byte access at" : "an 8-byte access at");
    }
    std::vector<Cell>& cells = shared ? arena.cells : area->cells;
    size_t from = (size_t)(address - (shared ? arena.data : area->data));
    for (size_t k = 0; k < size; k += 4)
        touch(*area, cells[(from + k) / 4], (size_t)(address - area->data) + k, now, writes, t);
}

}  // namespace

extern "C" {

void kshell_check_buffer(const char* name, const char* data, size_t bytes, char role) {
    areas.push_back({name, data, bytes, role, std::vector<Cell>(bytes / 4 + 1)});
}

void kshell_check_launch() {
    settle_doubt();
    settle_unwritten(true);
    settle_unwritten(false);
    epoch += 1;
}

void kshell_check_block(const char* shared) {
    settle_doubt();
    settle_unwritten(true);
    if (arena.cells.empty()) arena.cells.resize(kshell_shared_limit / 4 + 1);
    arena.data = shared;
    shared_epoch += 1;
    shared_arrays.clear();
}

void kshell_check_array(const char* name, const char* data, size_t bytes) {
    for (const Area& a : shared_arrays)
        if (a.data == data) return;
    shared_arrays.push_back({name, data, bytes, 's', {}});
}

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

#define KSHELL_HOOKS(N)                                                                                      \
    void __tsan_read##N(void* p) { access(p, N, false, false, __builtin_return_address(0)); }                \
    void __tsan_write##N(void* p) { access(p, N, true, false, __builtin_return_address(0)); }                \
    void __tsan_unaligned_read##N(void* p) { access(p, N, false, false, __builtin_return_address(0)); }      \
    void __tsan_unaligned_write##N(void* p) { access(p, N, true, false, __builtin_return_address(0)); }
KSHELL_HOOKS(1)
KSHELL_HOOKS(2)
KSHELL_HOOKS(4)
KSHELL_HOOKS(8)
KSHELL_HOOKS(16)

void __tsan_read_range(void* p, size_t n) { access(p, n, false, false, __builtin_return_address(0)); }
void __tsan_write_range(void* p, size_t n) { access(p, n, true, false, __builtin_return_address(0)); }
void __tsan_vptr_update(void**, void*) {}

unsigned __tsan_atomic32_load(const volatile unsigned* p, int) { return *p; }
unsigned __tsan_atomic32_fetch_add(volatile unsigned* p, unsigned v, int) {
    access(const_cast<unsigned*>(p), 4, true, true, __builtin_return_address(0));
    unsigned old = *p;
    *p = old + v;
    return old;
}
int __tsan_atomic32_compare_exchange_weak(volatile unsigned* p, unsigned* expected, unsigned wanted, int, int) {
    access(const_cast<unsigned*>(p), 4, true, true, __builtin_return_address(0));
    if (*p != *expected) {
        *expected = *p;
        return 0;
    }
    *p = wanted;
    return 1;
}
int __tsan_atomic32_compare_exchange_strong(volatile unsigned* p, unsigned* expected, unsigned wanted, int a, int b) {
    return __tsan_atomic32_compare_exchange_weak(p, expected, wanted, a, b);
}
void __tsan_atomic_thread_fence(int) {}

// What the compiler calls for undefined integer arithmetic and misaligned references.
struct SourceLocation {
    const char* file;
    uint32_t line, column;
};

[[noreturn]] static void undefined(const char* name, const SourceLocation& at, const char* message) {
    const char* slash = strrchr(at.file, '/');
    kshell_fault(name, strcmp(slash ? slash + 1 : at.file, "kernel.cu") ? 0 : (int)at.line, kshell_current(), message);
}

#define KSHELL_ARITHMETIC(NAME, FAULT, MESSAGE)                                  \
    void __ubsan_handle_##NAME(SourceLocation* at, uintptr_t, uintptr_t) {       \
        undefined(FAULT, *at, MESSAGE);                                          \
    }
KSHELL_ARITHMETIC(add_overflow, "INT OVERFLOW", "a signed addition leaves the range of its type")
KSHELL_ARITHMETIC(sub_overflow, "INT OVERFLOW", "a signed subtraction leaves the range of its type")
KSHELL_ARITHMETIC(mul_overflow, "INT OVERFLOW", "a signed multiplication leaves the range of its type")
KSHELL_ARITHMETIC(negate_overflow, "INT OVERFLOW", "a negation leaves the range of its type")
KSHELL_ARITHMETIC(divrem_overflow, "UNDEFINED", "an integer division by zero, or one that overflows")
KSHELL_ARITHMETIC(shift_out_of_bounds, "UNDEFINED", "a shift by a negative number or by more than the width")
KSHELL_ARITHMETIC(out_of_bounds, "OUT OF BOUNDS", "an index outside an array of fixed size")
KSHELL_ARITHMETIC(type_mismatch_v1, "MISALIGNED", "an access is not aligned to the size of its type")
}
