// Tiles of 16-bit numbers in shared memory, and the tensor cores' fragments of
// them.
//
// A tile is rows of 16-byte chunks. The place of a chunk within its row depends on
// the row, so that the eight rows that load_matrices reads at a time never share
// a bank: with eight chunks to 128 bytes of banks, row r of a tile with c
// chunks a row has its chunk i at place i xor (r·c/8 mod c or 8).
#pragma once
#include "number.h"
#include "rt.h"

// Bfloat and Half are the two kinds of 16-bit numbers.
struct Bfloat {
    static DEVICE_MEMBER void multiply(float c[4], const u32 a[4], const u32 b[2]) { multiply_bfloat(c, a, b); }
    static DEVICE_MEMBER u32 pair(float low, float high) { return bfloat_pair(low, high); }
};
struct Half {
    static DEVICE_MEMBER void multiply(float c[4], const u32 a[4], const u32 b[2]) { multiply_half(c, a, b); }
    static DEVICE_MEMBER u32 pair(float low, float high) { return half_pair(low, high); }
};

// Chunks is a tile with chunks chunks a row: 4, 8 or 16.
template <i32 chunks> struct Chunks {
    static constexpr i32 rows_abreast = chunks < 8 ? 8 / chunks : 1; // in 128 bytes
    static constexpr i32 mask = chunks < 8 ? chunks - 1 : 7;
    u32 at; // a shared address

    DEVICE_MEMBER u32 chunk(i32 row, i32 i) const { return at + row * chunks * 16 + (i ^ (row / rows_abreast & mask)) * 16; }

    // near is chunk(row + r, i + c) for a row that is a multiple of 8 and an even i:
    // what depends on the lane is the same for all of them.
    DEVICE_MEMBER u32 near(i32 row, i32 i, i32 r, i32 c) const { return at + r * chunks * 16 + ((c ^ (r / rows_abreast & mask)) ^ i) * 16 + row * chunks * 16; }

    // left gets the fragment of a left operand: 16 × 16 numbers from row and
    // from the column of chunk i on.
    DEVICE_MEMBER void left(u32 r[4], i32 row, i32 i) const {
        i32 lane = thread_id() % 32;
        load_matrices(r, near(row, i, lane % 16, lane / 16));
    }
    // left_transposed is left for a tile that holds the transpose: rows are k.
    DEVICE_MEMBER void left_transposed(u32 r[4], i32 k, i32 i) const {
        i32 lane = thread_id() % 32;
        load_transposed(r, near(k, i, lane / 16 * 8 + lane % 8, lane / 8 % 2));
    }
    // right gets the fragments of two right operands, of 16 × 8 numbers each,
    // from a tile that holds their transpose: rows are columns, 16 of them.
    DEVICE_MEMBER void right(u32 r[4], i32 col, i32 i) const {
        i32 lane = thread_id() % 32;
        load_matrices(r, near(col, i, lane / 16 * 8 + lane % 8, lane / 8 % 2));
    }
    // right_transposed is right for a tile whose rows are k.
    DEVICE_MEMBER void right_transposed(u32 r[4], i32 k, i32 i) const {
        i32 lane = thread_id() % 32;
        load_transposed(r, near(k, i, lane % 16, lane / 16));
    }
};

// FragmentFour is four neighbours in a row of 16 × 8 sums, and their place.
struct FragmentFour {
    i32 row, col;
    float x[4];
};

// four_of has neighbouring lanes exchange halves of their sums.
DEVICE FragmentFour four_of(const float c[4]) {
    i32 lane = thread_id() % 32;
    bool odd = lane % 2;
    float x = float_of(shuffle_xor(bits_of(odd ? c[0] : c[2]), 1)), y = float_of(shuffle_xor(bits_of(odd ? c[1] : c[3]), 1));
    return {lane / 4 + odd * 8, lane % 4 / 2 * 4, {odd ? x : c[0], odd ? y : c[1], odd ? c[2] : x, odd ? c[3] : y}};
}

// Source is the matrix that the rows of a tile come from.
struct Source {
    u64 addr;       // of the matrix
    i64 stride;     // elements from one row to the next
    i64 rows, cols; // of the matrix; what lies beyond is 0
    bool aligned;   // rows begin at multiples of 16 bytes
};

DEVICE bool aligned_rows(u64 addr, i64 stride) { return addr % 16 == 0 && stride % 8 == 0; }

// copy_words copies n ≤ 8 numbers and makes the rest of the chunk 0. It reads
// whole words, even if they begin before the numbers or end behind them: the
// memory of an array comes in larger units.
OUTLINE void copy_words(u32 to, const u16 *from, i32 n) {
    bool odd = (u64)from % 4 != 0;
    const u32 *words = (const u32 *)((u64)from & ~3ULL);
    u32 word[5];
    for (i32 i = 0; i < 5; i++) word[i] = 2 * i < n + odd ? words[i] : 0;
    for (i32 i = 0; i < 4; i++) {
        u32 w = odd ? word[i] >> 16 | word[i + 1] << 16 : word[i];
        store_shared(to + 4 * i, 2 * i + 1 < n ? w : 2 * i < n ? w & 0xffff : 0);
    }
}

// fetch_chunk starts the copy of eight numbers of a row.
DEVICE void fetch_chunk(u32 to, const Source &s, i64 row, i64 col) {
    i64 left = row < s.rows ? s.cols - col : 0;
    i32 n = (i32)(left < 0 ? 0 : left > 8 ? 8 : left);
    const u16 *from = (const u16 *)s.addr + (n > 0 ? row * s.stride + col : 0);
    if (s.aligned) copy_async(to, from, n * 2);
    else copy_words(to, from, n);
}
