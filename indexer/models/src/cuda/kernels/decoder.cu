// The steps of a decoder layer (decoder/stages.rs, decoder/matrix.rs) for a GPU.
//
// Weights and activations lie as on the processor: a block of 16 outputs (a tile of 16 rows) has 512
// words for each group of 128 inputs. In a block, word q · 16 + o holds inputs 4q..4q+4 of output o; in
// a tile, word h · 256 + r · 16 + w holds numbers 64h + 4w.. of row r.
#include "common.h"

#define GROUP 128u
#define GROUP_WORDS 512u
#define STEPS 127.0f
#define ROW_THREADS 128u
// Groups that a block of so many threads rounds at a time.
#define GROUPS_AT_ONCE (ROW_THREADS / 32)
#define LOG2_E 1.442695041f

// One row of weights for each token: what its number looks up.
struct LookUp {
    const u32 *lines;
    const float *scales;
    const u32 *tokens;
    float *states;
    u32 hidden, groups;
};

KERNEL(look_up, LookUp, ROW_THREADS) {
    u32 row = block_x(), token = p.tokens[row];
    size_t first = (size_t)(token / LANES) * p.groups;
    u32 lane = token % LANES;
    for (u32 i = thread(); i < p.hidden; i += ROW_THREADS) {
        size_t place = first + i / GROUP;
        u32 word = p.lines[place * GROUP_WORDS + i % GROUP / 4 * LANES + lane];
        p.states[(size_t)row * p.hidden + i] = (float)(i8)(word >> i % 4 * 8) * p.scales[place * LANES + lane];
    }
}

// Where rows of bytes go.
struct Lines {
    u32 *lines;
    float *scales;
    u32 groups;
};

// Rounds some groups of row `row`, whose numbers are `number(0..width)`, to bytes: those from `first`
// on, one a warp.
template <class Numbers> DEVICE void round_groups(const Lines &out, u32 row, u32 width, u32 first, Numbers number) {
    u32 group = first + thread() / 32, lane = thread() % 32, tile = row / LANES, r = row % LANES;
    float four[4], most = 0.0f;
    for (u32 j = 0; j < 4; j++) {
        u32 i = group * GROUP + lane * 4 + j;
        four[j] = i < width ? number(i) : 0.0f;
        float magnitude = fabsf(four[j]);
        most = magnitude > most ? magnitude : most;
    }
    most = warp_greatest(most);
    float inverse = most > 0.0f ? STEPS / most : 0.0f;
    u32 word = 0;
    for (u32 j = 0; j < 4; j++) word |= (bits_of(fmaf(four[j], inverse, ROUND)) & 255u) << j * 8;
    if (group < out.groups) {
        size_t place = (size_t)tile * out.groups + group;
        out.lines[place * GROUP_WORDS + lane / 16 * 256 + r * 16 + lane % 16] = word;
        if (lane == 0) out.scales[place * LANES + r] = most / STEPS;
    }
}

// Divides each row by its root mean square, scales it, and rounds it to bytes.
struct NormalizeRows {
    const float *states;
    // Which row of the states is row n; all of them in order where it is null.
    const u32 *rows;
    const float *weight;
    Lines out;
    float epsilon;
    u32 width;
};

// Numbers of a row that are in shared memory at a time.
#define PART 2048u

KERNEL(normalize_rows, NormalizeRows, ROW_THREADS) {
    SHARED float part[PART];
    SHARED float lanes[LANES];
    u32 row = block_x();
    const float *numbers = p.states + (size_t)(p.rows ? p.rows[row] : row) * p.width;
    float square = 0.0f;
    for (u32 first = 0; first < p.width; first += PART) {
        u32 here = p.width - first < PART ? p.width - first : PART;
        for (u32 i = thread(); i < here; i += ROW_THREADS) part[i] = numbers[first + i];
        barrier();
        if (thread() < LANES)
            for (u32 i = thread(); i < here; i += LANES) square = fmaf(part[i], part[i], square);
        barrier();
    }
    if (thread() < LANES) lanes[thread()] = square;
    barrier();
    float inverse = 1.0f / sqrtf(fold(lanes) / (float)p.width + p.epsilon);
    const float *weight = p.weight;
    for (u32 first = 0; first < p.out.groups; first += GROUPS_AT_ONCE)
        round_groups(p.out, row, p.width, first, [=](u32 i) { return numbers[i] * inverse * weight[i]; });
}

