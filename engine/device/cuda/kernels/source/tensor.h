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
    static constexpr u32 ones = 0x3f803f80; // a pair
    static DEVICE_MEMBER void multiply(float c[4], const u32 a[4], const u32 b[2]) { multiply_bfloat(c, a, b); }
    static DEVICE_MEMBER u32 pair(float low, float high) { return bfloat_pair(low, high); }
};
struct Half {
    static constexpr u32 ones = 0x3c003c00;
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

// copy_words copies n ≤ 8 numbers and makes the rest of the chunk 0. It reads
// whole words, even if they begin before the numbers or end behind them: the
// memory of an array comes in larger units.
OUTLINE void copy_words(u32 to, const u16 *from, i32 n) {
    bool odd = (u64)from % 4 != 0;
    const u32 *words = (const u32 *)((u64)from & ~3ULL);
    u32 word[5];
    for (i32 i = 0; i < 5; i++) word[i] = n > 0 && 2 * i < n + odd ? words[i] : 0;
    for (i32 i = 0; i < 4; i++) {
        u32 w = odd ? word[i] >> 16 | word[i + 1] << 16 : word[i];
        store_shared(to + 4 * i, 2 * i + 1 < n ? w : 2 * i < n ? w & 0xffff : 0);
    }
}

// Source is the matrix that the rows of tiles come from.
struct Source {
    u64 addr;       // of the matrix
    i64 stride;     // elements from one row to the next
    i32 rows, cols; // of the matrix; what lies beyond is 0
    bool aligned;   // rows begin at multiples of 16 bytes
};

DEVICE bool aligned_rows(u64 addr, i64 stride) { return addr % 16 == 0 && stride % 8 == 0; }

// Feed copies tiles of rows rows to shared memory, one after the other. A thread
// copies the same chunks of each, and keeps the place of its first one.
template <i32 chunks, i32 rows, i32 threads> struct Feed {
    static constexpr i32 abreast = threads / chunks; // rows that the block copies at a time
    static_assert(abreast % 8 == 0 && rows % abreast == 0, "a thread's chunks lie alike in all rows");
    const u16 *at;
    i64 step;  // elements to the thread's next row
    i32 place; // in the tile, in bytes
    i32 rows_left, cols_left;
    bool aligned;

    DEVICE_MEMBER Feed(const Source &s, i32 row, i32 col) {
        const i32 r = thread_id() / chunks, c = thread_id() % chunks;
        const Chunks<chunks> tile = {0};
        at = (const u16 *)s.addr + (row + r) * s.stride + col + c * 8;
        step = abreast * s.stride;
        place = tile.chunk(r, c);
        rows_left = s.rows - row - r;
        cols_left = s.cols - col - c * 8;
        aligned = s.aligned;
    }

    // fetch starts the copy of the tile to a shared address.
    DEVICE_MEMBER void fetch(u32 to) const {
        const i32 numbers = cols_left < 0 ? 0 : cols_left > 8 ? 8 : cols_left;
        const u16 *from = at;
        if (aligned) {
            UNROLLED for (i32 i = 0; i < rows; i += abreast, from += step) copy_async(to + place + i * chunks * 16, from, i < rows_left ? numbers * 2 : 0);
            return;
        }
        SELDOM;
        ROLLED for (i32 i = 0; i < rows; i += abreast, from += step) copy_words(to + place + i * chunks * 16, from, i < rows_left ? numbers : 0);
    }

    // right and down go on to a tile that is so many columns or rows away.
    DEVICE_MEMBER void right(i32 cols) {
        at += cols;
        cols_left -= cols;
    }
    DEVICE_MEMBER void down(i32 n) {
        at += n / abreast * step;
        rows_left -= n;
    }
};
