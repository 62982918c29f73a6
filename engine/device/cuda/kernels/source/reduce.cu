// Sums, means and largest elements.
//
// A block takes a range of rows (of n) and writes one partial result of each
// column (of inner) that it has. A second kernel joins the partial results of all
// ranges in order; with one range there is none.
#include "block.h"
#include "number.h"

struct ReduceArgs {
    Array dst, src;
    u64 partials; // double [ranges][outer·inner]
    i64 outer, n, inner, rows, ranges;
    i32 kind;     // mirrors device.Reduction: sum, mean, max
};

const i32 reduce_mean = 1, reduce_max = 2;

DEVICE double reduce_start(i32 kind) { return kind == reduce_max ? -math::infinity(0.0) : 0.0; }
DEVICE double reduce_join(i32 kind, double a, double b) { return kind == reduce_max ? math::larger(a, b) : a + b; }

// reduce_leave writes the result of a range of rows to its place.
DEVICE void reduce_leave(const ReduceArgs &a, i64 range, i64 at, double x) {
    if (a.ranges > 1) ((double *)a.partials)[range * a.outer * a.inner + at] = x;
    else store(a.dst, at, a.kind == reduce_mean ? x / (double)a.n : x);
}

// load_double is load, faster for float, which is nearly always the type.
DEVICE double load_double(const Array &a, i64 i) { return a.type == float32 ? (double)element<float>(a, i) : load<double>(a, i); }

struct ColumnSums {
    double x[8][32];
};

// reduce_columns has 32 columns by 8 rows of threads.
KERNEL(reduce_columns, ReduceArgs, 256) {
    SHARED(ColumnSums, sums);
    u32 lane = thread_id() % 32, line = thread_id() / 32;
    i64 blocks = (a.inner + 31) / 32, o = block_x() / blocks, col = block_x() % blocks * 32 + lane;
    i64 from = block_y() * a.rows, to = from + a.rows < a.n ? from + a.rows : a.n;
    double x = reduce_start(a.kind);
    if (col < a.inner) {
        for (i64 row = from + line; row < to; row += 8) x = reduce_join(a.kind, x, load_double(a.src, (o * a.n + row) * a.inner + col));
    }
    sums.x[line][lane] = x;
    barrier();
    if (line > 0 || col >= a.inner) return;
    for (u32 i = 1; i < 8; i++) x = reduce_join(a.kind, x, sums.x[i][lane]);
    reduce_leave(a, block_y(), o * a.inner + col, x);
}

// reduce_rows is for inner = 1: the joined elements are contiguous.
KERNEL(reduce_rows, ReduceArgs, 256) {
    i64 from = block_y() * a.rows, to = from + a.rows < a.n ? from + a.rows : a.n, base = (i64)block_x() * a.n;
    double x = reduce_start(a.kind);
    for (i64 i = from + thread_id() * 4; i < to; i += 4 * block_size()) {
        float y[4];
        i32 n = (i32)(to - i < 4 ? to - i : 4);
        load4(y, a.src, base + i, n);
        for (i32 k = 0; k < 4; k++) {
            if (k < n) x = reduce_join(a.kind, x, (double)y[k]);
        }
    }
    x = a.kind == reduce_max ? block_max(x) : block_sum(x);
    if (thread_id() == 0) reduce_leave(a, block_y(), block_x(), x);
}

KERNEL(reduce_ranges, ReduceArgs, 256) {
    i64 at = (i64)block_x() * block_size() + thread_id(), total = a.outer * a.inner;
    if (at >= total) return;
    const double *partial = (const double *)a.partials;
    double x = partial[at];
    for (i64 range = 1; range < a.ranges; range++) x = reduce_join(a.kind, x, partial[range * total + at]);
    store(a.dst, at, a.kind == reduce_mean ? x / (double)a.n : x);
}
