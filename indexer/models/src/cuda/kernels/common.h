// What both models' kernels share. The same source is compiled for a GPU and, for the tests, for a
// processor that plays one (emulator.h): nothing outside these two headers knows which.
//
// Every number comes from the same operations in the same order as in the Rust stages (kernels/,
// decoder/stages.rs, minilm/int8/stages.rs), so that a GPU's answers are the processor's to the bit:
// a multiplication is fused with an addition exactly where `fmaf` is written (nvcc -fmad=false), and
// floating-point sums run in 16 interleaved lanes, folded in halves.
#pragma once

typedef unsigned int u32;
typedef signed char i8;
typedef unsigned char u8;

#ifdef __CUDACC__
#define DEVICE static __device__ __forceinline__
#define SHARED __shared__
// The loop is written out, so that what it indexes may stay in registers.
#define UNROLL _Pragma("unroll")
// Two rounds at a time, whose reads are then under way together.
#define UNROLL_2 _Pragma("unroll 2")
// A kernel takes one struct and runs in blocks of so many threads.
#define KERNEL(name, Params, threads) extern "C" __global__ void __launch_bounds__(threads) name(const Params p)

extern __shared__ __align__(16) float dynamic_memory[];

DEVICE u32 thread() { return threadIdx.x; }
DEVICE u32 block_x() { return blockIdx.x; }
DEVICE u32 block_y() { return blockIdx.y; }
DEVICE u32 block_z() { return blockIdx.z; }
DEVICE void barrier() { __syncthreads(); }
DEVICE float *dynamic_shared() { return dynamic_memory; }
DEVICE float float_of(u32 bits) { return __uint_as_float(bits); }
DEVICE u32 bits_of(float number) { return __float_as_uint(number); }

// The greatest of the warp's numbers, in every lane.
DEVICE float warp_greatest(float number) {
    for (int distance = 16; distance > 0; distance /= 2) {
        float other = __shfl_xor_sync(0xffffffffu, number, distance);
        number = other > number ? other : number;
    }
    return number;
}

// d += a · b on the tensor cores: 16 × 32 signed bytes by 32 × 8 (PTX ISA, mma.m16n8k32).
DEVICE void multiply_signed(int (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// The same with unsigned bytes in a.
DEVICE void multiply_unsigned(int (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#else
#include "emulator.h"
#endif

#define LANES 16u
#define ROUND 12582912.0f
#define LEAST (-3.402823466e+38f)

// 2ˣ for x ≤ 0: kernels/floats.rs.
DEVICE float power_of_two(float x) {
    x = x < -125.0f ? -125.0f : x;
    float shifted = x + ROUND;
    float f = x - (shifted - ROUND);
    float power = fmaf(0.0013276471f, f, 0.009675542f);
    power = fmaf(power, f, 0.05550713f);
    power = fmaf(power, f, 0.2402212f);
    power = fmaf(power, f, 0.69314694f);
    power = fmaf(power, f, 1.0000001f);
    return float_of(bits_of(power) + (bits_of(shifted) << 23));
}

// Four numbers that are read at once, from a place that is a multiple of 16 bytes.
struct alignas(16) Quad {
    float of[4];
};

DEVICE Quad quad(const float *from) { return *(const Quad *)from; }

// The sum of 16 lanes, halves upon halves.
DEVICE float fold(const float *lanes) {
    float sums[LANES];
    for (u32 lane = 0; lane < LANES; lane++) sums[lane] = lanes[lane];
    for (u32 half = LANES / 2; half > 0; half /= 2)
        for (u32 lane = 0; lane < half; lane++) sums[lane] += sums[lane + half];
    return sums[0];
}

// Scores of one row in place to 2^((score − greatest) · factor), the greatest found first; then the
// row's sum in `sums[row]`. Rows have `columns` numbers, a multiple of 16; `lanes` has room for 16 a
// row. For all rows of a block, by all its threads. What must not be seen is LEAST and weighs `unseen`.
DEVICE void exponentials(float *scores, u32 rows, u32 columns, float factor, float unseen, float *lanes, float *sums, u32 threads) {
    for (u32 i = thread(); i < rows * LANES; i += threads) {
        const float *row = scores + i / LANES * columns;
        float greatest = LEAST;
        for (u32 c = i % LANES; c < columns; c += LANES) greatest = row[c] > greatest ? row[c] : greatest;
        lanes[i] = greatest;
    }
    barrier();
    for (u32 row = thread(); row < rows; row += threads) {
        float greatest = LEAST;
        for (u32 lane = 0; lane < LANES; lane++) {
            float other = lanes[row * LANES + lane];
            greatest = other > greatest ? other : greatest;
        }
        sums[row] = greatest;
    }
    barrier();
    for (u32 row = 0; row < rows; row++)
        for (u32 c = thread(); c < columns; c += threads) {
            float score = scores[row * columns + c];
            scores[row * columns + c] = score > LEAST ? power_of_two((score - sums[row]) * factor) : unseen;
        }
    barrier();
    for (u32 i = thread(); i < rows * LANES; i += threads) {
        const float *row = scores + i / LANES * columns;
        float sum = 0.0f;
        for (u32 c = i % LANES; c < columns; c += LANES) sum += row[c];
        lanes[i] = sum;
    }
    barrier();
    for (u32 row = thread(); row < rows; row += threads) sums[row] = fold(lanes + row * LANES);
    barrier();
}

// Adds up one dimension of `length` tokens' values, `stride` numbers apart, weighed by COUNT queries'
// scores.
template <u32 COUNT> DEVICE void mix_values(const float *scores, u32 columns, const float *values, u32 stride, u32 length, float (&sums)[COUNT]) {
    u32 token = 0;
    UNROLL_2
    for (; token + 4 <= length; token += 4) {
        float numbers[4];
        UNROLL
        for (u32 i = 0; i < 4; i++) numbers[i] = values[(size_t)(token + i) * stride];
        UNROLL
        for (u32 q = 0; q < COUNT; q++) {
            Quad score = quad(scores + q * columns + token);
            UNROLL
            for (u32 i = 0; i < 4; i++) sums[q] = fmaf(score.of[i], numbers[i], sums[q]);
        }
    }
    for (; token < length; token++)
        UNROLL
        for (u32 q = 0; q < COUNT; q++) sums[q] = fmaf(scores[q * columns + token], values[(size_t)token * stride], sums[q]);
}
