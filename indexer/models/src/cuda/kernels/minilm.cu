// The steps of all-MiniLM-L6-v2 (minilm/int8/stages.rs) for a GPU.
//
// Activations are rows of unsigned bytes, `number = (byte − zero) · scale`; weights lie in panels of 64
// outputs: word (quad · 64 + output) of a panel holds four inputs of an output.
#include "common.h"

#define HIDDEN 384u
#define HEADS 12u
#define HEAD 32u
#define BYTE 255.0f
#define EMBED_THREADS 128u

struct EmbedTokens {
    const float *words, *positions;
    const u32 *tokens, *position_of;
    float *states;
};

KERNEL(embed_tokens, EmbedTokens, EMBED_THREADS) {
    size_t row = block_x();
    const float *word = p.words + (size_t)p.tokens[row] * HIDDEN, *position = p.positions + (size_t)p.position_of[row] * HIDDEN;
    for (u32 i = thread(); i < HIDDEN; i += EMBED_THREADS) p.states[row * HIDDEN + i] = word[i] + position[i];
}

// Rounds each row to bytes with a scale and a zero point of its own.
struct QuantizeRows {
    const float *numbers;
    u32 *bytes;
    float *scales;
    int *zeros;
    u32 width;
};

KERNEL(quantize_rows, QuantizeRows, EMBED_THREADS) {
    SHARED float lows[EMBED_THREADS / 32], highs[EMBED_THREADS / 32];
    size_t row = block_x();
    const float *numbers = p.numbers + row * p.width;
    float low = 0.0f, high = 0.0f;
    for (u32 i = thread(); i < p.width; i += EMBED_THREADS) {
        low = numbers[i] < low ? numbers[i] : low;
        high = numbers[i] > high ? numbers[i] : high;
    }
    low = -warp_greatest(-low);
    high = warp_greatest(high);
    if (thread() % 32 == 0) {
        lows[thread() / 32] = low;
        highs[thread() / 32] = high;
    }
    barrier();
    for (u32 warp = 0; warp < EMBED_THREADS / 32; warp++) {
        low = lows[warp] < low ? lows[warp] : low;
        high = highs[warp] > high ? highs[warp] : high;
    }
    float range = high > low ? high - low : 1.0f, inverse = BYTE / range;
    float shift = -low * inverse + ROUND - ROUND;
    if (thread() == 0) {
        p.scales[row] = range / BYTE;
        p.zeros[row] = (int)shift;
    }
    for (u32 i = thread(); i < p.width / 4; i += EMBED_THREADS) {
        u32 word = 0;
        for (u32 j = 0; j < 4; j++) {
            float step = fmaf(numbers[i * 4 + j], inverse, shift);
            step = step > BYTE ? BYTE : step;
            step = step < 0.0f ? 0.0f : step;
            word |= (bits_of(step + ROUND) & 255u) << j * 8;
        }
        p.bytes[row * (p.width / 4) + i] = word;
    }
}

// x·Φ(x): see `gelu_of`.
DEVICE float gelu(float x) {
    const float limit = 4.5f;
    float bounded = x > limit ? limit : x;
    bounded = bounded < -limit ? -limit : bounded;
    float t = fmaf(bounded * bounded, 2.0f / (limit * limit), -1.0f);
    float slope = fmaf(-0.00026905048f, t, 0.00090452563f);
    slope = fmaf(slope, t, -0.0015532653f);
    slope = fmaf(slope, t, 0.0028793819f);
    slope = fmaf(slope, t, -0.006081525f);
    slope = fmaf(slope, t, 0.011318834f);
    slope = fmaf(slope, t, -0.018640518f);
    slope = fmaf(slope, t, 0.028319523f);
    slope = fmaf(slope, t, -0.040179946f);
    slope = fmaf(slope, t, 0.054697596f);
    slope = fmaf(slope, t, -0.0771902f);
    slope = fmaf(slope, t, 0.15690498f);
    return x * fmaf(bounded, slope, 0.5f);
}

// out = rows · matrix + bias, then, if asked, the activation function of each number.
struct Linear {
    const u32 *bytes;
    const float *row_scales;
    const int *zeros;
    const u32 *weights;
    const float *weight_scales;
    const int *weight_sums;
    const float *bias;
    float *out;
    // Rows; inputs and outputs of the matrix, multiples of 64.
    u32 count, inputs, outputs;
    u32 activate;
};

