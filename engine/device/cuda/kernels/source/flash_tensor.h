// Flash attention on the tensor cores, for 16-bit operands with heads of up to
// 128 elements. The comments of flash.cu hold here too; scores, probabilities and
// sums stay in registers, and probabilities become 16-bit numbers when they are
// multiplied again. A block has 64 rows, each of its four warps 16; columns come
// in tiles, and one is used while the next arrives.
#pragma once
#include "attention.h"
#include "tensor.h"

const i32 flash_rows = 64;
const float log2_e = 1.44269504f, ln_2 = 0.693147181f;

// FlashShelf is the shared memory: rows that stay, and two stages of columns.
template <i32 dim, i32 cols> struct FlashShelf {
    static constexpr i32 chunks = dim / 8, row_numbers = flash_rows * dim, col_numbers = cols * dim;
    u16 *at;

    DEVICE_MEMBER Chunks<chunks> rows(i32 i) const { return {at + i * row_numbers}; }
    // columns returns operand i of a stage, behind resident operands of rows.
    DEVICE_MEMBER Chunks<chunks> columns(i32 resident, i64 stage, i32 i) const {
        return {at + resident * row_numbers + ((i32)(stage % 2) * 2 + i) * col_numbers};
    }
};

// fetch_tile starts the copy of rows rows of a head from the first on.
template <i32 chunks> DEVICE void fetch_tile(const Chunks<chunks> &to, const AttentionArgs &a, const Heads &h, i64 head, i64 first, i32 rows, i64 limit) {
    u64 addr = h.array.addr + head_of(h, a.heads, head) * 2;
    const Source s = {addr, h.row_stride, limit, a.dim, aligned_rows(addr, h.row_stride)};
    for (i32 i = thread_id(); i < rows * chunks; i += 128) fetch_chunk(to.chunk(i / chunks, i % chunks), s, first + i / chunks, i % chunks * 8);
}

// Scores is the 16 × cols sums of a warp: eight columns in every part.
template <i32 cols> struct Scores {
    float x[cols / 8][4];
};

// score sets s to rows · columnsᵀ.
template <typename Kind, i32 chunks, i32 cols> DEVICE void score(Scores<cols> &s, const u32 (*rows)[4], const Chunks<chunks> &columns) {
    UNROLLED for (i32 n = 0; n < cols / 16; n++) {
        UNROLLED for (i32 i = 0; i < 8; i++) s.x[2 * n + i / 4][i % 4] = 0;
        UNROLLED for (i32 k = 0; k < chunks / 2; k++) {
            u32 y[4];
            columns.right(y, n * 16, k * 2);
            Kind::multiply(s.x[2 * n], rows[k], y);
            Kind::multiply(s.x[2 * n + 1], rows[k], y + 2);
        }
    }
}

// add_product adds s · columns to out.
template <typename Kind, i32 chunks, i32 cols> DEVICE void add_product(float (*out)[4], const Scores<cols> &s, const Chunks<chunks> &columns) {
    UNROLLED for (i32 k = 0; k < cols / 16; k++) {
        const float *low = s.x[2 * k], *high = s.x[2 * k + 1];
        const u32 x[4] = {Kind::pair(low[0], low[1]), Kind::pair(low[2], low[3]), Kind::pair(high[0], high[1]), Kind::pair(high[2], high[3])};
        UNROLLED for (i32 d = 0; d < chunks / 2; d++) {
            u32 y[4];
            columns.right_transposed(y, k * 16, d * 2);
            Kind::multiply(out[2 * d], x, y);
            Kind::multiply(out[2 * d + 1], x, y + 2);
        }
    }
}

// store_fragments writes 16 rows of sums to a head.
template <i32 chunks> DEVICE void store_fragments(const AttentionArgs &a, const Heads &h, i64 head, i64 first, i64 rows, const float (*out)[4]) {
    i64 base = head_of(h, a.heads, head);
    UNROLLED for (i32 d = 0; d < chunks; d++) {
        FragmentFour four = four_of(out[d]);
        const float *x = four.x;
        i64 row = first + four.row, col = d * 8 + four.col, left = a.dim - col;
        if (row < rows && left > 0) store_four(h.array.addr, h.array.type, base + row * h.row_stride + col, left < 4 ? (i32)left : 4, x[0], x[1], x[2], x[3]);
    }
}

DEVICE float over_four(float x, bool largest) {
    for (u32 mask = 1; mask < 4; mask *= 2) {
        float y = shuffled(x, mask);
        x = largest ? math::larger(x, y) : x + y;
    }
    return x;
}

