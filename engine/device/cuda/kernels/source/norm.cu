// LayerNorm and RMSNorm. A block normalises one row. On the way back it has a range
// of rows, one after the other, and keeps its share of the parameters' gradients in
// shared memory; norm_join adds the shares up. Of rows too wide for that
// norm_params makes the shares, of 32 columns of a range of rows in a block.
#include "block.h"
#include "number.h"

// NormArgs is the argument of the forward and of the backward operation. Absent
// arrays are left out. shares has the ranges' dw and db, double [ranges][2][cols],
// and is 0 where the parameters' gradients are not wanted.
struct NormArgs {
    Array x, y, weight, bias, mean, rstd, residual, sum, dy, dx, add, low;
    u64 shares;
    i64 rows, cols, range, residual_rows; // those of the residual repeat
    double eps;
    i32 rms;
};

KERNEL(normalize, NormArgs, 256) {
    i64 row = block_x(), base = row * a.cols;
    float n = (float)a.cols, mean = 0, sum = 0;
    // A thread reads back what it has stored, so that the sum is as it will be read
    // from memory.
    const Array &from = present(a.residual) ? a.sum : a.x;
    if (present(a.residual)) {
        const i64 again = (i64)(block_x() % (u32)a.residual_rows) * a.cols;
        each_quad(base, a.cols, [&](i64 i, i32 count) {
            float x[4], more[4];
            load4(x, a.x, base + i, count);
            load4(more, a.residual, again + i, count);
            for (i32 k = 0; k < 4; k++) x[k] += more[k];
            store4(a.sum, base + i, count, x);
        });
    }
    if (!a.rms) {
        each_quad(base, a.cols, [&](i64 i, i32 k) {
            float x[4];
            load4(x, from, base + i, k);
            sum += (x[0] + x[1]) + (x[2] + x[3]);
        });
        mean = block_sum(sum) / n;
        sum = 0;
    }
    each_quad(base, a.cols, [&](i64 i, i32 count) {
        float x[4];
        load4(x, from, base + i, count);
        for (i32 k = 0; k < 4; k++) {
            float d = k < count ? x[k] - mean : 0.0f;
            sum += d * d;
        }
    });
    float rstd = (float)(1 / root((double)(block_sum(sum) / n) + a.eps));
    if (thread_id() == 0) {
        if (!a.rms) element<float>(a.mean, row) = mean;
        element<float>(a.rstd, row) = rstd;
    }
    each_quad(base, a.cols, [&](i64 i, i32 count) {
        float x[4], weight[4] = {1, 1, 1, 1}, bias[4] = {0, 0, 0, 0};
        load4(x, from, base + i, count);
        if (present(a.weight)) load4(weight, a.weight, i, count);
        if (present(a.bias)) load4(bias, a.bias, i, count);
        for (i32 k = 0; k < 4; k++) x[k] = (x[k] - mean) * rstd * weight[k] + bias[k];
        store4(a.y, base + i, count, x);
    });
}

// NormQuad is four elements of a row on the way back: dy, g = dy·weight and x̂.
struct NormQuad {
    float dy[4], g[4], x[4];
};

DEVICE void load_norm(NormQuad &q, const NormArgs &a, i64 base, i64 i, i32 count, float mean, float rstd) {
    float weight[4] = {1, 1, 1, 1};
    load4(q.x, a.x, base + i, count);
    load4(q.dy, a.dy, base + i, count);
    if (present(a.weight)) load4(weight, a.weight, i, count);
    for (i32 k = 0; k < 4; k++) {
        q.x[k] = k < count ? (q.x[k] - mean) * rstd : 0.0f;
        q.g[k] = q.dy[k] * weight[k];
    }
}