// Rounds rows to bytes; the grid's second dimension has four groups a block.
struct RoundRows {
    const float *numbers;
    Lines out;
    u32 width;
};

KERNEL(round_rows, RoundRows, ROW_THREADS) {
    const float *numbers = p.numbers + (size_t)block_x() * p.width;
    round_groups(p.out, block_x(), p.width, block_y() * GROUPS_AT_ONCE, [=](u32 i) { return numbers[i]; });
}

DEVICE float silu(float x) {
    float magnitude = x < 0.0f ? -x : x;
    float e = power_of_two(-magnitude * LOG2_E);
    float share = 1.0f / (1.0f + e);
    return x * (x < 0.0f ? e * share : share);
}

// silu(gate) · up, rounded to bytes; a row holds the gates, then, from its middle, the ups. The
// grid's second dimension as above.
struct GateRows {
    const float *wide;
    Lines out;
    u32 width, inner;
};

KERNEL(gate_rows, GateRows, ROW_THREADS) {
    const float *gates = p.wide + (size_t)block_x() * p.width, *ups = gates + p.width / 2;
    round_groups(p.out, block_x(), p.inner, block_y() * GROUPS_AT_ONCE, [=](u32 i) { return silu(gates[i]) * ups[i]; });
}

// out = rows · matrix + bias, or out += that.
struct Product {
    const u32 *rows;
    const float *row_scales;
    const u32 *weights;
    const float *weight_scales;
    // One an output, or null.
    const float *bias;
    float *out;
    // Rows, numbers of a row of `out`, and how many of them are written.
    u32 count, stride, width;
    u32 groups, blocks;
    u32 add;
};

struct alignas(16) Four {
    u32 words[4];
};

