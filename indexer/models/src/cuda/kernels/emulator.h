// A processor that plays a GPU, for the tests: blocks run one after another, the threads of a block as
// coroutines that change where they wait: for their warp (tensor products, shuffles) or for their block.
// Warps go on in an order left to chance. A barrier that some threads do not reach ends the process with a
// message, as it would hang a GPU.
#pragma once

#include <algorithm>
#include <csetjmp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <ucontext.h>
#include <vector>

#define DEVICE static inline
#define SHARED static
#define UNROLL
#define UNROLL_2
#define KERNEL(name, Params, threads)                                                                                     \
    static void name(const Params &p);                                                                                    \
    extern "C" void emulate_##name(const void *p, const u32 *grid, u32 block, u32 shared) {                               \
        if (block != threads) emulator::refuse(#name ": launched with another number of threads than it is written for"); \
        emulator::run([p] { name(*static_cast<const Params *>(p)); }, grid, block, shared);                               \
    }                                                                                                                     \
    static void name(const Params &p)

namespace emulator {

constexpr u32 MOST_THREADS = 1024;
constexpr size_t STACK = 64 << 10;

// What a thread waits for: the other 31 of its warp, or all of its block.
enum Wait { NOTHING, WARP, BLOCK, END };

struct Coroutine {
    jmp_buf at;
    ucontext_t start;
    bool started;
    Wait wait;
};

static std::vector<Coroutine> coroutines(MOST_THREADS);
static std::vector<char> stacks(MOST_THREADS *STACK);
static std::vector<float> dynamic_memory;
static jmp_buf scheduler;
static ucontext_t ended;
static u32 current, place[3];
static const std::function<void()> *body;
// What the lanes of a warp hand to each other.
static u32 slots[MOST_THREADS][6];
// Which warp goes on next is left to chance, the same at every run.
static u32 chance = 1;

static void refuse(const char *why) {
    fprintf(stderr, "%s\n", why);
    abort();
}

static void enter() {
    (*body)();
    coroutines[current].wait = END;
    _longjmp(scheduler, 1);
}

static void wait(Wait wait) {
    coroutines[current].wait = wait;
    if (_setjmp(coroutines[current].at) == 0) _longjmp(scheduler, 1);
}

// Runs a warp's threads, one after another, each to its next wait; gives what they all wait for.
static Wait run_warp(u32 warp, u32 lanes) {
    for (volatile u32 lane = 0; lane < lanes; lane++) {
        current = warp * 32 + lane;
        Coroutine &coroutine = coroutines[current];
        if (_setjmp(scheduler) != 0) continue;
        if (coroutine.started) _longjmp(coroutine.at, 1);
        coroutine.started = true;
        getcontext(&coroutine.start);
        coroutine.start.uc_stack.ss_sp = &stacks[current * STACK];
        coroutine.start.uc_stack.ss_size = STACK;
        coroutine.start.uc_link = &ended;
        makecontext(&coroutine.start, enter, 0);
        setcontext(&coroutine.start);
    }
    Wait all = coroutines[warp * 32].wait;
    for (u32 lane = 1; lane < lanes; lane++)
        if (coroutines[warp * 32 + lane].wait != all) refuse("the threads of a warp wait for different things");
    return all;
}

// Warps go on in any order between two barriers: what relies on one shows as a wrong result.
static void run_block(u32 threads) {
    u32 warps = (threads + 31) / 32;
    for (u32 t = 0; t < threads; t++) coroutines[t].started = false;
    std::vector<Wait> waits(warps, NOTHING);
    for (;;) {
        std::vector<u32> able;
        for (u32 warp = 0; warp < warps; warp++)
            if (waits[warp] == NOTHING || waits[warp] == WARP) able.push_back(warp);
        if (able.empty()) {
            for (u32 warp = 1; warp < warps; warp++)
                if (waits[warp] != waits[0]) refuse("some threads of a block ended before a barrier of the others");
            if (waits[0] == END) return;
            std::fill(waits.begin(), waits.end(), NOTHING);
            continue;
        }
        chance = chance * 1664525u + 1013904223u;
        u32 warp = able[(chance >> 8) % able.size()];
        waits[warp] = run_warp(warp, threads - warp * 32 < 32 ? threads - warp * 32 : 32);
    }
}

static void run(const std::function<void()> &kernel, const u32 *grid, u32 threads, u32 shared) {
    body = &kernel;
    for (place[2] = 0; place[2] < grid[2]; place[2]++)
        for (place[1] = 0; place[1] < grid[1]; place[1]++)
            for (place[0] = 0; place[0] < grid[0]; place[0]++) {
                // What a block finds in its memory is nothing it may rely on.
                dynamic_memory.assign(shared / sizeof(float), NAN);
                run_block(threads);
            }
}

template <class Byte> static void multiply(int (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
    u32 *own = slots[current];
    for (int i = 0; i < 4; i++) own[i] = a[i];
    for (int i = 0; i < 2; i++) own[4 + i] = b[i];
    wait(WARP);
    u32 warp = current / 32 * 32, lane = current % 32;
    for (int i = 0; i < 4; i++) {
        u32 row = lane / 4 + (i >= 2 ? 8 : 0), column = lane % 4 * 2 + i % 2;
        int sum = 0;
        for (u32 k = 0; k < 32; k++) {
            // Element (row, k) of a is byte k % 4 of register row / 8 + 2 · (k / 16) of lane
            // row % 8 · 4 + k % 16 / 4; element (k, column) of b lies alike.
            u32 of_a = slots[warp + row % 8 * 4 + k % 16 / 4][row / 8 + k / 16 * 2];
            u32 of_b = slots[warp + column * 4 + k % 16 / 4][4 + k / 16];
            sum += (int)(Byte)(of_a >> k % 4 * 8) * (int)(i8)(of_b >> k % 4 * 8);
        }
        d[i] += sum;
    }
    wait(WARP);
}

} // namespace emulator

DEVICE u32 thread() { return emulator::current; }
DEVICE u32 block_x() { return emulator::place[0]; }
DEVICE u32 block_y() { return emulator::place[1]; }
DEVICE u32 block_z() { return emulator::place[2]; }
DEVICE void barrier() { emulator::wait(emulator::BLOCK); }
DEVICE float *dynamic_shared() { return emulator::dynamic_memory.data(); }

DEVICE float float_of(u32 bits) {
    float number;
    memcpy(&number, &bits, 4);
    return number;
}

DEVICE u32 bits_of(float number) {
    u32 bits;
    memcpy(&bits, &number, 4);
    return bits;
}

DEVICE float warp_greatest(float number) {
    emulator::slots[emulator::current][0] = bits_of(number);
    emulator::wait(emulator::WARP);
    for (u32 lane = 0; lane < 32; lane++) {
        float other = float_of(emulator::slots[emulator::current / 32 * 32 + lane][0]);
        number = other > number ? other : number;
    }
    emulator::wait(emulator::WARP);
    return number;
}

DEVICE void multiply_signed(int (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) { emulator::multiply<i8>(d, a, b); }
DEVICE void multiply_unsigned(int (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) { emulator::multiply<u8>(d, a, b); }
