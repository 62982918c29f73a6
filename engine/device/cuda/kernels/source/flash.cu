// Flash attention on ordinary cores, for operands of any types and heads of any
// size: after Dao et al., "FlashAttention" (NeurIPS 2022).
//
// A tile of queries goes along the tiles of keys that it sees. For every query
// it carries the largest score so far, the sum of e^(score − largest), and the
// output with these weights; when a larger score comes, both shrink. All tiles are
// in shared memory, and the host has chosen their size so that they fit.
#include "attention.h"

// FlashTiles divides the shared memory. Rows of dim elements have one more
// against bank conflicts.
struct FlashTiles {
    float *next;
    i32 tile, pitch;

    DEVICE_MEMBER float *take(i32 n) {
        float *p = next;
        next += n;
        return p;
    }
    DEVICE_MEMBER float *rows() { return take(tile * pitch); }
    DEVICE_MEMBER float *square() { return take(tile * tile); }
};

// each_place calls f with rows and columns of a tile: warps take rows, and lanes
// columns.
template <typename F> DEVICE void each_place(i32 rows, i32 cols, F f) {
    for (i32 r = thread_id() / 32; r < rows; r += block_size() / 32) {
        for (i32 c = thread_id() % 32; c < cols; c += 32) f(r, c);
    }
}

// fetch_rows reads a tile of a head. Rows behind the last one are 0.
DEVICE void fetch_rows(float *to, const AttentionArgs &a, const Heads &h, i64 head, i64 first, i64 rows) {
    const i64 base = head_of(h, a.heads, head) + first * h.row_stride;
    const i32 dim = (i32)a.dim, left = (i32)(rows - first);
    each_place(a.tile, dim, [&](i32 r, i32 d) { to[r * (dim + 1) + d] = r < left ? load<float>(h.array, base + r * h.row_stride + d) : 0.0f; });
}

DEVICE void store_rows(const float *from, const AttentionArgs &a, const Heads &h, i64 head, i64 first, i64 rows, float factor) {
    const i64 base = head_of(h, a.heads, head) + first * h.row_stride;
    const i32 dim = (i32)a.dim, left = (i32)(rows - first);
    each_place(a.tile, dim, [&](i32 r, i32 d) {
        if (r < left) store(h.array, base + r * h.row_stride + d, from[r * (dim + 1) + d] * factor);
    });
}

DEVICE void clear(float *x, i32 n) {
    for (i32 i = thread_id(); i < n; i += block_size()) x[i] = 0;
}

DEVICE float dot(const float *x, const float *y, i32 n) {
    float sum = 0;
    for (i32 i = 0; i < n; i++) sum = fused(x[i], y[i], sum);
    return sum;
}

// absorb turns a query's scores into weights and updates the largest score and the
// sum. It returns the factor for the output.
DEVICE float absorb(float *score, i32 n, float &top, float &total) {
    const float lowest = -math::infinity(0.0f);
    float larger = top;
    for (i32 c = 0; c < n; c++) larger = math::larger(larger, score[c]);
    float shift = larger == lowest ? 0.0f : larger, shrink = math::exp_small(top - shift);
    total *= shrink;
    for (i32 c = 0; c < n; c++) {
        score[c] = math::exp_small(score[c] - shift);
        total += score[c];
    }
    top = larger;
    return shrink;
}

KERNEL(flash, AttentionArgs, 256) {
    SHARED_BYTES(bytes);
    const i32 tile = a.tile, dim = (i32)a.dim, pitch = dim + 1;
    FlashTiles tiles = {(float *)bytes, tile, pitch};
    float *q = tiles.rows(), *kv = tiles.rows(), *o = tiles.rows(), *s = tiles.square(), *shrink = tiles.take(tile);
    i64 blocks = (a.queries + tile - 1) / tile, head = block_x() / blocks, first = block_x() % blocks * tile;
    i64 last = first + tile < a.queries ? first + tile - 1 : a.queries - 1, seen = visible(a, last);
    float top = -math::infinity(0.0f), total = 0; // of the query of this thread
    fetch_rows(q, a, a.q, head, first, a.queries);
    clear(o, tile * pitch);
    for (i64 key = 0; key < seen; key += tile) {
        fetch_rows(kv, a, a.k, head, key, a.keys);
        barrier();
        each_place(tile, tile, [&](i32 r, i32 c) {
            bool sees = key + c < visible(a, first + r);
            s[r * tile + c] = sees ? dot(q + r * pitch, kv + c * pitch, dim) * (float)a.scale : -math::infinity(0.0f);
        });
        barrier();
        fetch_rows(kv, a, a.v, head, key, a.keys);
        if ((i32)thread_id() < tile) shrink[thread_id()] = absorb(s + thread_id() * tile, tile, top, total);
        barrier();
        each_place(tile, dim, [&](i32 r, i32 d) {
            float sum = o[r * pitch + d] * shrink[r];
            for (i32 c = 0; c < tile; c++) sum = fused(s[r * tile + c], kv[c * pitch + d], sum);
            o[r * pitch + d] = sum;
        });
        barrier();
    }
    if ((i32)thread_id() < tile) {
        shrink[thread_id()] = total == 0 ? 0.0f : 1 / total; // a query that sees no key gets zeros
        if (first + thread_id() < a.queries) element<float>(a.lse, head * a.queries + first + thread_id()) = top + math::log(total);
    }
    barrier();
    each_place(tile, dim, [&](i32 r, i32 d) { o[r * pitch + d] *= shrink[r]; });
    barrier();
    store_rows(o, a, a.o, head, first, a.queries, 1.0f);
}