// WARPS_M × WARPS_N warps, each TILES tiles of 16 rows by PARTS times 8 outputs. A group of inputs at a
// time goes through shared memory; the next one is under way to registers meanwhile. Word strides in
// shared memory (36 a row, 24 a quad) keep a warp's reads on 32 different banks.
template <u32 WARPS_M, u32 WARPS_N, u32 TILES, u32 PARTS> DEVICE void product(const Product &p) {
    constexpr u32 THREADS = WARPS_M * WARPS_N * 32, ROW_TILES = WARPS_M * TILES, BLOCKS = WARPS_N * PARTS / 2;
    constexpr u32 UNIT = GROUP_WORDS / 4, LOADS = (ROW_TILES + BLOCKS) * UNIT / THREADS;
    static_assert(THREADS % UNIT == 0 && (ROW_TILES + BLOCKS) * UNIT % THREADS == 0 && PARTS % 2 == 0, "whole units");
    alignas(16) SHARED u32 rows[ROW_TILES * LANES][36];
    alignas(16) SHARED u32 weights[BLOCKS][32][24];
    SHARED float row_scales[ROW_TILES * LANES];
    SHARED float weight_scales[BLOCKS * LANES];

    u32 first_tile = block_y() * ROW_TILES, first_block = block_x() * BLOCKS;
    u32 tiles = (p.count + LANES - 1) / LANES;
    Four next[LOADS];
    auto load = [&](u32 group) {
        UNROLL
        for (u32 n = 0; n < LOADS; n++) {
            u32 at = thread() + n * THREADS, unit = at / UNIT;
            bool is_row = unit < ROW_TILES;
            u32 place = is_row ? first_tile + unit : first_block + unit - ROW_TILES;
            const u32 *from = is_row ? p.rows : p.weights;
            if (place < (is_row ? tiles : p.blocks))
                next[n] = ((const Four *)(from + ((size_t)place * p.groups + group) * GROUP_WORDS))[at % UNIT];
            else
                next[n] = Four{{0, 0, 0, 0}};
        }
    };
    u32 warp = thread() / 32, lane = thread() % 32;
    u32 row = warp / WARPS_N * TILES * LANES + lane / 4, part = warp % WARPS_N * PARTS;
    float totals[TILES][PARTS][4] = {};
    load(0);
    for (u32 group = 0; group < p.groups; group++) {
        UNROLL
        for (u32 n = 0; n < LOADS; n++) {
            u32 at = thread() + n * THREADS, unit = at / UNIT, word = at % UNIT * 4;
            u32 *to = unit < ROW_TILES ? &rows[unit * LANES + word % 256 / 16][word / 256 * 16 + word % 16]
                                       : &weights[unit - ROW_TILES][word / 16][word % 16];
            *(Four *)to = next[n];
        }
        for (u32 i = thread(); i < (ROW_TILES + BLOCKS) * LANES; i += THREADS) {
            bool is_row = i < ROW_TILES * LANES;
            u32 j = is_row ? i : i - ROW_TILES * LANES;
            u32 place = (is_row ? first_tile : first_block) + j / LANES;
            bool there = place < (is_row ? tiles : p.blocks);
            float scale = there ? (is_row ? p.row_scales : p.weight_scales)[((size_t)place * p.groups + group) * LANES + j % LANES] : 0.0f;
            (is_row ? row_scales : weight_scales)[j] = scale;
        }
        barrier();
        if (group + 1 < p.groups) load(group + 1);
        // Each is read from shared memory once: the weights stay for all tiles.
        u32 b[PARTS][4][2];
        float column_scales[PARTS][2];
        UNROLL
        for (u32 n = 0; n < PARTS; n++) {
            u32 block = (part + n) / 2, output = (part + n) % 2 * 8;
            UNROLL
            for (u32 k = 0; k < 4; k++) {
                b[n][k][0] = weights[block][k * 8 + lane % 4][output + lane / 4];
                b[n][k][1] = weights[block][k * 8 + 4 + lane % 4][output + lane / 4];
            }
            UNROLL
            for (u32 i = 0; i < 2; i++) column_scales[n][i] = weight_scales[block * LANES + output + lane % 4 * 2 + i];
        }
        UNROLL
        for (u32 t = 0; t < TILES; t++) {
            u32 r = row + t * LANES;
            // No row of this tile is there; the whole warp goes on.
            if (first_tile + warp / WARPS_N * TILES + t >= tiles) continue;
            // The parts' products do not wait for each other.
            int sums[PARTS][4] = {};
            UNROLL
            for (u32 k = 0; k < 4; k++) {
                u32 a[4] = {rows[r][k * 8 + lane % 4], rows[r + 8][k * 8 + lane % 4],
                            rows[r][k * 8 + 4 + lane % 4], rows[r + 8][k * 8 + 4 + lane % 4]};
                UNROLL
                for (u32 n = 0; n < PARTS; n++) multiply_signed(sums[n], a, b[n][k]);
            }
            float scales[2] = {row_scales[r], row_scales[r + 8]};
            UNROLL
            for (u32 n = 0; n < PARTS; n++)
                UNROLL
                for (u32 i = 0; i < 4; i++)
                    totals[t][n][i] = fmaf((float)sums[n][i], scales[i / 2] * column_scales[n][i % 2], totals[t][n][i]);
        }
        barrier();
    }
    UNROLL
    for (u32 t = 0; t < TILES; t++)
        UNROLL
        for (u32 n = 0; n < PARTS; n++)
            UNROLL
            for (u32 i = 0; i < 4; i++) {
                u32 r = first_tile * LANES + row + t * LANES + i / 2 * 8;
                u32 output = first_block * LANES + (part + n) * 8 + lane % 4 * 2 + i % 2;
                if (r >= p.count || output >= p.width) continue;
                float *out = p.out + (size_t)r * p.stride + output, number = totals[t][n][i];
                if (p.bias) number += p.bias[output];
                *out = p.add ? *out + number : number;
            }
}

// Of many rows: tiles of 128 × 128.
KERNEL(product_of_many, Product, 256) { product<2, 4, 4, 4>(p); }

