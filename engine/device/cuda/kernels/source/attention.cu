// Attention whose scores are in memory: operations on rows of scores between
// products of matrices.
#include "attention.h"
#include "softmax.cu"

// ScoresArgs is rows of scores, of keys elements each: rows of every matrix, from
// the query first on.
struct ScoresArgs {
    Array scores, probs, lse, delta; // of the first matrix
    i64 scores_step, probs_step;     // elements from a matrix to the next
    i64 rows, first, queries, keys;
    double scale;
    i32 causal;
};

struct ScoresRow {
    i64 scores, probs, query, seen; // query counts through the matrices
};

DEVICE ScoresRow scores_row(const ScoresArgs &a) {
    i64 matrix = block_x() / a.rows, row = block_x() % a.rows, query = a.first + row, seen = a.keys;
    if (a.causal) seen = query + 1 + a.keys - a.queries;
    return {matrix * a.scores_step + row * a.keys, matrix * a.probs_step + row * a.keys, matrix * a.queries + query,
            seen < 0 ? 0 : seen > a.keys ? a.keys : seen};
}

// score_softmax turns scores into probabilities, and with lse present keeps the
// rows' log-sums.
template <typename T> DEVICE void score_softmax(const ScoresArgs &a) {
    ScoresRow r = scores_row(a);
    T lse = row_softmax<T>(a.probs, a.scores, r.probs, r.scores, a.keys, r.seen, (T)a.scale);
    if (present(a.lse) && thread_id() == 0) element<T>(a.lse, r.query) = lse;
}

KERNEL(score_softmax, ScoresArgs, 256) { score_softmax<float>(a); }
KERNEL(score_softmax_wide, ScoresArgs, 256) { score_softmax<double>(a); }

// score_backward turns scores into probabilities again, and their gradients, in
// probs, into those of the scores: scores = p, probs = p·(probs − delta).
template <typename T> DEVICE void score_backward(const ScoresArgs &a) {
    ScoresRow r = scores_row(a);
    T lse = element<T>(a.lse, r.query), delta = element<T>(a.delta, r.query);
    each_quad(r.scores, a.keys, [&](i64 i, i32 count) {
        T p[4], d[4];
        load4(p, a.scores, r.scores + i, count);
        load4(d, a.probs, r.probs + i, count);
        UNROLLED for (i32 k = 0; k < 4; k++) {
            bool sees = i + k < r.seen;
            p[k] = sees ? math::exp_small(p[k] * (T)a.scale - lse) : (T)0;
            d[k] = sees ? p[k] * (d[k] - delta) : (T)0;
        }
        store4(a.scores, r.scores + i, count, p);
        store4(a.probs, r.probs + i, count, d);
    });
}

KERNEL(score_backward, ScoresArgs, 256) { score_backward<float>(a); }
KERNEL(score_backward_wide, ScoresArgs, 256) { score_backward<double>(a); }

// attention_delta has 16 lanes for every query. It also makes turns 0.
template <typename T> DEVICE void attention_delta(const AttentionArgs &a) {
    const i64 thread = (i64)block_x() * block_size() + thread_id(), at = thread / 16;
    for (i64 i = thread; i < a.turns.len; i += (i64)blocks_x() * block_size()) element<u32>(a.turns, i) = 0;
    T sum = 0;
    if (at < a.delta.len) {
        i64 head = at / a.queries, query = at % a.queries;
        i64 o = head_of(a.o, a.heads, head) + query * a.o.row_stride, d_o = head_of(a.d_o, a.heads, head) + query * a.d_o.row_stride;
        for (i64 i = thread_id() % 16 * 4; i < a.dim; i += 64) {
            const i32 count = a.dim - i < 4 ? (i32)(a.dim - i) : 4;
            T x[4], y[4];
            load4(x, a.o.array, o + i, count);
            load4(y, a.d_o.array, d_o + i, count);
            for (i32 k = 0; k < 4; k++) sum += x[k] * y[k];
        }
    }
    for (u32 mask = 8; mask > 0; mask /= 2) sum += shuffled(sum, mask);
    if (at < a.delta.len && thread_id() % 16 == 0) element<T>(a.delta, at) = sum;
}

KERNEL(attention_delta, AttentionArgs, 256) { attention_delta<float>(a); }
KERNEL(attention_delta_wide, AttentionArgs, 256) { attention_delta<double>(a); }

// StoreHeadsArgs copies contiguous rows to heads.
struct StoreHeadsArgs {
    Array src; // [matrices, rows, dim]
    Heads dst;
    i64 heads, rows, dim;
};

template <typename T> DEVICE void store_heads(const StoreHeadsArgs &a) {
    i64 head = block_x() / a.rows, row = block_x() % a.rows, from = block_x() * a.dim;
    i64 to = head_of(a.dst, a.heads, head) + row * a.dst.row_stride;
    each_quad(from, a.dim, [&](i64 i, i32 count) {
        T x[4];
        load4(x, a.src, from + i, count);
        store4(a.dst.array, to + i, count, x);
    });
}

KERNEL(store_heads, StoreHeadsArgs, 256) { store_heads<float>(a); }
KERNEL(store_heads_wide, StoreHeadsArgs, 256) { store_heads<double>(a); }
