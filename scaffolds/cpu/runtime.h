// Parts of the runtime that runtime.cpp and fibers.cpp share.
#ifndef KSHELL_RUNTIME_H
#define KSHELL_RUNTIME_H

#include "kshell_abi.h"

// Bytes of shared memory a block may use, and the guard behind them.
constexpr size_t kshell_shared_limit = 232448;
constexpr size_t kshell_shared_guard = 4096;
constexpr unsigned kshell_max_threads = 1024;

// In which order the threads of a block are started: as numbered, backwards, or with the warps and the
// lanes of each permuted by a seed.
enum class Order { forward, reverse, random };

struct Worker;

// One worker runs whole blocks, one after another, on one operating-system thread.
Worker* kshell_worker_create(Order order, bool greedy, uint64_t seed);
void kshell_worker_destroy(Worker*);
char* kshell_worker_shared(Worker*);
// Runs one block of a kernel; `bid` is its index in x, y, z.
void kshell_run_block(Worker*, const kshell_kernel&, const kshell_launch&, const unsigned bid[3]);
// The CUDA thread that is running on this operating-system thread, or null.
const kshell_thread* kshell_current();
// How many block barriers, __syncwarp of its warp, and warp operations of any kind are behind a thread.
unsigned kshell_phase(const kshell_thread*);
unsigned kshell_warp_phase(const kshell_thread*);
unsigned kshell_exchanges(const kshell_thread*);

// Ends the process with code 70 after one tab-separated line on stderr: `kshell-fault`, the name, the
// source line (0: unknown), the block and the thread as `x,y,z` (of `at`, or empty), the message.
[[noreturn]] void kshell_fault(const char* name, int line, const kshell_thread* at, const char* message);

uint64_t kshell_mix(uint64_t& state);

#endif