// Of few rows: 64 × 32, so that a narrow matrix still gives every processor a block.
KERNEL(product_of_few, Product, 128) { product<4, 1, 1, 4>(p); }

#define WARPS 8u

// Of very few rows. A block has a tile of rows and a block of outputs, and each of its warps another
// group of inputs, so that much of a matrix is under way at once; sums are added in the groups' order.
KERNEL(product_of_tile, Product, WARPS * 32) {
    SHARED float sums[WARPS][LANES * LANES];
    u32 block = block_x(), tile = block_y(), warp = thread() / 32, lane = thread() % 32;
    const u32 *rows = p.rows + (size_t)tile * p.groups * GROUP_WORDS;
    const u32 *weights = p.weights + (size_t)block * p.groups * GROUP_WORDS;
    // The number of the result that is this thread's.
    u32 r = thread() / LANES, o = thread() % LANES;
    const float *row_scales = p.row_scales + (size_t)tile * p.groups * LANES + r;
    const float *weight_scales = p.weight_scales + (size_t)block * p.groups * LANES + o;
    u32 a[4][4], b[2][4][2];
    auto load = [&](u32 group) {
        if (group >= p.groups) return;
        const u32 *row = rows + (size_t)group * GROUP_WORDS + lane / 4 * 16 + lane % 4;
        const u32 *weight = weights + (size_t)group * GROUP_WORDS + lane % 4 * LANES + lane / 4;
        UNROLL
        for (u32 k = 0; k < 4; k++) {
            const u32 *from = row + k / 2 * 256 + k % 2 * 8;
            a[k][0] = from[0];
            a[k][1] = from[8 * 16];
            a[k][2] = from[4];
            a[k][3] = from[8 * 16 + 4];
            UNROLL
            for (u32 n = 0; n < 2; n++) {
                b[n][k][0] = weight[k * 8 * LANES + n * 8];
                b[n][k][1] = weight[(k * 8 + 4) * LANES + n * 8];
            }
        }
    };
    float total = 0.0f;
    load(warp);
    for (u32 first = 0; first < p.groups; first += WARPS) {
        float scales[WARPS] = {};
        UNROLL
        for (u32 w = 0; w < WARPS; w++)
            if (first + w < p.groups) scales[w] = row_scales[(first + w) * LANES] * weight_scales[(first + w) * LANES];
        // The whole warp has a group or none.
        if (first + warp < p.groups) {
            UNROLL
            for (u32 n = 0; n < 2; n++) {
                int found[4] = {};
                UNROLL
                for (u32 k = 0; k < 4; k++) multiply_signed(found, a[k], b[n][k]);
                UNROLL
                for (u32 i = 0; i < 4; i++)
                    sums[warp][(lane / 4 + i / 2 * 8) * LANES + n * 8 + lane % 4 * 2 + i % 2] = (float)found[i];
            }
        }
        load(first + WARPS + warp);
        barrier();
        UNROLL
        for (u32 w = 0; w < WARPS; w++)
            if (first + w < p.groups) total = fmaf(sums[w][thread()], scales[w], total);
        barrier();
    }
    u32 row = tile * LANES + r, output = block * LANES + o;
    if (row >= p.count || output >= p.width) return;
    float *out = p.out + (size_t)row * p.stride + output;
    if (p.bias) total += p.bias[output];
    *out = p.add ? *out + total : total;
}

// One sequence's new tokens.
struct Piece {
    // Row of the first new token, tokens of its own segment that were there before.
    u32 row, old;
    // Its segments, oldest first, its own last, in `planes`.
    u32 first_plane, plane_count;
};

// A segment: for each layer, for each head, `capacity · head` keys in blocks of 16, a dimension after
// the other, then as many values, a token after the other.
struct Plane {
    float *numbers;
    // Tokens that are there; of the last of a piece, before this step.
    u32 length, capacity;
};