// Four times two warps, each 32 rows by 32 outputs: 128 rows by a panel of 64. 64 inputs at a time go
// through shared memory; word strides of 20 and 72 keep a warp's reads on 32 different banks.
KERNEL(linear, Linear, 256) {
    SHARED u32 rows[128][20];
    SHARED u32 weights[16][72];
    u32 warp = thread() / 32, lane = thread() % 32;
    u32 first = block_y() * 128, panel = block_x(), width = p.inputs / 4;
    u32 row = warp / 2 * 32 + lane / 4, column = warp % 2 * 32;
    const u32 *panel_words = p.weights + (size_t)panel * width * 64;
    u32 next[12];
    auto load = [&](u32 word) {
        for (u32 n = 0; n < 8; n++) {
            u32 at = thread() + n * 256, r = first + at / 16;
            next[n] = r < p.count ? p.bytes[(size_t)r * width + word + at % 16] : 0;
        }
        for (u32 n = 0; n < 4; n++) next[8 + n] = panel_words[(size_t)word * 64 + thread() + n * 256];
    };
    int sums[2][4][4] = {};
    load(0);
    for (u32 word = 0; word < width; word += 16) {
        for (u32 n = 0; n < 8; n++) {
            u32 at = thread() + n * 256;
            rows[at / 16][at % 16] = next[n];
        }
        for (u32 n = 0; n < 4; n++) {
            u32 at = thread() + n * 256;
            weights[at / 64][at % 64] = next[8 + n];
        }
        barrier();
        if (word + 16 < width) load(word + 16);
        for (u32 k = 0; k < 2; k++) {
            u32 b[4][2];
            for (u32 n = 0; n < 4; n++) {
                b[n][0] = weights[k * 8 + lane % 4][column + n * 8 + lane / 4];
                b[n][1] = weights[k * 8 + 4 + lane % 4][column + n * 8 + lane / 4];
            }
            for (u32 t = 0; t < 2; t++) {
                u32 r = row + t * 16, w = k * 8 + lane % 4;
                u32 a[4] = {rows[r][w], rows[r + 8][w], rows[r][w + 4], rows[r + 8][w + 4]};
                for (u32 n = 0; n < 4; n++) multiply_unsigned(sums[t][n], a, b[n]);
            }
        }
        barrier();
    }
    for (u32 t = 0; t < 2; t++)
        for (u32 i = 0; i < 4; i++) {
            u32 r = first + row + t * 16 + i / 2 * 8;
            if (r >= p.count) continue;
            float scale = p.row_scales[r];
            int zero = p.zeros[r];
            for (u32 n = 0; n < 4; n++) {
                u32 output = panel * 64 + column + n * 8 + lane % 4 * 2 + i % 2;
                int sum = sums[t][n][i] - zero * p.weight_sums[output];
                float number = fmaf((float)sum, scale * p.weight_scales[output], p.bias[output]);
                p.out[(size_t)r * p.outputs + output] = p.activate ? gelu(number) : number;
            }
        }
}

// Adds `more`, if there is any, to the states; then each row to mean 0 and variance 1, scaled and shifted.
struct NormalizeStates {
    float *states;
    const float *more;
    const float *scale, *shift;
    float epsilon;
};

KERNEL(normalize_states, NormalizeStates, EMBED_THREADS) {
    SHARED float numbers[HIDDEN], lanes[LANES];
    size_t row = block_x();
    float *state = p.states + row * HIDDEN;
    for (u32 i = thread(); i < HIDDEN; i += EMBED_THREADS) numbers[i] = p.more ? state[i] + p.more[row * HIDDEN + i] : state[i];
    barrier();
    if (thread() < LANES) {
        float sum = 0.0f;
        for (u32 i = thread(); i < HIDDEN; i += LANES) sum += numbers[i];
        lanes[thread()] = sum;
    }
    barrier();
    float mean = fold(lanes) / (float)HIDDEN;
    barrier();
    if (thread() < LANES) {
        float square = 0.0f;
        for (u32 i = thread(); i < HIDDEN; i += LANES) {
            float off = numbers[i] - mean;
            square = fmaf(off, off, square);
        }
        lanes[thread()] = square;
    }
    barrier();
    float inverse = 1.0f / sqrtf(fold(lanes) / (float)HIDDEN + p.epsilon);
    for (u32 i = thread(); i < HIDDEN; i += EMBED_THREADS) state[i] = fmaf((numbers[i] - mean) * inverse, p.scale[i], p.shift[i]);
}

