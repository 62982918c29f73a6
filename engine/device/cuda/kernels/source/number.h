// Numbers in memory: arrays of any element type, read and written as float or
// double, one element or four at a time. Nothing is computed in float64 arrays: they are
// filled, cast and copied. The kernel tests the type as it runs; all
// threads take the same branch, and four elements share the test, so that one
// kernel serves all combinations of types at the memory's speed.
#pragma once
#include "rt.h"

// Type mirrors device.DType.
enum Type { float32, float64, bfloat16, float16, int8, uint8, int32, int64 };

// Array mirrors device.Array. An absent one has the address 0.
struct Array {
    u64 addr;
    i64 len;
    u8 type;
};

DEVICE bool present(const Array &a) { return a.addr != 0; }
DEVICE bool is_float(u8 type) { return type <= float16; }

// Four is four neighbours.
template <typename T> struct Four {
    T x[4];
};

template <typename T> DEVICE T &element(const Array &a, i64 i) { return ((T *)a.addr)[i]; }

template <typename T> OUTLINE T load_any(u64 addr, u32 type, i64 i) {
    const Array a = {addr, 0, (u8)type};
    switch (type) {
    case float32: return (T)element<float>(a, i);
    case bfloat16: return (T)float_of((u32)element<u16>(a, i) << 16);
#ifdef ALL_TYPES
    case float64: return (T)element<double>(a, i);
    case float16: return (T)float_of_half(element<u16>(a, i));
    case int8: return (T)element<i8>(a, i);
    case uint8: return (T)element<u8>(a, i);
    case int32: return (T)element<i32>(a, i);
    default: return (T)element<i64>(a, i);
#else
    default: return (T)float_of_half(element<u16>(a, i)); // float16
#endif
    }
}

// load returns element i.
template <typename T> DEVICE T load(const Array &a, i64 i) { return load_any<T>(a.addr, a.type, i); }

// index returns element i of an array of int32 or int64.
DEVICE i64 index(const Array &a, i64 i) { return a.type == int32 ? element<i32>(a, i) : element<i64>(a, i); }

// odd_round converts so that rounding again, to half precision, gives what
// rounding once would have: inexact values get an odd last bit.
DEVICE float odd_round(float x) { return x; }
DEVICE float odd_round(double x) {
    float f = (float)x;
    u32 bits = bits_of(f);
    if ((double)f == x || x != x || (bits & 0x7fffffff) == 0x7f800000) return f;
    double magnitude = f < 0 ? -(double)f : (double)f;
    if (magnitude > (x < 0 ? -x : x)) bits--;
    return float_of(bits | 1);
}

// whole truncates toward zero; numbers out of range are clamped, NaN becomes 0.
template <typename T> DEVICE i64 whole(T x, i64 low, i64 high) {
    if (x != x) return 0;
    if ((double)x <= (double)low) return low;
    if ((double)x >= (double)high) return high;
    return (i64)x;
}

template <typename T> OUTLINE void store_any(u64 addr, u32 type, i64 i, T x) {
    const Array a = {addr, 0, (u8)type};
    switch (type) {
    case float32: element<float>(a, i) = (float)x; break;
    case bfloat16: element<u16>(a, i) = bfloat_of(odd_round(x)); break;
#ifdef ALL_TYPES
    case float64: element<double>(a, i) = (double)x; break;
    case float16: element<u16>(a, i) = half_of(odd_round(x)); break;
    case int8: element<i8>(a, i) = (i8)whole(x, -128, 127); break;
    case uint8: element<u8>(a, i) = (u8)whole(x, 0, 255); break;
    case int32: element<i32>(a, i) = (i32)whole(x, -2147483648LL, 2147483647LL); break;
    default: element<i64>(a, i) = whole(x, (i64)0x8000000000000000ULL, 0x7fffffffffffffffLL);
#else
    default: element<u16>(a, i) = half_of(odd_round(x)); // float16
#endif
    }
}

// store puts x, rounded once, in element i.
template <typename T> DEVICE void store(const Array &a, i64 i, T x) { store_any<T>(a.addr, a.type, i, x); }

// rounded returns x as an array of a floating-point type holds it.
DEVICE float rounded(u8 type, float x) {
    if (type == bfloat16) return float_of((u32)bfloat_of(x) << 16);
    return type == float16 ? float_of_half(half_of(x)) : x;
}