struct Attention {
    // Rows of queries, keys and values, `row` numbers each.
    float *projected;
    float *out;
    const float *turns;
    const Piece *pieces;
    const Plane *planes;
    // Of each row: its piece and its position.
    const u32 *piece_of, *position_of;
    u32 row, heads, kv_heads, head;
    u32 layer, neighbours;
    // Queries of a block, and the most columns that its scores have.
    u32 queries, columns;
    float factor;
};

DEVICE float *keys_of(const Attention &p, const Plane &plane, u32 kv_head) {
    return plane.numbers + (size_t)(p.layer * p.kv_heads + kv_head) * 2 * plane.capacity * p.head;
}

// Turns queries and keys by their positions; stores keys and values.
KERNEL(turn_and_store, Attention, ROW_THREADS) {
    u32 row = block_x(), half = p.head / 2;
    const Piece piece = p.pieces[p.piece_of[row]];
    const Plane own = p.planes[piece.first_plane + piece.plane_count - 1];
    u32 place = piece.old + row - piece.row;
    const float *turns = p.turns + (size_t)p.position_of[row] * p.head;
    float *numbers = p.projected + (size_t)row * p.row;
    for (u32 i = thread(); i < (p.heads + p.kv_heads) * half; i += ROW_THREADS) {
        u32 head = i / half, pair = i % half;
        u32 a = p.neighbours ? 2 * pair : pair, b = p.neighbours ? 2 * pair + 1 : pair + half;
        float *of = numbers + head * p.head;
        float x = of[a], y = of[b], cosine = turns[pair], sine = turns[half + pair];
        float turned_a = fmaf(x, cosine, -(y * sine)), turned_b = fmaf(x, sine, y * cosine);
        if (head < p.heads) {
            of[a] = turned_a;
            of[b] = turned_b;
        } else {
            float *keys = keys_of(p, own, head - p.heads) + (size_t)(place / LANES) * LANES * p.head + place % LANES;
            keys[a * LANES] = turned_a;
            keys[b * LANES] = turned_b;
        }
    }
    const float *values = numbers + (p.heads + p.kv_heads) * p.head;
    for (u32 i = thread(); i < p.kv_heads * p.head; i += ROW_THREADS) {
        u32 kv_head = i / p.head;
        float *to = keys_of(p, own, kv_head) + (size_t)own.capacity * p.head;
        to[(size_t)place * p.head + i % p.head] = values[i];
    }
}

#define MOST_QUERIES 8u

// Scores of COUNT queries on the keys of `length` tokens and what fills up their last block.
template <u32 COUNT> DEVICE void score_keys(const float *queries, u32 head, const float *keys, u32 length, float *scores, u32 columns) {
    for (u32 c = thread(); c < (length + LANES - 1) / LANES * LANES; c += ROW_THREADS) {
        float dots[COUNT] = {};
        const float *key = keys + (size_t)(c / LANES) * LANES * head + c % LANES;
        if (c < length) {
            UNROLL_2
            for (u32 d = 0; d < head; d += 4) {
                float numbers[4];
                UNROLL
                for (u32 i = 0; i < 4; i++) numbers[i] = key[(d + i) * LANES];
                UNROLL
                for (u32 q = 0; q < COUNT; q++) {
                    Quad query = quad(queries + q * head + d);
                    UNROLL
                    for (u32 i = 0; i < 4; i++) dots[q] = fmaf(query.of[i], numbers[i], dots[q]);
                }
            }
        }
        UNROLL
        for (u32 q = 0; q < COUNT; q++) scores[q * columns + c] = c < length ? dots[q] : LEAST;
    }
}

// What attention of a block keeps in shared memory.
struct AttentionMemory {
    float *scores, *queries, *lanes, *sums;
};

