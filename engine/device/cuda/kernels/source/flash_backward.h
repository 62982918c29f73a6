// The gradients of flash attention on the tensor cores, in one pass of five
// products.
//
// A block has some keys, their fragments divided among its warps, and goes along
// the tiles of queries that see them. dK and dV stay in registers. The tile's part
// of dQ is added to what the blocks of later keys have left in memory, each
// block in its turn, so that the order of sums is fixed by sizes: the block of the
// last keys that a tile sees begins, and that of the first ones writes dQ. With
// Causal, blocks begin at their own diagonal, and each comes to a tile just after
// the one before it in that order; so they seldom wait. Blocks take their keys in
// that order as they begin to run, so none waits for one that has not begun.
//
// Two passes, one for dQ and one for dK and dV, would make seven products. Here, 128
// keys by 64 queries of 64 elements are 1,280 mma of 2,048 multiplications in
// place of 1,792, half of the exponentials, and 16 KB of sums that are read and
// written again beside 16 KB of queries: 41 KB of the second cache's in place
// of 32, on an H100 the time of 1,400 cycles beside the products' 2,000.
#pragma once
#include "flash_tensor.h"

// QueryRows is what is kept of the queries of two tiles: −lse for powers of 2,
// then Σ dO·O.
template <i32 queries> struct QueryRows {
    float x[2][2 * queries];
};

// Turns counts the parts of dQ that have been added to tiles of queries.
template <i32 keys, i32 queries> struct Turns {
    u32 *done; // of the head
    i32 block; // of keys

    // before returns how many blocks add to a tile before this one.
    DEVICE_MEMBER i32 before(const AttentionArgs &a, i32 tile) const {
        const i32 end = (tile + 1) * queries, last = (end < (i32)a.queries ? end : (i32)a.queries) - 1;
        const i32 blocks = ((i32)visible(a, last) + keys - 1) / keys;
        return (blocks < 1 ? 1 : blocks) - 1 - block;
    }
};

// Gradients is what a warp has of scores: of keys by 32 queries.
template <i32 mine> struct Gradients {
    Words<mine, 32> p, ds;
};

// gradients computes probabilities and the scores' gradients of 32 queries.
template <typename Kind, i32 mine, i32 queries, i32 chunks>
DEVICE Gradients<mine> gradients(const Chunks<chunks> &k, const Chunks<chunks> &v, const Chunks<chunks> &q, const Chunks<chunks> &d_o, i32 warp_row, i32 from, const float *kept, float scale, i32 keys, i32 sees) {
    Scores<mine, 32> s = {}, dp = {};
    auto multiply = [&](Scores<mine, 32> &sum, const Chunks<chunks> &rows, const Chunks<chunks> &columns) {
        UNROLLED for (i32 d = 0; d < chunks; d += 2) {
            u32 x[mine][4], y[4];
            UNROLLED for (i32 m = 0; m < mine; m++) rows.left(x[m], warp_row + m * 16, d);
            UNROLLED for (i32 n = 0; n < 2; n++) {
                columns.right(y, from + n * 16, d);
                multiply_fragments<Kind, mine>(sum.x, 2 * n, x, y);
            }
        }
    };
    multiply(s, k, q);
    multiply(dp, v, d_o);
    const i32 row = warp_row + thread_id() % 32 / 4, col = from + thread_id() % 4 * 2;
    if (keys < 64 * mine || from + sees < 64 * mine) { // not every query sees all keys
        SELDOM;
        const float hidden = scale < 0 ? math::infinity(0.0f) : -math::infinity(0.0f);
        UNROLLED for (i32 i = 0; i < 16 * mine; i++) {
            i32 key = row + i / 16 * 16 + i % 4 / 2 * 8, limit = col + i / 4 % 4 * 8 + i % 2 + sees;
            if (key >= keys || key >= limit) s.x[i / 16][i / 4 % 4][i % 4] = hidden;
        }
    }
    UNROLLED for (i32 n = 0; n < 4; n++) {
        UNROLLED for (i32 c = 0; c < 2; c++) {
            const float lse = kept[col + n * 8 + c], delta = kept[queries + col + n * 8 + c];
            UNROLLED for (i32 i = 0; i < 2 * mine; i++) {
                float &p = s.x[i / 2][n][i % 2 * 2 + c], &d = dp.x[i / 2][n][i % 2 * 2 + c];
                p = exp2_fast(fused(p, scale, lse));
                d = p * (d - delta);
            }
        }
    }
    return {words_of<Kind>(s), words_of<Kind>(dp)};
}