template <typename Kind, i32 dim, i32 cols> DEVICE void flash_tensor(const AttentionArgs &a) {
    constexpr i32 chunks = dim / 8;
    SHARED_BYTES(bytes);
    const FlashShelf<dim, cols> shelf = {(u16 *)bytes};
    i64 blocks = (a.queries + flash_rows - 1) / flash_rows, head = block_x() / blocks;
    i64 first = (blocks - 1 - block_x() % blocks) * flash_rows; // the longest first
    i64 last = first + flash_rows < a.queries ? first + flash_rows - 1 : a.queries - 1, seen = visible(a, last);
    auto fetch = [&](i64 tile) {
        if (tile * cols < seen) {
            fetch_tile(shelf.columns(1, tile, 0), a, a.k, head, tile * cols, cols, a.keys);
            fetch_tile(shelf.columns(1, tile, 1), a, a.v, head, tile * cols, cols, a.keys);
        }
        copy_async_commit();
    };
    fetch_tile(shelf.rows(0), a, a.q, head, first, flash_rows, a.queries);
    fetch(0);
    copy_async_wait<0>();
    barrier();
    i32 lane = thread_id() % 32, warp_row = thread_id() / 32 * 16;
    u32 q[chunks / 2][4];
    UNROLLED for (i32 k = 0; k < chunks / 2; k++) shelf.rows(0).left(q[k], warp_row, k * 2);
    const i64 query = first + warp_row + lane / 4; // and query + 8
    const i64 limit[2] = {visible(a, query), visible(a, query + 8)};
    const float lowest = -math::infinity(0.0f), scale = (float)a.scale * log2_e;
    float out[chunks][4] = {}, top[2] = {lowest, lowest}, total[2] = {0, 0};
    ROLLED for (i64 tile = 0; tile * cols < seen; tile++) {
        copy_async_wait<0>();
        barrier();
        fetch(tile + 1);
        Scores<cols> s;
        score<Kind, chunks>(s, q, shelf.columns(1, tile, 0));
        float larger[2] = {top[0], top[1]};
        i32 here[2]; // the columns of the tile that the queries see, from this lane's first on
        UNROLLED for (i32 r = 0; r < 2; r++) {
            i64 n = limit[r] - tile * cols - lane % 4 * 2;
            here[r] = n < 0 ? 0 : n > cols ? cols : (i32)n;
        }
        UNROLLED for (i32 i = 0; i < cols / 2; i++) {
            float &x = s.x[i / 4][i % 4];
            i32 r = i % 4 / 2;
            x = i / 4 * 8 + i % 2 < here[r] ? x * scale : lowest;
            larger[r] = math::larger(larger[r], x);
        }
        float shrink[2];
        UNROLLED for (i32 r = 0; r < 2; r++) {
            larger[r] = over_four(larger[r], true);
            float shift = larger[r] == lowest ? 0 : larger[r];
            shrink[r] = exp2_fast(top[r] - shift);
            total[r] *= shrink[r];
            top[r] = larger[r];
            larger[r] = shift;
        }
        UNROLLED for (i32 i = 0; i < cols / 2; i++) {
            float &x = s.x[i / 4][i % 4];
            x = exp2_fast(x - larger[i % 4 / 2]);
            total[i % 4 / 2] += x;
        }
        UNROLLED for (i32 i = 0; i < chunks * 4; i++) out[i / 4][i % 4] *= shrink[i % 4 / 2];
        add_product<Kind, chunks>(out, s, shelf.columns(1, tile, 1));
    }
    UNROLLED for (i32 r = 0; r < 2; r++) {
        total[r] = over_four(total[r], false);
        if (lane % 4 == 0 && query + r * 8 < a.queries) element<float>(a.lse, head * a.queries + query + r * 8) = top[r] * ln_2 + math::log(total[r]);
        total[r] = total[r] == 0 ? 0 : 1 / total[r]; // a query that sees no key gets zeros
    }
    UNROLLED for (i32 i = 0; i < chunks * 4; i++) out[i / 4][i % 4] *= total[i % 4 / 2];
    store_fragments<chunks>(a, a.o, head, first + warp_row, a.queries, out);
}

// Sight is the columns that the two rows of a lane see, from low to high, and with
// queries as rows what is kept of them.
struct Sight {
    i64 low[2], high[2];
    float lse[2], delta[2];
};

// kept returns what the forward operation kept of a query, for powers of 2, and
// its delta.
DEVICE void kept(const AttentionArgs &a, i64 head, i64 query, float &lse, float &delta) {
    bool there = query < a.queries;
    i64 at = head * a.queries + query;
    lse = there ? element<float>(a.lse, at) * log2_e : 0;
    delta = there ? element<float>(a.delta, at) : 0;
}

template <bool for_keys> DEVICE Sight sight_of(const AttentionArgs &a, i64 head, i64 row) {
    Sight s;
    for (i32 r = 0; r < 2; r++) {
        i64 i = row + r * 8;
        s.low[r] = for_keys ? first_query(a, i) : 0;
        s.high[r] = for_keys ? a.queries : i < a.queries ? visible(a, i) : 0;
        if (!for_keys) kept(a, head, i, s.lse[r], s.delta[r]);
    }
    return s;
}