// flash_backward has two forms. For queries, rows are queries and columns keys:
// x1 = q, x2 = do, y1 = k, y2 = v, and dq = Σ ds·k. For keys it is the other way
// round: dk = Σ dsᵀ·q, dv = Σ pᵀ·do. Every form adds in its own order, so that
// no two blocks write to one place.
template <bool for_keys> DEVICE void flash_backward(const AttentionArgs &a) {
    SHARED_BYTES(bytes);
    const i32 tile = a.tile, dim = (i32)a.dim, pitch = dim + 1;
    FlashTiles tiles = {(float *)bytes, tile, pitch};
    float *x1 = tiles.rows(), *x2 = tiles.rows(), *y1 = tiles.rows(), *y2 = tiles.rows(), *out1 = tiles.rows(), *out2 = tiles.rows();
    float *p = tiles.square(), *ds = tiles.square();
    const i64 rows = for_keys ? a.keys : a.queries, cols = for_keys ? a.queries : a.keys;
    i64 blocks = (rows + tile - 1) / tile, head = block_x() / blocks, first = block_x() % blocks * tile;
    i64 last = first + tile < rows ? first + tile - 1 : rows - 1;
    i64 from = for_keys ? first_query(a, first) / tile * tile : 0, to = for_keys ? cols : visible(a, last);
    fetch_rows(x1, a, for_keys ? a.k : a.q, head, first, rows);
    fetch_rows(x2, a, for_keys ? a.v : a.d_o, head, first, rows);
    clear(out1, 2 * tile * pitch);
    for (i64 col = from; col < to; col += tile) {
        fetch_rows(y1, a, for_keys ? a.q : a.k, head, col, cols);
        fetch_rows(y2, a, for_keys ? a.d_o : a.v, head, col, cols);
        barrier();
        each_place(tile, tile, [&](i32 r, i32 c) {
            const i32 i = r * tile + c;
            i64 query = for_keys ? col + c : first + r, key = for_keys ? first + r : col + c;
            p[i] = ds[i] = 0;
            if (query >= a.queries || key >= visible(a, query)) return;
            float score = dot(x1 + r * pitch, y1 + c * pitch, dim) * (float)a.scale, dp = dot(x2 + r * pitch, y2 + c * pitch, dim);
            p[i] = math::exp_small(score - element<float>(a.lse, head * a.queries + query));
            ds[i] = p[i] * (dp - element<float>(a.delta, head * a.queries + query));
        });
        barrier();
        each_place(tile, dim, [&](i32 r, i32 d) {
            float sum1 = out1[r * pitch + d], sum2 = out2[r * pitch + d];
            for (i32 c = 0; c < tile; c++) {
                sum1 = fused(ds[r * tile + c], y1[c * pitch + d], sum1);
                if (for_keys) sum2 = fused(p[r * tile + c], y2[c * pitch + d], sum2);
            }
            out1[r * pitch + d] = sum1;
            out2[r * pitch + d] = sum2;
        });
        barrier();
    }
    barrier();
    store_rows(out1, a, for_keys ? a.dk : a.dq, head, first, rows, (float)a.scale);
    if (for_keys) store_rows(out2, a, a.dv, head, first, rows, 1.0f);
}

KERNEL(flash_queries, AttentionArgs, 256) { flash_backward<false>(a); }
KERNEL(flash_keys, AttentionArgs, 256) { flash_backward<true>(a); }
