// Results that the threads of a block compute together. Every thread of the block
// must call these functions, and all get the same result, computed in an order
// that depends on the block's size alone.
#pragma once
#include "functions.h"
#include "rt.h"

DEVICE float shuffled(float x, u32 mask) { return float_of(shuffle_xor(bits_of(x), mask)); }
DEVICE double shuffled(double x, u32 mask) {
    u64 b = bits_of(x);
    u32 low = shuffle_xor((u32)b, mask), high = shuffle_xor((u32)(b >> 32), mask);
    return double_of((u64)high << 32 | low);
}

struct Plus {
    template <typename T> static DEVICE_MEMBER T join(T a, T b) { return a + b; }
};
struct Larger {
    template <typename T> static DEVICE_MEMBER T join(T a, T b) { return math::larger(a, b); }
};

// Slots has one number of every warp.
struct Slots {
    double x[32];
};

// together_by joins one number of every thread.
template <typename Join, typename T> DEVICE T together_by(T x) {
    SHARED(Slots, slots);
    T *slot = (T *)slots.x;
    for (u32 mask = 16; mask > 0; mask /= 2) x = Join::join(x, shuffled(x, mask));
    u32 warps = block_size() / 32;
    if (warps == 1) return x;
    if (thread_id() % 32 == 0) slot[thread_id() / 32] = x;
    barrier();
    x = slot[0];
    FEWFOLD for (u32 w = 1; w < warps; w++) x = Join::join(x, slot[w]);
    barrier(); // before the slots are used again
    return x;
}

template <typename T> DEVICE T block_sum(T x) { return together_by<Plus>(x); }
template <typename T> DEVICE T block_max(T x) { return together_by<Larger>(x); }

// each_quad calls f for the elements of this thread in a row, which begins at
// base in its array: with the place in the row and the number of elements. All
// but the first and the last are four, aligned in the array.
template <typename F> DEVICE void each_quad(i64 base, i64 cols, F f) {
    for (i64 i = (i64)thread_id() * 4 - base % 4; i < cols; i += 4 * block_size()) {
        i64 from = i < 0 ? 0 : i, to = i + 4 < cols ? i + 4 : cols;
        f(from, (i32)(to - from));
    }
}

// item_of_block returns the one of count items that this block works on: the last
// that begins with it or with a block before.
template <typename Item> DEVICE i32 item_of_block(const Item *items, i32 count) {
    i32 low = 0, high = count - 1, block = (i32)block_x();
    while (low < high) {
        i32 middle = (low + high + 1) / 2;
        if (items[middle].begin <= block) low = middle;
        else high = middle - 1;
    }
    return low;
}
