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
KERNEL(score_softmax, ScoresArgs, 256) {
    ScoresRow r = scores_row(a);
    float lse = row_softmax(a.probs, a.scores, r.probs, r.scores, a.keys, r.seen, (float)a.scale);
    if (present(a.lse) && thread_id() == 0) element<float>(a.lse, r.query) = lse;
}

// score_backward turns scores into probabilities again, and their gradients, in
// probs, into those of the scores: scores = p, probs = p·(probs − delta).
KERNEL(score_backward, ScoresArgs, 256) {
    ScoresRow r = scores_row(a);
    float lse = element<float>(a.lse, r.query), delta = element<float>(a.delta, r.query);
    each_quad(r.scores, a.keys, [&](i64 i, i32 count) {
        float p[4], d[4];
        load4(p, a.scores, r.scores + i, count);
        load4(d, a.probs, r.probs + i, count);
        UNROLLED for (i32 k = 0; k < 4; k++) {
            bool sees = i + k < r.seen;
            p[k] = sees ? math::exp_small(p[k] * (float)a.scale - lse) : 0.0f;
            d[k] = sees ? p[k] * (d[k] - delta) : 0.0f;
        }
        store4(a.scores, r.scores + i, count, p);
        store4(a.probs, r.probs + i, count, d);
    });
}

// attention_delta has 16 lanes for every query. It also makes turns 0.
KERNEL(attention_delta, AttentionArgs, 256) {
    const i64 thread = (i64)block_x() * block_size() + thread_id(), at = thread / 16;
    for (i64 i = thread; i < a.turns.len; i += (i64)blocks_x() * block_size()) element<u32>(a.turns, i) = 0;
    float sum = 0;
    if (at < a.delta.len) {
        i64 head = at / a.queries, query = at % a.queries;
        i64 o = head_of(a.o, a.heads, head) + query * a.o.row_stride, d_o = head_of(a.d_o, a.heads, head) + query * a.d_o.row_stride;
        for (i64 i = thread_id() % 16 * 4; i < a.dim; i += 64) {
            const i32 count = a.dim - i < 4 ? (i32)(a.dim - i) : 4;
            float x[4], y[4];
            load4(x, a.o.array, o + i, count);
            load4(y, a.d_o.array, d_o + i, count);
            for (i32 k = 0; k < 4; k++) sum += x[k] * y[k];
        }
    }
    for (u32 mask = 8; mask > 0; mask /= 2) sum += shuffled(sum, mask);
    if (at < a.delta.len && thread_id() % 16 == 0) element<float>(a.delta, at) = sum;
}

// StoreHeadsArgs copies contiguous rows to heads.
struct StoreHeadsArgs {
    Array src; // [matrices, rows, dim]
    Heads dst;
    i64 heads, rows, dim;
};

KERNEL(store_heads, StoreHeadsArgs, 256) {
    i64 head = block_x() / a.rows, row = block_x() % a.rows, from = block_x() * a.dim;
    i64 to = head_of(a.dst, a.heads, head) + row * a.dst.row_stride;
    each_quad(from, a.dim, [&](i64 i, i32 count) {
        float x[4];
        load4(x, a.src, from + i, count);
        store4(a.dst.array, to + i, count, x);
    });
}