// Attention of COUNT of one row's queries of one head of keys, the head's queries from `first` on.
template <u32 COUNT> DEVICE void attend_count(const Attention &p, u32 first, const AttentionMemory &memory) {
    u32 row = block_x(), kv_head = block_y(), group = p.heads / p.kv_heads;
    const Piece piece = p.pieces[p.piece_of[row]];
    const Plane *planes = p.planes + piece.first_plane;
    // Its own segment as far as this row may see it.
    u32 seen = piece.old + row - piece.row + 1, last = piece.plane_count - 1;
    const float *query = p.projected + (size_t)row * p.row + (kv_head * group + first) * p.head;
    for (u32 i = thread(); i < COUNT * p.head; i += ROW_THREADS) memory.queries[i] = query[i];
    u32 columns = 0;
    for (u32 n = 0; n <= last; n++) columns += ((n == last ? seen : planes[n].length) + LANES - 1) / LANES * LANES;
    barrier();
    u32 column = 0;
    for (u32 n = 0; n <= last; n++) {
        const Plane plane = planes[n];
        u32 length = n == last ? seen : plane.length;
        score_keys<COUNT>(memory.queries, p.head, keys_of(p, plane, kv_head), length, memory.scores + column, columns);
        column += (length + LANES - 1) / LANES * LANES;
    }
    barrier();
    exponentials(memory.scores, COUNT, columns, p.factor, 0.0f, memory.lanes, memory.sums, ROW_THREADS);
    for (u32 d = thread(); d < p.head; d += ROW_THREADS) {
        float mixed[COUNT] = {};
        column = 0;
        for (u32 n = 0; n <= last; n++) {
            const Plane plane = planes[n];
            u32 length = n == last ? seen : plane.length;
            const float *values = keys_of(p, plane, kv_head) + (size_t)plane.capacity * p.head + d;
            float more[COUNT] = {};
            mix_values<COUNT>(memory.scores + column, columns, values, p.head, length, more);
            UNROLL
            for (u32 q = 0; q < COUNT; q++) mixed[q] = n == 0 ? more[q] : mixed[q] + more[q];
            column += (length + LANES - 1) / LANES * LANES;
        }
        float *out = p.out + (size_t)row * p.heads * p.head + (kv_head * group + first) * p.head + d;
        UNROLL
        for (u32 q = 0; q < COUNT; q++) out[q * p.head] = mixed[q] * (1.0f / memory.sums[q]);
    }
}

#define MOST_QUERIES 8u

// Attention of one row's queries of one head of keys. Shared memory: of each query a row of scores
// and its own numbers.
KERNEL(attend, Attention, ROW_THREADS) {
    alignas(16) SHARED float lanes[MOST_QUERIES * LANES];
    SHARED float sums[MOST_QUERIES];
    float *scores = dynamic_shared();
    AttentionMemory memory = {scores, scores + p.queries * p.columns, lanes, sums};
    u32 group = p.heads / p.kv_heads, first = block_z() * p.queries;
    switch (group - first < p.queries ? group - first : p.queries) {
    case 1: return attend_count<1>(p, first, memory);
    case 2: return attend_count<2>(p, first, memory);
    case 3: return attend_count<3>(p, first, memory);
    case 4: return attend_count<4>(p, first, memory);
    case 5: return attend_count<5>(p, first, memory);
    case 6: return attend_count<6>(p, first, memory);
    case 7: return attend_count<7>(p, first, memory);
    default: return attend_count<8>(p, first, memory);
    }
}

// The likeliest token of each row of logits; of equals the first.
struct Likeliest {
    const float *logits;
    u32 *tokens;
    u32 stride, vocabulary;
};

#define LIKELIEST_THREADS 256u

KERNEL(likeliest, Likeliest, LIKELIEST_THREADS) {
    SHARED float logits[LIKELIEST_THREADS];
    SHARED u32 tokens[LIKELIEST_THREADS];
    const float *row = p.logits + (size_t)block_x() * p.stride;
    float best = LEAST;
    u32 token = 0;
    for (u32 i = thread(); i < p.vocabulary; i += LIKELIEST_THREADS)
        if (row[i] > best) {
            best = row[i];
            token = i;
        }
    logits[thread()] = best;
    tokens[thread()] = token;
    barrier();
    if (thread() == 0) {
        for (u32 t = 1; t < LIKELIEST_THREADS; t++)
            if (logits[t] > best || (logits[t] == best && best > LEAST && tokens[t] < token)) {
                best = logits[t];
                token = tokens[t];
            }
        p.tokens[block_x()] = token;
    }
}