// gradients turns scores into probabilities and dp into the scores' gradients.
template <bool for_keys, i32 cols> DEVICE void gradients(const AttentionArgs &a, i64 head, i64 col, const Sight &sight, Scores<cols> &s, Scores<cols> &dp) {
    const float scale = (float)a.scale * log2_e;
    col += thread_id() % 4 * 2;
    i32 low[2], high[2]; // counted from col, as far as the tile goes
    UNROLLED for (i32 r = 0; r < 2; r++) {
        i64 from = sight.low[r] - col, to = sight.high[r] - col;
        low[r] = from > cols ? cols : (i32)from;
        high[r] = to > cols ? cols : (i32)to;
        if (sight.low[r] < col) low[r] = 0;
        if (sight.high[r] < col) high[r] = 0;
    }
    UNROLLED for (i32 i = 0; i < cols / 4; i++) {
        i32 c = i / 2 * 8 + i % 2;
        float lse, delta;
        if (for_keys) kept(a, head, col + c, lse, delta);
        UNROLLED for (i32 r = 0; r < 2; r++) {
            float &p = s.x[i / 2][r * 2 + i % 2], &d = dp.x[i / 2][r * 2 + i % 2];
            bool sees = c >= low[r] && c < high[r];
            p = sees ? exp2_fast(fused(p, scale, for_keys ? -lse : -sight.lse[r])) : 0;
            d = p * (d - (for_keys ? delta : sight.delta[r]));
        }
    }
}

// flash_tensor_backward is flash_backward of flash.cu.
template <typename Kind, i32 dim, i32 cols, bool for_keys> DEVICE void flash_tensor_backward(const AttentionArgs &a) {
    constexpr i32 chunks = dim / 8;
    SHARED_BYTES(bytes);
    const FlashShelf<dim, cols> shelf = {(u16 *)bytes};
    const i64 rows = for_keys ? a.keys : a.queries, columns = for_keys ? a.queries : a.keys;
    i64 blocks = (rows + flash_rows - 1) / flash_rows, head = block_x() / blocks;
    i64 place = block_x() % blocks, first = (for_keys ? place : blocks - 1 - place) * flash_rows; // the longest first
    i64 last = first + flash_rows < rows ? first + flash_rows - 1 : rows - 1;
    i64 begin = for_keys ? first_query(a, first) / cols : 0, end = for_keys ? columns : visible(a, last);
    auto fetch = [&](i64 tile) {
        if (tile * cols < end) {
            fetch_tile(shelf.columns(2, tile, 0), a, for_keys ? a.q : a.k, head, tile * cols, cols, columns);
            fetch_tile(shelf.columns(2, tile, 1), a, for_keys ? a.d_o : a.v, head, tile * cols, cols, columns);
        }
        copy_async_commit();
    };
    fetch_tile(shelf.rows(0), a, for_keys ? a.k : a.q, head, first, flash_rows, rows);
    fetch_tile(shelf.rows(1), a, for_keys ? a.v : a.d_o, head, first, flash_rows, rows);
    fetch(begin);
    const i32 warp_row = thread_id() / 32 * 16;
    const Sight sight = sight_of<for_keys>(a, head, first + warp_row + thread_id() % 32 / 4);
    float out1[chunks][4] = {}, out2[chunks][4] = {};
    ROLLED for (i64 tile = begin; tile * cols < end; tile++) {
        copy_async_wait<0>();
        barrier();
        fetch(tile + 1);
        Scores<cols> s, dp;
        u32 x[chunks / 2][4];
        UNROLLED for (i32 k = 0; k < chunks / 2; k++) shelf.rows(0).left(x[k], warp_row, k * 2);
        score<Kind, chunks>(s, x, shelf.columns(2, tile, 0));
        UNROLLED for (i32 k = 0; k < chunks / 2; k++) shelf.rows(1).left(x[k], warp_row, k * 2);
        score<Kind, chunks>(dp, x, shelf.columns(2, tile, 1));
        gradients<for_keys>(a, head, tile * cols, sight, s, dp);
        add_product<Kind, chunks>(out1, dp, shelf.columns(2, tile, 0));
        if (for_keys) add_product<Kind, chunks>(out2, s, shelf.columns(2, tile, 1));
    }
    copy_async_wait<0>();
    UNROLLED for (i32 i = 0; i < chunks * 4; i++) out1[i / 4][i % 4] *= (float)a.scale;
    store_fragments<chunks>(a, for_keys ? a.dk : a.dq, head, first + warp_row, rows, out1);
    if (for_keys) store_fragments<chunks>(a, a.dv, head, first + warp_row, rows, out2);
}
