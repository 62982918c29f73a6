// Softmax, and the loss that is made of it. A block has one row.
#pragma once
#include "block.h"
#include "failure.h"
#include "number.h"

// Total is the largest of a row's elements and the sum of e^(x − largest).
struct Total {
    float top, sum;
};

// row_total goes through the first cols elements of a row once: a thread keeps
// the largest so far, and shrinks its sum when a larger one comes.
DEVICE Total row_total(const Array &x, i64 base, i64 cols, float scale) {
    const float lowest = -math::infinity(0.0f);
    float top = lowest, sum = 0;
    each_quad(base, cols, [&](i64 i, i32 count) {
        float v[4], larger = top;
        load4(v, x, base + i, count);
        for (i32 k = 0; k < 4; k++) {
            v[k] = k < count ? v[k] * scale : lowest;
            larger = math::larger(larger, v[k]);
        }
        float shift = larger == lowest ? 0.0f : larger;
        sum *= math::exp_small(top - shift);
        UNROLLED for (i32 k = 0; k < 4; k++) sum += math::exp_small(v[k] - shift);
        top = larger;
    });
    float largest = block_max(top), shift = largest == lowest ? 0.0f : largest;
    return {largest, block_sum(sum * math::exp_small(top - shift))};
}

// row_softmax writes the softmax of the first seen of cols elements, and 0 for
// the rest. It returns log Σ e^(scale·x).
DEVICE float row_softmax(const Array &y, const Array &x, i64 to, i64 from, i64 cols, i64 seen, float scale) {
    Total total = {-math::infinity(0.0f), 0};
    if (seen > 0) total = row_total(x, from, seen, scale);
    float factor = 1 / total.sum;
    each_quad(from, cols, [&](i64 i, i32 count) {
        float v[4];
        load4(v, x, from + i, count);
        UNROLLED for (i32 k = 0; k < 4; k++) v[k] = i + k < seen ? math::exp_small(v[k] * scale - total.top) * factor : 0.0f;
        store4(y, to + i, count, v);
    });
    return total.top + math::log(total.sum);
}

struct SoftmaxArgs {
    Array y, x, dy, dx;
    i64 cols;
};

KERNEL(softmax, SoftmaxArgs, 256) {
    i64 base = (i64)block_x() * a.cols;
    row_softmax(a.y, a.x, base, base, a.cols, a.cols, 1);
}

KERNEL(softmax_backward, SoftmaxArgs, 256) {
    i64 base = (i64)block_x() * a.cols;
    float sum = 0, y[4], dy[4];
    each_quad(base, a.cols, [&](i64 i, i32 count) {
        load4(y, a.y, base + i, count);
        load4(dy, a.dy, base + i, count);
        for (i32 k = 0; k < 4; k++) sum += y[k] * dy[k];
    });
    sum = block_sum(sum);
    each_quad(base, a.cols, [&](i64 i, i32 count) {
        load4(y, a.y, base + i, count);
        load4(dy, a.dy, base + i, count);
        for (i32 k = 0; k < 4; k++) y[k] *= dy[k] - sum;
        store4(a.dx, base + i, count, y);
    });
}

struct EntropyArgs {
    Array logits, targets, lse, loss, count, dlogits, dloss;
    i64 rows, classes, stride, ignored; // stride of the rows of logits and dlogits
    u64 failure, picked;                // picked: double [rows], the logits of the targets; 0 where they are still in logits
};

DEVICE bool counted(const EntropyArgs &a, i64 target) { return target != a.ignored && target >= 0 && target < a.classes; }

// entropy_row sets log Σ e^logit of the block's row, and returns it.
DEVICE float entropy_row(const EntropyArgs &a) {
    Total total = row_total(a.logits, (i64)block_x() * a.stride, a.classes, 1);
    float lse = total.top + math::log(total.sum);
    if (thread_id() == 0) element<float>(a.lse, block_x()) = lse;
    return lse;
}

KERNEL(entropy, EntropyArgs, 1024) { entropy_row(a); }

// entropy_mean has one block.
KERNEL(entropy_mean, EntropyArgs, 256) {
    double loss = 0, count = 0;
    for (i64 row = thread_id(); row < a.rows; row += block_size()) {
        i64 target = index(a.targets, row);
        if (target == a.ignored) continue;
        if (!counted(a, target)) {
            report(a.failure, failed_entropy, row, target, a.classes);
            continue;
        }
        loss += load<double>(a.lse, row) - (a.picked ? ((const double *)a.picked)[row] : load<double>(a.logits, row * a.stride + target));
        count++;
    }
    loss = block_sum(loss);
    count = block_sum(count);
    if (thread_id() != 0) return;
    store(a.loss, 0, loss / count);
    store(a.count, 0, count);
}

// entropy_count has one block too.
KERNEL(entropy_count, EntropyArgs, 256) {
    double count = 0;
    for (i64 row = thread_id(); row < a.rows; row += block_size()) count += counted(a, index(a.targets, row));
    count = block_sum(count);
    if (thread_id() == 0) store(a.count, 0, count);
}

// entropy_gradient writes that of the block's row: of no classes where it is not
// counted. With pick it first keeps the target's logit, whose thread alone knows that it
// is still there.
template <bool pick> DEVICE void entropy_gradient(const EntropyArgs &a, float lse) {
    const i64 row = block_x(), base = row * a.stride, target = index(a.targets, row);
    const i32 own = (i32)target, classes = counted(a, target) ? (i32)a.classes : 0;
    const float factor = (float)(load<double>(a.dloss, 0) / load<double>(a.count, 0));
    each_quad(base, a.stride, [&](i64 i, i32 n) {
        float x[4];
        load4(x, a.logits, base + i, n);
        if (pick) {
            UNROLLED for (i32 k = 0; k < 4; k++) {
                if (k < n && (i32)i + k == own) ((double *)a.picked)[row] = (double)x[k];
            }
        }
        UNROLLED for (i32 k = 0; k < 4; k++) x[k] = (i32)i + k < classes ? (math::exp_small(x[k] - lse) - ((i32)i + k == own ? 1.0f : 0.0f)) * factor : 0.0f;
        store4(a.dlogits, base + i, n, x);
    });
}

KERNEL(entropy_backward, EntropyArgs, 1024) { entropy_gradient<false>(a, element<float>(a.lse, block_x())); }

// entropy_both reads a row for its sum, and again for its gradient, which may take its
// place, while the row is in a cache. A thread has the same elements both times.
KERNEL(entropy_both, EntropyArgs, 1024) { entropy_gradient<true>(a, entropy_row(a)); }
