// Operations on every element by itself. A thread has four elements. Only this module
// has arrays of float64 and of whole numbers.
#define ALL_TYPES
#include "functions.h"
#include "number.h"

struct FillArgs {
    Array dst;
    double value;
};

KERNEL(fill, FillArgs, 256) {
    Quad q = quad(a.dst.len);
    double x[4] = {a.value, a.value, a.value, a.value};
    if (q.n > 0) store4(a.dst, q.i, q.n, x);
}

struct CastArgs {
    Array dst, src;
};

// Whole numbers stay whole, and go to floating-point types from float64.
KERNEL(cast, CastArgs, 256) {
    Quad q = quad(a.src.len);
    if (q.n <= 0) return;
    if (a.src.type == int64 && !is_float(a.dst.type)) {
        for (i32 k = 0; k < q.n; k++) {
            i64 x = element<i64>(a.src, q.i + k);
            switch (a.dst.type) {
            case int8: element<i8>(a.dst, q.i + k) = (i8)(x < -128 ? -128 : x > 127 ? 127 : x); break;
            case uint8: element<u8>(a.dst, q.i + k) = (u8)(x < 0 ? 0 : x > 255 ? 255 : x); break;
            case int32: element<i32>(a.dst, q.i + k) = (i32)(x < -2147483648LL ? -2147483648LL : x > 2147483647LL ? 2147483647LL : x); break;
            default: element<i64>(a.dst, q.i + k) = x;
            }
        }
    } else if (a.src.type == float64 || a.src.type == int32 || a.src.type == int64) {
        double x[4];
        load4(x, a.src, q.i, q.n);
        store4(a.dst, q.i, q.n, x);
    } else {
        float x[4];
        load4(x, a.src, q.i, q.n);
        store4(a.dst, q.i, q.n, x);
    }
}

// UnaryArgs is dst = f(x), and with dy present dst = dy·f'(x).
struct UnaryArgs {
    Array dst, x, dy;
    i32 f;
};

KERNEL(unary, UnaryArgs, 256) {
    Quad q = quad(a.x.len);
    if (q.n <= 0) return;
    float x[4], dy[4];
    load4(x, a.x, q.i, q.n);
    if (present(a.dy)) {
        load4(dy, a.dy, q.i, q.n);
        UNROLLED for (i32 k = 0; k < 4; k++) x[k] = dy[k] * slope(a.f, x[k]);
    } else {
        UNROLLED for (i32 k = 0; k < 4; k++) x[k] = apply(a.f, x[k]);
    }
    store4(a.dst, q.i, q.n, x);
}

// BinaryArgs is dst[i] = a[i] op b[i mod b.len]; op 0 to 3 mirror
// device.BinaryOp, and 4 is a + alpha·b.
struct BinaryArgs {
    Array dst, a, b;
    double alpha;
    i32 op;
};

DEVICE float combine(u32 op, float a, float b, float alpha) {
    switch (op) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return a / b;
    default: return a + alpha * b;
    }
}

DEVICE i64 remainder(i64 i, i64 n) { return (i | n) >> 32 ? i % n : (i64)((u32)i % (u32)n); }

KERNEL(binary, BinaryArgs, 256) {
    Quad q = quad(a.a.len);
    if (q.n <= 0) return;
    float x[4], y[4];
    i64 at = a.b.len == a.a.len ? q.i : remainder(q.i, a.b.len);
    load4(x, a.a, q.i, q.n);
    if (at + q.n <= a.b.len) {
        load4(y, a.b, at, q.n);
    } else {
        for (i32 k = 0; k < 4; k++) y[k] = load<float>(a.b, remainder(q.i + k, a.b.len));
    }
    for (i32 k = 0; k < 4; k++) x[k] = combine(a.op, x[k], y[k], (float)a.alpha);
    store4(a.dst, q.i, q.n, x);
}

// ScaleArgs is dst = factor·x, and with by present dst = by[0]·x.
struct ScaleArgs {
    Array dst, x, by;
    double factor;
};

KERNEL(scale, ScaleArgs, 256) {
    Quad q = quad(a.x.len);
    if (q.n <= 0) return;
    float x[4], factor = present(a.by) ? load<float>(a.by, 0) : (float)a.factor;
    load4(x, a.x, q.i, q.n);
    for (i32 k = 0; k < 4; k++) x[k] *= factor;
    store4(a.dst, q.i, q.n, x);
}

