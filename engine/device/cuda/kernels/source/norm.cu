// LayerNorm and RMSNorm. A block has one row; for the parameters' gradients it
// has 32 columns of a range of rows, and reduce_ranges joins the ranges.
#include "block.h"
#include "number.h"

// NormArgs is the argument of the forward and of the backward operation. Absent
// arrays are left out.
struct NormArgs {
    Array x, y, weight, bias, mean, rstd, dy, dx;
    i64 rows, cols;
    double eps;
    i32 rms;
};

template <typename T> DEVICE void normalize(const NormArgs &a) {
    i64 row = block_x(), base = row * a.cols;
    T n = (T)a.cols, mean = 0, sum = 0;
    if (!a.rms) {
        each_quad(base, a.cols, [&](i64 i, i32 k) {
            T x[4];
            load4(x, a.x, base + i, k);
            sum += (x[0] + x[1]) + (x[2] + x[3]);
        });
        mean = block_sum(sum) / n;
        sum = 0;
    }
    each_quad(base, a.cols, [&](i64 i, i32 count) {
        T x[4];
        load4(x, a.x, base + i, count);
        for (i32 k = 0; k < 4; k++) {
            T d = k < count ? x[k] - mean : (T)0;
            sum += d * d;
        }
    });
    T rstd = (T)(1 / root((double)(block_sum(sum) / n) + a.eps));
    if (thread_id() == 0) {
        if (!a.rms) element<T>(a.mean, row) = mean;
        element<T>(a.rstd, row) = rstd;
    }
    each_quad(base, a.cols, [&](i64 i, i32 count) {
        T x[4], weight[4] = {1, 1, 1, 1}, bias[4] = {0, 0, 0, 0};
        load4(x, a.x, base + i, count);
        if (present(a.weight)) load4(weight, a.weight, i, count);
        if (present(a.bias)) load4(bias, a.bias, i, count);
        for (i32 k = 0; k < 4; k++) x[k] = (x[k] - mean) * rstd * weight[k] + bias[k];
        store4(a.y, base + i, count, x);
    });
}

KERNEL(normalize, NormArgs, 256) { normalize<float>(a); }
KERNEL(normalize_wide, NormArgs, 256) { normalize<double>(a); }

// NormQuad is four elements of a row on the way back: g = dy·weight and x̂.
template <typename T> struct NormQuad {
    T g[4], x[4];
};

template <typename T> DEVICE void load_norm(NormQuad<T> &q, const NormArgs &a, i64 base, i64 i, i32 count, T mean, T rstd) {
    load4(q.x, a.x, base + i, count);
    load4(q.g, a.dy, base + i, count);
    for (i32 k = 0; k < 4; k++) q.x[k] = k < count ? (q.x[k] - mean) * rstd : (T)0;
    if (!present(a.weight)) return;
    T weight[4];
    load4(weight, a.weight, i, count);
    for (i32 k = 0; k < 4; k++) q.g[k] *= weight[k];
}

template <typename T> DEVICE void normalize_backward(const NormArgs &a) {
    i64 row = block_x(), base = row * a.cols;
    T mean = a.rms ? (T)0 : element<T>(a.mean, row), rstd = element<T>(a.rstd, row), sum_g = 0, sum_gx = 0;
    each_quad(base, a.cols, [&](i64 i, i32 count) {
        NormQuad<T> q;
        load_norm(q, a, base, i, count, mean, rstd);
        for (i32 k = 0; k < 4; k++) {
            sum_g += q.g[k];
            sum_gx += q.g[k] * q.x[k];
        }
    });
    T mean_gx = block_sum(sum_gx) / (T)a.cols, mean_g = a.rms ? (T)0 : block_sum(sum_g) / (T)a.cols;
    each_quad(base, a.cols, [&](i64 i, i32 count) {
        NormQuad<T> q;
        load_norm(q, a, base, i, count, mean, rstd);
        for (i32 k = 0; k < 4; k++) q.g[k] = rstd * (q.g[k] - mean_g - q.x[k] * mean_gx);
        store4(a.dx, base + i, count, q.g);
    });
}

KERNEL(normalize_backward, NormArgs, 256) { normalize_backward<float>(a); }
KERNEL(normalize_backward_wide, NormArgs, 256) { normalize_backward<double>(a); }

struct NormParamsArgs {
    Array x, mean, rstd, dy;
    u64 dw, db;      // double [ranges][cols]
    i64 rows, cols, range;
    i32 rms;
};

struct ParamSums {
    double w[8][32], b[8][32];
};

template <typename T> DEVICE void norm_params(const NormParamsArgs &a) {
    SHARED(ParamSums, sums);
    u32 lane = thread_id() % 32, line = thread_id() / 32;
    i64 col = (i64)block_x() * 32 + lane, from = block_y() * a.range, to = from + a.range < a.rows ? from + a.range : a.rows;
    double dw = 0, db = 0;
    if (col < a.cols) {
        for (i64 row = from + line; row < to; row += 8) {
            T mean = a.rms ? (T)0 : element<T>(a.mean, row), rstd = element<T>(a.rstd, row);
            T dy = load<T>(a.dy, row * a.cols + col), x = (load<T>(a.x, row * a.cols + col) - mean) * rstd;
            dw += (double)dy * (double)x;
            db += (double)dy;
        }
    }
    sums.w[line][lane] = dw;
    sums.b[line][lane] = db;
    barrier();
    if (line > 0 || col >= a.cols) return;
    for (u32 i = 1; i < 8; i++) dw += sums.w[i][lane], db += sums.b[i][lane];
    ((double *)a.dw)[block_y() * a.cols + col] = dw;
    ((double *)a.db)[block_y() * a.cols + col] = db;
}

KERNEL(norm_params, NormParamsArgs, 256) { norm_params<float>(a); }
KERNEL(norm_params_wide, NormParamsArgs, 256) { norm_params<double>(a); }