// together reports whether the four elements from i on can be moved at once: float as any
// floating-point type but float64, and double never, which few kernels have.
template <typename T> DEVICE bool together(const Array &a, i64 i) {
    if (sizeof(T) == 8 || a.type == float64 || a.type > float16) return false;
    const u32 size = a.type == float32 ? 4 : 2;
    return ((a.addr + i * size) & (4 * size - 1)) == 0;
}

// load_few is load4 for elements that cannot be moved at once.
template <typename T> OUTLINE Four<T> load_few(u64 addr, u32 type, i64 i, i32 n) {
    const Array a = {addr, 0, (u8)type};
    Four<T> f = {};
    if (type == float32) {
        for (i32 k = 0; k < 4; k++) f.x[k] = k < n ? (T)element<float>(a, i + k) : (T)0;
    } else if (type == bfloat16) {
        for (i32 k = 0; k < 4; k++) f.x[k] = k < n ? (T)float_of((u32)element<u16>(a, i + k) << 16) : (T)0;
    } else {
        UNROLLED for (i32 k = 0; k < 4; k++) f.x[k] = k < n ? load<T>(a, i + k) : (T)0;
    }
    return f;
}

// load4 reads n ≤ 4 elements from i on; those beyond become 0.
template <typename T> DEVICE void load4(T x[4], const Array &a, i64 i, i32 n) {
    if (n < 4 || !together<T>(a, i)) {
        const Four<T> f = load_few<T>(a.addr, a.type, i, n);
        for (i32 k = 0; k < 4; k++) x[k] = f.x[k];
        return;
    }
    u32 w[4];
    switch (a.type) {
    case float32:
        load_words4(w, &element<float>(a, i));
        for (i32 k = 0; k < 4; k++) x[k] = (T)float_of(w[k]);
        return;
    case bfloat16:
        load_words(w, &element<u16>(a, i));
        for (i32 k = 0; k < 4; k++) x[k] = (T)float_of(k % 2 ? w[k / 2] & 0xffff0000 : w[k / 2] << 16);
        return;
    default: // float16
        load_words(w, &element<u16>(a, i));
        for (i32 k = 0; k < 4; k++) x[k] = (T)float_of_half((u16)(w[k / 2] >> k % 2 * 16));
    }
}

// store_few is store4 for elements that cannot be moved at once.
template <typename T> OUTLINE void store_few(u64 addr, u32 type, i64 i, i32 n, T x0, T x1, T x2, T x3) {
    const Array a = {addr, 0, (u8)type};
    const T x[4] = {x0, x1, x2, x3};
    if (type == bfloat16) {
        for (i32 k = 0; k < 4; k++) {
            if (k < n) element<u16>(a, i + k) = bfloat_of(odd_round(x[k]));
        }
    } else {
        UNROLLED for (i32 k = 0; k < 4; k++) {
            if (k < n) store(a, i + k, x[k]);
        }
    }
}

// store4 writes n ≤ 4 elements from i on.
template <typename T> DEVICE void store4(const Array &a, i64 i, i32 n, const T x[4]) {
    if (n < 4 || !together<T>(a, i)) {
        store_few<T>(a.addr, a.type, i, n, x[0], x[1], x[2], x[3]);
        return;
    }
    u32 w[4];
    switch (a.type) {
    case float32:
        for (i32 k = 0; k < 4; k++) w[k] = bits_of((float)x[k]);
        store_words4(&element<float>(a, i), w);
        return;
    case bfloat16:
        for (i32 k = 0; k < 2; k++) w[k] = bfloat_pair(x[2 * k], x[2 * k + 1]);
        store_words(&element<u16>(a, i), w);
        return;
    default: // float16
        for (i32 k = 0; k < 2; k++) w[k] = half_pair(x[2 * k], x[2 * k + 1]);
        store_words(&element<u16>(a, i), w);
    }
}

// store_four is store4 for kernels that end with it many times.
OUTLINE void store_four(u64 addr, u32 type, i64 i, i32 n, float x0, float x1, float x2, float x3) {
    const float x[4] = {x0, x1, x2, x3};
    store4({addr, 0, (u8)type}, i, n, x);
}

// Quad is the part of a thread in an operation on n elements: up to four.
struct Quad {
    i64 i;
    i32 n;
};

// quad returns the part of this thread, with n ≤ 0 when there is none.
DEVICE Quad quad(i64 n) {
    i64 i = ((i64)block_x() * block_size() + thread_id()) * 4, rest = n - i;
    return {i, (i32)(rest < 4 ? rest : 4)};
}
