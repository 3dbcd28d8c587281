// The CUDA C dialect of a candidate, for a C++17 compiler on a CPU.
//
// A generated program includes this header once, puts the candidate's functions into a struct derived
// from kshell_base (so that threadIdx and its kin are members of a local object the optimizer can take
// apart), and fills a table of kshell_kernel for the runtime (runtime.cpp, fibers.cpp).
#ifndef KSHELL_CPU_H
#define KSHELL_CPU_H

#include "kshell_abi.h"

#if defined(__linux__)
#include <features.h>
#endif

// ---------------------------------------------------------------- language

// Functions are members of a struct and so inline already.
#define __global__ __attribute__((always_inline))
#define __device__
#define __host__
#define __forceinline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __constant__ static const
#define __align__(n) __attribute__((aligned(n)))

#ifndef INFINITY
#define INFINITY (__builtin_inff())
#endif
#ifndef NAN
#define NAN (__builtin_nanf(""))
#endif

typedef unsigned int uint;
typedef unsigned char uchar;
typedef unsigned short ushort;

struct uint3 {
    unsigned x, y, z;
};
struct alignas(8) float2 {
    float x, y;
};
struct float3 {
    float x, y, z;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(16) double2 {
    double x, y;
};
struct double3 {
    double x, y, z;
};
struct alignas(16) double4 {
    double x, y, z, w;
};
struct alignas(8) int2 {
    int x, y;
};
struct int3 {
    int x, y, z;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(16) int4 {
    int x, y, z, w;
};

static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline float3 make_float3(float x, float y, float z) { return {x, y, z}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline double2 make_double2(double x, double y) { return {x, y}; }
static inline double3 make_double3(double x, double y, double z) { return {x, y, z}; }
static inline double4 make_double4(double x, double y, double z, double w) { return {x, y, z, w}; }
static inline int2 make_int2(int x, int y) { return {x, y}; }
static inline int3 make_int3(int x, int y, int z) { return {x, y, z}; }
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }

namespace std {
template <class A, class B>
struct is_same {
    static constexpr bool value = false;
};
template <class A>
struct is_same<A, A> {
    static constexpr bool value = true;
};
template <bool C, class A, class B>
struct conditional {
    typedef A type;
};
template <class A, class B>
struct conditional<false, A, B> {
    typedef B type;
};
}

// ---------------------------------------------------------------- mathematics

// Vector versions of the library functions exist in glibc's libmvec (x86-64).
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#define KSHELL_SIMD __attribute__((__simd__("notinbranch")))
#if __GLIBC_PREREQ(2, 35)
#define KSHELL_SIMD_NEW KSHELL_SIMD
#endif
#endif
#ifndef KSHELL_SIMD
#define KSHELL_SIMD
#endif
#ifndef KSHELL_SIMD_NEW
#define KSHELL_SIMD_NEW
#endif

extern "C" {
KSHELL_SIMD float expf(float) noexcept;
KSHELL_SIMD float logf(float) noexcept;
KSHELL_SIMD float sinf(float) noexcept;
KSHELL_SIMD float cosf(float) noexcept;
KSHELL_SIMD float powf(float, float) noexcept;
KSHELL_SIMD_NEW float tanhf(float) noexcept;
KSHELL_SIMD_NEW float erff(float) noexcept;
KSHELL_SIMD_NEW float exp2f(float) noexcept;
KSHELL_SIMD_NEW float log2f(float) noexcept;
KSHELL_SIMD_NEW float log10f(float) noexcept;
KSHELL_SIMD_NEW float log1pf(float) noexcept;
KSHELL_SIMD_NEW float expm1f(float) noexcept;
float sqrtf(float) noexcept;
float fabsf(float) noexcept;
float floorf(float) noexcept;
float ceilf(float) noexcept;
float fmodf(float, float) noexcept;
float truncf(float) noexcept;
float roundf(float) noexcept;
float rintf(float) noexcept;
float nearbyintf(float) noexcept;
float exp10f(float) noexcept;
float tanf(float) noexcept;
float asinf(float) noexcept;
float acosf(float) noexcept;
float atanf(float) noexcept;
float atan2f(float, float) noexcept;
float sinhf(float) noexcept;
float coshf(float) noexcept;
float cbrtf(float) noexcept;
float hypotf(float, float) noexcept;
float fdimf(float, float) noexcept;
float erfcf(float) noexcept;
}

// As fmaxf and fminf (a NaN loses), in a form the vectorizer accepts.
static inline float kshell_fmax(float a, float b) { return a > b ? a : (b == b ? b : a); }
static inline float kshell_fmin(float a, float b) { return a < b ? a : (b == b ? b : a); }
#define fmaxf kshell_fmax
#define fminf kshell_fmin
#define fmaf __builtin_fmaf
#define __fmaf_rn __builtin_fmaf

static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline float __expf(float x) { return expf(x); }
static inline float __logf(float x) { return logf(x); }
static inline float __sinf(float x) { return sinf(x); }
static inline float __cosf(float x) { return cosf(x); }
static inline float __powf(float x, float y) { return powf(x, y); }
static inline float __fdividef(float a, float b) { return a / b; }
static inline float __frcp_rn(float x) { return 1.0f / x; }
static inline float __frsqrt_rn(float x) { return 1.0f / sqrtf(x); }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fadd_rz(float a, float b) { return a + b; }
static inline float __fadd_rd(float a, float b) { return a + b; }
static inline float __fadd_ru(float a, float b) { return a + b; }
static inline float __fmul_rz(float a, float b) { return a * b; }
static inline float __fmul_rd(float a, float b) { return a * b; }
static inline float __fmul_ru(float a, float b) { return a * b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fsub_rz(float a, float b) { return a - b; }
static inline float __fsub_rd(float a, float b) { return a - b; }
static inline float __fsub_ru(float a, float b) { return a - b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __fdiv_rz(float a, float b) { return a / b; }
static inline float __fdiv_rd(float a, float b) { return a / b; }
static inline float __fdiv_ru(float a, float b) { return a / b; }
static inline float __saturatef(float x) { return kshell_fmin(kshell_fmax(x, 0.0f), 1.0f); }

// The unsuffixed names are overloaded on float in CUDA C++.
static inline float exp(float x) { return expf(x); }
static inline float log(float x) { return logf(x); }
static inline float sin(float x) { return sinf(x); }
static inline float cos(float x) { return cosf(x); }
static inline float tanh(float x) { return tanhf(x); }
static inline float erf(float x) { return erff(x); }
static inline float sqrt(float x) { return sqrtf(x); }
static inline float rsqrt(float x) { return rsqrtf(x); }
static inline float fabs(float x) { return fabsf(x); }
static inline float pow(float x, float y) { return powf(x, y); }
static inline float floor(float x) { return floorf(x); }
static inline float ceil(float x) { return ceilf(x); }
static inline float trunc(float x) { return truncf(x); }
static inline float round(float x) { return roundf(x); }
static inline float rint(float x) { return rintf(x); }
static inline float nearbyint(float x) { return nearbyintf(x); }
static inline float exp2(float x) { return exp2f(x); }
static inline float exp10(float x) { return exp10f(x); }
static inline float log2(float x) { return log2f(x); }
static inline float log10(float x) { return log10f(x); }
static inline float log1p(float x) { return log1pf(x); }
static inline float expm1(float x) { return expm1f(x); }
static inline float erfc(float x) { return erfcf(x); }
static inline float tan(float x) { return tanf(x); }
static inline float asin(float x) { return asinf(x); }
static inline float acos(float x) { return acosf(x); }
static inline float atan(float x) { return atanf(x); }
static inline float atan2(float y, float x) { return atan2f(y, x); }
static inline float sinh(float x) { return sinhf(x); }
static inline float cosh(float x) { return coshf(x); }
static inline float cbrt(float x) { return cbrtf(x); }
static inline float hypot(float x, float y) { return hypotf(x, y); }
static inline float fdim(float x, float y) { return fdimf(x, y); }
static inline float fmod(float x, float y) { return fmodf(x, y); }
static inline float fmax(float a, float b) { return kshell_fmax(a, b); }
static inline float fmin(float a, float b) { return kshell_fmin(a, b); }
static inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline float abs(float x) { return fabsf(x); }
static inline int abs(int x) { return x < 0 ? -x : x; }

#define KSHELL_MINMAX(T)                                            \
    static inline constexpr T max(T a, T b) { return a > b ? a : b; } \
    static inline constexpr T min(T a, T b) { return a < b ? a : b; }
#define KSHELL_MINMAX_MIXED(A, B, T)                                                    \
    static inline constexpr T max(A a, B b) { return (T)a > (T)b ? (T)a : (T)b; } \
    static inline constexpr T min(A a, B b) { return (T)a < (T)b ? (T)a : (T)b; }
KSHELL_MINMAX(int)
KSHELL_MINMAX(unsigned)
KSHELL_MINMAX(long)
KSHELL_MINMAX(unsigned long)
KSHELL_MINMAX(long long)
KSHELL_MINMAX(unsigned long long)
KSHELL_MINMAX_MIXED(int, unsigned, unsigned)
KSHELL_MINMAX_MIXED(unsigned, int, unsigned)
KSHELL_MINMAX_MIXED(long, unsigned long, unsigned long)
KSHELL_MINMAX_MIXED(unsigned long, long, unsigned long)
KSHELL_MINMAX_MIXED(long long, unsigned long long, unsigned long long)
KSHELL_MINMAX_MIXED(unsigned long long, long long, unsigned long long)
static inline float max(float a, float b) { return kshell_fmax(a, b); }
static inline float min(float a, float b) { return kshell_fmin(a, b); }

static inline int __float2int_rn(float x) { return (int)rintf(x); }
static inline int __float2int_rz(float x) { return (int)x; }
static inline int __float2int_rd(float x) { return (int)floorf(x); }
static inline int __float2int_ru(float x) { return (int)ceilf(x); }
static inline unsigned __float2uint_rn(float x) { return (unsigned)rintf(x); }
static inline unsigned __float2uint_rz(float x) { return (unsigned)x; }
static inline unsigned __float2uint_rd(float x) { return (unsigned)floorf(x); }
static inline unsigned __float2uint_ru(float x) { return (unsigned)ceilf(x); }
static inline float __exp10f(float x) { return exp10f(x); }
static inline float __log2f(float x) { return log2f(x); }
static inline float __log10f(float x) { return log10f(x); }
static inline float __tanf(float x) { return tanf(x); }
static inline float __int2float_rn(int x) { return (float)x; }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __ffs(int x) { return __builtin_ffs(x); }

template <class T>
static inline T __ldg(const T* p) {
    return *p;
}
template <class T>
static inline T __ldcs(const T* p) {
    return *p;
}
template <class T>
static inline T __ldcg(const T* p) {
    return *p;
}
template <class T>
static inline T __ldca(const T* p) {
    return *p;
}
template <class T, class V>
static inline void __stcs(T* p, V v) {
    *p = v;
}
template <class T, class V>
static inline void __stcg(T* p, V v) {
    *p = v;
}
template <class T, class V>
static inline void __stwb(T* p, V v) {
    *p = v;
}
template <class T, class V>
static inline void __stwt(T* p, V v) {
    *p = v;
}

// ---------------------------------------------------------------- atomics

static inline int atomicAdd(int* p, int v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }
static inline unsigned atomicAdd(unsigned* p, unsigned v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }
static inline float atomicAdd(float* p, float v) {
    uint32_t* cell = reinterpret_cast<uint32_t*>(p);
    uint32_t seen = __atomic_load_n(cell, __ATOMIC_RELAXED);
    for (;;) {
        float old, sum;
        uint32_t wanted;
        __builtin_memcpy(&old, &seen, 4);
        sum = old + v;
        __builtin_memcpy(&wanted, &sum, 4);
        if (__atomic_compare_exchange_n(cell, &seen, wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return old;
    }
}

// ---------------------------------------------------------------- what a function sees of its thread

// `Index` is uint3, as in CUDA, or kshell_index: signed components, which let the optimizer assume that
// index arithmetic does not wrap. Both forms of a kernel without barriers are run and judged.
struct kshell_index {
    int x, y, z;
};

template <class Index>
struct kshell_base {
    typedef Index index_type;
    Index threadIdx, blockIdx, blockDim, gridDim;
    kshell_thread* kshell_self;
    char* kshell_shared;
    static constexpr int warpSize = 32;

    template <class T>
    inline T kshell_lanes(int line, int kind, unsigned mask, T value, int arg, int width) {
        static_assert(sizeof(T) <= 8, "shuffles move 4 or 8 bytes");
        uint64_t raw = 0;
        __builtin_memcpy(&raw, &value, sizeof(T));
        raw = kshell_exchange(kshell_self, line, kind, mask, raw, arg, width);
        __builtin_memcpy(&value, &raw, sizeof(T));
        return value;
    }
    template <class T>
    inline T kshell_idx(int line, unsigned mask, T v, int lane, int width = 32) {
        return kshell_lanes(line, KSHELL_IDX, mask, v, lane, width);
    }
    template <class T>
    inline T kshell_up(int line, unsigned mask, T v, unsigned delta, int width = 32) {
        return kshell_lanes(line, KSHELL_UP, mask, v, (int)delta, width);
    }
    template <class T>
    inline T kshell_down(int line, unsigned mask, T v, unsigned delta, int width = 32) {
        return kshell_lanes(line, KSHELL_DOWN, mask, v, (int)delta, width);
    }
    template <class T>
    inline T kshell_xor(int line, unsigned mask, T v, int lanes, int width = 32) {
        return kshell_lanes(line, KSHELL_XOR, mask, v, lanes, width);
    }
    inline unsigned kshell_ballot(int line, unsigned mask, int predicate) {
        return (unsigned)kshell_exchange(kshell_self, line, KSHELL_BALLOT, mask, predicate != 0, 0, 32);
    }
    inline unsigned kshell_any(int line, unsigned mask, int predicate) {
        return kshell_ballot(line, mask, predicate) != 0;
    }
    inline unsigned kshell_all(int line, unsigned mask, int predicate) {
        return kshell_ballot(line, mask, !predicate) == 0;
    }
    inline void kshell_warp(int line, unsigned mask = 0xffffffffu) { kshell_syncwarp(kshell_self, line, mask); }
    inline void kshell_sync(int line) { kshell_barrier(kshell_self, line); }
    inline void kshell_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

    // Shared arrays live in one arena a block; the generated program gives each array its offset.
    template <class T>
    inline T& kshell_static(const char* name, size_t offset) {
#if defined(KSHELL_CHECK)
        kshell_check_array(name, kshell_shared + offset, sizeof(T));
#endif
        (void)name;
        return *reinterpret_cast<T*>(kshell_shared + offset);
    }
    template <class T>
    inline T* kshell_dynamic(const char* name, size_t offset) {
#if defined(KSHELL_CHECK)
        kshell_check_array(name, kshell_shared + offset, kshell_self->launch->dynamic);
#endif
        (void)name;
        return reinterpret_cast<T*>(kshell_shared + offset);
    }
};

// Bytes an array takes in the arena, with a gap behind it.
constexpr size_t kshell_room(size_t bytes) { return (bytes + 63) / 64 * 64 + 64; }

// ---------------------------------------------------------------- entry points of a kernel

template <size_t...>
struct kshell_indices {};
template <size_t N, size_t... I>
struct kshell_count : kshell_count<N - 1, N - 1, I...> {};
template <size_t... I>
struct kshell_count<0, I...> {
    typedef kshell_indices<I...> type;
};

template <class T>
struct kshell_argument {
    static inline T get(const kshell_value& v) { return (T)v.integer; }
};
template <>
struct kshell_argument<float> {
    static inline float get(const kshell_value& v) { return v.real; }
};
template <class T>
struct kshell_argument<T*> {
    static inline T* get(const kshell_value& v) { return (T*)v.pointer; }
};

// `F` is a pointer to the member function of `Code` that is the kernel.
template <auto F>
struct kshell_entry;
template <class Code, class... A, void (Code::*F)(A...)>
struct kshell_entry<F> {
    typedef typename Code::index_type Index;
    typedef decltype(Index::x) Number;
    static inline Index triple(const unsigned v[3]) { return {(Number)v[0], (Number)v[1], (Number)v[2]}; }

    template <size_t... I>
    static inline void one(kshell_thread* t, kshell_indices<I...>) {
        Code k;
        const kshell_launch* l = t->launch;
        k.blockDim = triple(l->block);
        k.gridDim = triple(l->grid);
        k.kshell_shared = t->shared;
        k.threadIdx = triple(t->tid);
        k.blockIdx = triple(t->bid);
        k.kshell_self = t;
        (k.*F)(kshell_argument<A>::get(l->args[I])...);
    }
    static void thread(kshell_thread* t) { one(t, typename kshell_count<sizeof...(A)>::type()); }

    // One loop over the threads of a row of a block; without barriers they are independent. The extents
    // are copied first: the optimizer must see that no store of the kernel changes them.
    static inline void blocks(const kshell_launch* l, char* shared, uint64_t first, uint64_t last, A... args) {
        const Index block = triple(l->block), grid = triple(l->grid);
        for (uint64_t b = first; b < last; ++b) {
            const Index bid = {(Number)(b % grid.x), (Number)(b / grid.x % grid.y), (Number)(b / grid.x / grid.y)};
            for (Number z = 0; z < block.z; ++z)
                for (Number y = 0; y < block.y; ++y) {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC ivdep
#endif
                    for (Number x = 0; x < block.x; ++x) {
                        Code k;
                        k.blockDim = block;
                        k.gridDim = grid;
                        k.kshell_self = nullptr;
                        k.kshell_shared = shared;
                        k.threadIdx = {x, y, z};
                        k.blockIdx = bid;
                        (k.*F)(args...);
                    }
                }
        }
    }
    template <size_t... I>
    static inline void many(const kshell_launch* l, char* shared, uint64_t first, uint64_t last, kshell_indices<I...>) {
        blocks(l, shared, first, last, kshell_argument<A>::get(l->args[I])...);
    }
    static void flat(const kshell_launch* l, char* shared, uint64_t first, uint64_t last) {
        many(l, shared, first, last, typename kshell_count<sizeof...(A)>::type());
    }
};

#endif