// store_tile stores a warp's words as a tile of the block: a row is a key.
template <i32 mine, i32 chunks> DEVICE void store_tile(const Chunks<chunks> &to, const Words<mine, 32> &w, i32 warp_row, i32 from) {
    const i32 lane = thread_id() % 32;
    UNROLLED for (i32 i = 0; i < 8 * mine; i++) {
        const i32 m = i / 8, k = i / 4 % 2, word = i % 4;
        store_shared(to.near(warp_row + m * 16 + word % 2 * 8, from / 8 + k * 2, lane / 4, word / 2) + lane % 4 * 4, w.x[m][k][word]);
    }
}

// Sums is a warp's quarter of a tile of dQ. In memory, 16 rows of 8 columns are
// together: four numbers of every lane.
template <i32 rows, i32 parts> struct Sums {
    float x[rows][parts][4];

    // each calls f with four sums and their address, of fragments that are there.
    template <typename F> DEVICE_MEMBER void each(float *at, i32 across, i32 rows_left, i32 parts_left, F f) {
        UNROLLED for (i32 i = 0; i < rows * parts; i++) {
            const i32 m = i / parts, n = i % parts;
            if (m < rows_left && n < parts_left) f(x[m][n], at + (m * across + n) * 128);
        }
    }
};

template <typename Kind, i32 dim, i32 mine, i32 queries> DEVICE void flash_backward_tensor(const AttentionArgs &a) {
    constexpr i32 chunks = dim / 8, keys = 64 * mine;
    typedef Chunks<chunks> Rows;
    SHARED_BYTES(bytes);
    SHARED(QueryRows<queries>, kept);
    const u32 shelf = shared_address(bytes);
    const Rows k = {shelf}, v = {shelf + keys * dim * 2};
    const Chunks<queries / 8> ds = {shelf + (2 * keys + 4 * queries) * dim * 2};
    auto columns = [&](i32 tile, i32 operand) { return Rows{shelf + (2 * keys + (tile % 2 * 2 + operand) * queries) * dim * 2}; };

    if (thread_id() == 0) kept.x[0][0] = float_of(take((u32 *)a.turns.addr));
    barrier();
    const u32 place = bits_of(kept.x[0][0]);
    barrier();
    const i32 blocks = ((i32)a.keys + keys - 1) / keys, tiles = ((i32)a.queries + queries - 1) / queries;
    const i32 head = place / blocks, block = blocks - 1 - place % blocks, first = block * keys;
    const i32 begin = block == 0 ? 0 : (i32)first_query(a, first) / queries;
    const Turns<keys, queries> turns = {(u32 *)a.turns.addr + 1 + (i64)head * tiles, block};
    const i32 warp = thread_id() / 32, warp_row = warp * 16 * mine;
    const i32 half = warp / 2 * (queries / 2), part = warp % 2 * (chunks / 2); // of a tile of dQ, this warp's quarter
    const i32 down = ((i32)a.queries + 15) / 16, across = (i32)a.dim / 8; // fragments of a head
    float *sums = (float *)a.sums.addr + (((i64)head * down + half / 16) * across + part) * 128 + thread_id() % 32 * 4;

    const HeadRows q = rows_of(a, a.q, head, a.queries), d_o = rows_of(a, a.d_o, head, a.queries);
    const bool is_lse = (i32)thread_id() < queries;
    const float *of_queries = (const float *)(is_lse ? a.lse : a.delta).addr + head * a.queries;
    float next = 0; // what this thread keeps of a query
    auto fetch = [&](i32 tile) {
        if (tile < tiles) {
            fetch_tile<queries>(columns(tile, 0), q, tile * queries);
            fetch_tile<queries>(columns(tile, 1), d_o, tile * queries);
            i32 query = tile * queries + thread_id() % queries;
            next = query < a.queries ? of_queries[query] : 0;
            // A query that is not there or sees no key has the probabilities 2^−∞.
            if (is_lse) next = query < a.queries && next != -math::infinity(0.0f) ? -next * log2_e : -math::infinity(0.0f);
        }
        copy_async_commit();
    };
    fetch_tile<keys>(k, rows_of(a, a.k, head, a.keys), first);
    fetch_tile<keys>(v, rows_of(a, a.v, head, a.keys), first);
    fetch(begin);

    const i32 keys_left = a.keys - first < keys ? (i32)a.keys - first : keys;
    const float scale = (float)a.scale * log2_e;
    float dk[mine][chunks][4] = {}, dv[mine][chunks][4] = {};
    i32 before = 0; // blocks that add to dQ before this one
    auto pass = [&](i32 tile) {
        if (thread_id() == 0 && block > 0) publish(turns.done + tile, before + 1);
    };
    ROLLED for (i32 tile = begin; tile < tiles; tile++) {
        copy_async_wait<0>();
        if (thread_id() < 2 * queries) kept.x[tile % 2][thread_id()] = next;
        barrier(); // the tile has arrived, and no thread is at the one before
        if (tile > begin) pass(tile - 1);
        fetch(tile + 1);
        // The first query of the tile sees that many keys of the block, the next one more.
        const i32 sees = a.causal ? tile * queries + 1 + (i32)(a.keys - a.queries) - first : keys;
        ROLLED for (i32 from = 0; from < queries; from += 32) {
            const Gradients<mine> g = gradients<Kind, mine, queries>(k, v, columns(tile, 0), columns(tile, 1), warp_row, from, kept.x[tile % 2], scale, keys_left, sees);
            store_tile<mine>(ds, g.ds, warp_row, from);
            add_product<Kind>(dv, g.p, columns(tile, 1), from);
            add_product<Kind>(dk, g.ds, columns(tile, 0), from);
        }
        before = turns.before(a, tile);
        if (thread_id() == 0 && before > 0) wait_for(turns.done + tile, before);
        barrier();
        // dQ of the tile by quarters.
        Sums<queries / 32, chunks / 2> dq = {}, others = {};
        float *at = sums + (i64)(tile * (queries / 16) * across) * 128;
        const i32 rows_left = down - (tile * queries + half) / 16, parts_left = across - part;
        if (before > 0) others.each(at, across, rows_left, parts_left, [](float *x, float *from) { load_words4((u32 *)x, from); });
        UNROLLED for (i32 key = 0; key < keys; key += 16) {
            u32 x[queries / 32][4], y[4];
            UNROLLED for (i32 m = 0; m < queries / 32; m++) ds.left_transposed(x[m], key, half / 8 + m * 2);
            UNROLLED for (i32 d = 0; d < chunks / 2; d += 2) {
                k.right_transposed(y, key, part + d);
                multiply_fragments<Kind, queries / 32>(dq.x, d, x, y);
            }
        }
        const float factor = block > 0 ? 1 : (float)a.scale;
        UNROLLED for (i32 i = 0; i < queries * dim / flash_threads; i++) {
            float &x = (&dq.x[0][0][0])[i];
            x = (x + (&others.x[0][0][0])[i]) * factor;
        }
        if (block > 0) dq.each(at, across, rows_left, parts_left, [](float *x, float *to) { store_words4(to, (u32 *)x); });
        else {
            UNROLLED for (i32 m = 0; m < queries / 32; m++) store_fragments<Kind, chunks / 2>(rows_of(a, a.dq, head, a.queries), tile * queries + half + m * 16, dq.x[m], part);
        }
    }
    copy_async_wait<0>();
    barrier();
    if (begin < tiles) pass(tiles - 1);
    UNROLLED for (i32 m = 0; m < mine; m++) {
        UNROLLED for (i32 i = 0; i < chunks * 4; i++) dk[m][i / 4][i % 4] *= (float)a.scale;
        store_fragments<Kind, chunks>(rows_of(a, a.dk, head, a.keys), first + warp_row + m * 16, dk[m]);
        store_fragments<Kind, chunks>(rows_of(a, a.dv, head, a.keys), first + warp_row + m * 16, dv[m]);
    }
}