// Rows of a sequence.
struct Sequence {
    u32 first, length;
};

// Queries that a block attends for at a time, and those of one thread.
#define QUERIES 16u
#define QUERIES_A_THREAD 8u
#define QUERIES_A_WARP (QUERIES / (EMBED_THREADS / 32))

struct AttendSequences {
    // Queries, keys and values side by side, a row a token.
    const float *projected;
    float *out;
    // Of each block of the grid's first dimension: its sequence, and its first query in it.
    const Sequence *sequences;
    const u32 *sequence_of, *query_of;
    float factor;
    // The most columns that scores have.
    u32 columns;
};

// Self-attention of up to 16 tokens of a sequence in one head. Shared memory: 16 rows of scores.
KERNEL(attend_sequences, AttendSequences, EMBED_THREADS) {
    alignas(16) SHARED float queries[QUERIES * HEAD];
    SHARED float lanes[QUERIES * LANES];
    SHARED float sums[QUERIES];
    float *scores = dynamic_shared();
    const Sequence sequence = p.sequences[p.sequence_of[block_x()]];
    u32 first = p.query_of[block_x()], here = sequence.length - first < QUERIES ? sequence.length - first : QUERIES;
    u32 columns = (sequence.length + LANES - 1) / LANES * LANES;
    const float *rows = p.projected + (size_t)sequence.first * 3 * HIDDEN + block_y() * HEAD;
    for (u32 i = thread(); i < QUERIES * HEAD; i += EMBED_THREADS)
        queries[i] = i / HEAD < here ? rows[(size_t)(first + i / HEAD) * 3 * HIDDEN + i % HEAD] : 0.0f;
    barrier();
    // A thread takes one key at a time and half of the queries.
    constexpr u32 KEYS = EMBED_THREADS / (QUERIES / QUERIES_A_THREAD);
    u32 q0 = thread() / KEYS * QUERIES_A_THREAD;
    for (u32 c = thread() % KEYS; q0 < here && c < columns; c += KEYS) {
        float dots[QUERIES_A_THREAD] = {};
        if (c < sequence.length) {
            const float *from = rows + (size_t)c * 3 * HIDDEN + HIDDEN;
            Quad key[HEAD / 4];
            UNROLL
            for (u32 d = 0; d < HEAD / 4; d++) key[d] = quad(from + d * 4);
            UNROLL
            for (u32 d = 0; d < HEAD / 4; d++)
                UNROLL
                for (u32 q = 0; q < QUERIES_A_THREAD; q++) {
                    Quad query = quad(queries + (q0 + q) * HEAD + d * 4);
                    UNROLL
                    for (u32 i = 0; i < 4; i++) dots[q] = fmaf(query.of[i], key[d].of[i], dots[q]);
                }
        }
        UNROLL
        for (u32 q = 0; q < QUERIES_A_THREAD; q++) scores[(q0 + q) * columns + c] = c < sequence.length ? dots[q] : LEAST;
    }
    barrier();
    exponentials(scores, here, columns, p.factor, power_of_two(LEAST), lanes, sums, EMBED_THREADS);
    // A warp mixes values for some of the queries, a lane a dimension.
    static_assert(HEAD == 32, "a lane for each dimension");
    u32 q1 = thread() / 32 * QUERIES_A_WARP, d = thread() % 32;
    if (q1 >= here) return;
    float mixed[QUERIES_A_WARP] = {};
    mix_values<QUERIES_A_WARP>(scores + q1 * columns, columns, rows + 2 * HIDDEN + d, 3 * HIDDEN, sequence.length, mixed);
    UNROLL
    for (u32 q = 0; q < QUERIES_A_WARP; q++)
        if (q1 + q < here) p.out[(size_t)(sequence.first + first + q1 + q) * HIDDEN + block_y() * HEAD + d] = mixed[q] * (1.0f / sums[q1 + q]);
}

// The sum of each sequence's rows.
struct PoolSequences {
    const float *states;
    const Sequence *sequences;
    float *sums;
};

KERNEL(pool_sequences, PoolSequences, EMBED_THREADS) {
    const Sequence sequence = p.sequences[block_x()];
    for (u32 i = thread(); i < HIDDEN; i += EMBED_THREADS) {
        float sum = 0.0f;
        for (u32 row = 0; row < sequence.length; row++) sum += p.states[(size_t)(sequence.first + row) * HIDDEN + i];
        p.sums[(size_t)block_x() * HIDDEN + i] = sum;
    }
}