// normalize_row_backward computes dx of a row and adds to the shares dw and db.
DEVICE void normalize_row_backward(const NormArgs &a, i64 row, float *dw, float *db) {
    i64 base = row * a.cols;
    float mean = a.rms ? 0.0f : element<float>(a.mean, row), rstd = element<float>(a.rstd, row), sum_g = 0, sum_gx = 0;
    each_quad(base, a.cols, [&](i64 i, i32 count) {
        NormQuad q;
        load_norm(q, a, base, i, count, mean, rstd);
        for (i32 k = 0; k < 4; k++) {
            sum_g += q.g[k];
            sum_gx += q.g[k] * q.x[k];
            if (dw && k < count) dw[i + k] += q.dy[k] * q.x[k], db[i + k] += q.dy[k];
        }
    });
    if (!present(a.dx)) return;
    float mean_gx = block_sum(sum_gx) / (float)a.cols, mean_g = a.rms ? 0.0f : block_sum(sum_g) / (float)a.cols;
    each_quad(base, a.cols, [&](i64 i, i32 count) {
        NormQuad q;
        load_norm(q, a, base, i, count, mean, rstd);
        float more[4] = {0, 0, 0, 0};
        if (present(a.add)) load4(more, a.add, base + i, count);
        for (i32 k = 0; k < 4; k++) q.g[k] = rstd * (q.g[k] - mean_g - q.x[k] * mean_gx) + more[k];
        store4(a.dx, base + i, count, q.g);
        if (present(a.low)) store4(a.low, base + i, count, q.g);
    });
}

KERNEL(normalize_backward, NormArgs, 256) {
    SHARED_BYTES(bytes);
    float *dw = a.shares ? (float *)bytes : (float *)0, *db = dw ? dw + a.cols : dw;
    i64 from = block_x() * a.range, to = from + a.range < a.rows ? from + a.range : a.rows;
    if (dw) {
        for (i64 i = thread_id(); i < 2 * a.cols; i += block_size()) dw[i] = 0;
        barrier();
    }
    ROLLED for (i64 row = from; row < to; row++) {
        normalize_row_backward(a, row, dw, db);
        barrier(); // the next row's columns may be other threads'
    }
    if (!dw) return;
    double *share = (double *)a.shares + block_x() * 2 * a.cols;
    for (i64 i = thread_id(); i < 2 * a.cols; i += block_size()) share[i] = (double)dw[i];
}

struct NormParamsArgs {
    Array x, mean, rstd, dy, dw, db;
    u64 shares; // as in NormArgs
    i64 rows, cols, range, ranges;
    i32 rms;
};

struct ParamSums {
    double w[8][32], b[8][32];
};

KERNEL(norm_params, NormParamsArgs, 256) {
    SHARED(ParamSums, sums);
    u32 lane = thread_id() % 32, line = thread_id() / 32;
    i64 col = (i64)block_x() * 32 + lane, from = block_y() * a.range, to = from + a.range < a.rows ? from + a.range : a.rows;
    double dw = 0, db = 0;
    if (col < a.cols) {
        for (i64 row = from + line; row < to; row += 8) {
            float mean = a.rms ? 0.0f : element<float>(a.mean, row), rstd = element<float>(a.rstd, row);
            float dy = load<float>(a.dy, row * a.cols + col), x = (load<float>(a.x, row * a.cols + col) - mean) * rstd;
            dw += (double)dy * (double)x;
            db += (double)dy;
        }
    }
    sums.w[line][lane] = dw;
    sums.b[line][lane] = db;
    barrier();
    if (line > 0 || col >= a.cols) return;
    for (u32 i = 1; i < 8; i++) dw += sums.w[i][lane], db += sums.b[i][lane];
    double *share = (double *)a.shares + block_y() * 2 * a.cols;
    share[col] = dw;
    share[a.cols + col] = db;
}

// norm_join adds the ranges' shares up, in their order.
KERNEL(norm_join, NormParamsArgs, 256) {
    i64 at = (i64)block_x() * block_size() + thread_id();
    const Array &to = at < a.cols ? a.dw : a.db;
    if (at >= 2 * a.cols || !present(to)) return;
    double sum = 0;
    for (i64 range = 0; range < a.ranges; range++) sum += ((const double *)a.shares)[range * 2 * a.cols + at];
    store(to, at < a.cols ? at : at - a.cols, sum);
}
