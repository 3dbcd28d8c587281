// What a generated program and the runtime agree on.
#ifndef KSHELL_ABI_H
#define KSHELL_ABI_H

#include <stddef.h>
#include <stdint.h>

// One argument of a launch; the kernel's trampoline knows which member is meant.
union kshell_value {
    void* pointer;
    int64_t integer;
    float real;
};

// One launch of one kernel: extents in x, y, z.
struct kshell_launch {
    unsigned grid[3];
    unsigned block[3];
    const kshell_value* args;
    size_t dynamic;  // bytes of the dynamic shared array
};

struct kshell_block;

// One CUDA thread while it runs.
struct kshell_thread {
    unsigned tid[3];
    unsigned bid[3];
    const kshell_launch* launch;
    kshell_block* block;
    char* shared;
    unsigned linear;
};

// `thread` runs one thread; `flat` (kernels without barriers and warp operations only, otherwise null)
// runs the blocks first..last-1 with one loop over the threads of each.
struct kshell_kernel {
    const char* name;
    int synchronizes;
    void (*thread)(kshell_thread*);
    void (*flat)(const kshell_launch*, char* shared, uint64_t first, uint64_t last);
};

extern "C" {
extern const kshell_kernel kshell_kernels[];
extern const unsigned kshell_kernel_count;

void kshell_barrier(kshell_thread*, int line);
void kshell_syncwarp(kshell_thread*, int line, unsigned mask);
// Exchanges `value` among the lanes of `mask`; `kind` is one of KSHELL_IDX ... KSHELL_BALLOT.
uint64_t kshell_exchange(kshell_thread*, int line, int kind, unsigned mask, uint64_t value, int arg, int width);
}

enum { KSHELL_IDX, KSHELL_UP, KSHELL_DOWN, KSHELL_XOR, KSHELL_BALLOT, KSHELL_SYNCWARP };

// Only the checker (checker.cpp) defines these; without it they are null and never called.
extern "C" {
__attribute__((weak)) void kshell_check_buffer(const char* name, const char* data, size_t bytes, char role);
__attribute__((weak)) void kshell_check_launch();
__attribute__((weak)) void kshell_check_block(const char* shared);
__attribute__((weak)) void kshell_check_array(const char* name, const char* data, size_t bytes);
}

#endif
