// Products of 16-bit matrices on Hopper's tensor cores, which read operands from
// shared memory by themselves.
//
// A block computes 128 × 128 of C, each of its two warp groups 64 × 128 of that.
// K is taken 64 at a time: three tiles of A and of B are in shared memory; one
// is used while the others arrive. Two blocks fit into a processor, so that one
// multiplies while the other waits or stores. Rows of the matrices must
// begin at multiples of 16 bytes.
//
// A product of few tiles and much depth is divided along K: blocks of one x and
// different y compute parts of one tile. Each leaves its sums in memory, and the one
// that comes last adds all up, in the order of the parts. So no block waits, and equal
// operands give equal bits.
#pragma once
#include "matmul_tensor.h"
#include "wgmma.h"

const i32 group_tile = 128, group_depth = 64, group_stages = 3, group_threads = 256;
const i32 group_block = 64 * group_depth; // numbers of half a tile
const u32 group_align = 1024;
const i32 group_part = group_tile * group_tile + group_tile; // sums of a part: a tile's, and those of rows of A

// GroupTile is an operand's tile: with along_k 128 rows of 64 numbers along K,
// else two times 64 rows, each one k, of 64. A row has 128 bytes.
template <bool along_k> struct GroupTile {
    // Column copies tiles one after the other along K.
    struct Column {
        Feed<8, along_k ? 128 : 64, group_threads> feed, second; // second is of the second half, of tiles across K

        DEVICE_MEMBER Column(const Source &s, i32 first, i32 k) : feed(s, along_k ? first : k, along_k ? k : first), second(s, k, first + 64) {}
        DEVICE_MEMBER void fetch(u32 to) {
            feed.fetch(to);
            if (along_k) {
                feed.right(group_depth);
                return;
            }
            second.fetch(to + group_block * 2);
            feed.down(group_depth);
            second.down(group_depth);
        }
    };
    // operand describes the tile's contents from the half on and from k on.
    static DEVICE_MEMBER u64 operand(u32 tile, i32 half, i32 k) {
        const u32 from = tile + half * group_block * 2;
        return along_k ? described(from + k * 2, 16, 1024) : described(from + k * 128, group_block * 2, 1024);
    }
};

struct GroupBfloat {
    static constexpr u32 ones = Bfloat::ones;
    template <bool across_a, bool across_b> static DEVICE_MEMBER void multiply(float (&c)[64], u64 a, u64 b) { group_bfloat<across_a, across_b>(c, a, b); }
    template <bool across_a> static DEVICE_MEMBER void multiply(float (&c)[4], u64 a, u64 b) { group_bfloat<across_a>(c, a, b); }
};
struct GroupHalf {
    static constexpr u32 ones = Half::ones;
    template <bool across_a, bool across_b> static DEVICE_MEMBER void multiply(float (&c)[64], u64 a, u64 b) { group_half<across_a, across_b>(c, a, b); }
    template <bool across_a> static DEVICE_MEMBER void multiply(float (&c)[4], u64 a, u64 b) { group_half<across_a>(c, a, b); }
};

// RowSums are the sums of op(A)'s rows: its product with ones, which lie in a unit
// behind the tiles. With sums false there is nothing.
template <typename Kind, bool sums> struct RowSums {
    u32 ones;
    float sum[4] = {};

    DEVICE_MEMBER RowSums(u32 at) : ones(at) { store_shared(at + thread_id() * 4, Kind::ones); }
    DEVICE_MEMBER void settle() { group_settle(sum); }
    DEVICE_MEMBER void add(u64 tile) { Kind::template multiply<true>(sum, tile, described(ones, 16, 1024)); }
    // each calls f with a row of the tile and its sum, for the rows of this thread.
    template <typename F> DEVICE_MEMBER void each(F f) {
        const i32 lane = thread_id() % 32;
        if (lane % 4 > 0) return;
        UNROLLED for (i32 i = 0; i < 2; i++) f((i32)thread_id() / 32 * 16 + i * 8 + lane / 4, sum[2 * i]);
    }
};
template <typename Kind> struct RowSums<Kind, false> {
    DEVICE_MEMBER RowSums(u32) {}
    DEVICE_MEMBER void settle() {}
    DEVICE_MEMBER void add(u64) {}
    template <typename F> DEVICE_MEMBER void each(F) {}
};

// join_parts leaves the sums of this part, and reports whether all parts have come. Then
// the sums are those of all. shared is memory that no thread reads any more behind a
// barrier.
template <typename Rows> DEVICE bool join_parts(const MatMulArgs &a, u32 *shared, float (&sum)[64], Rows &rows) {
    float *first = (float *)a.parts + (u64)block_x() * blocks_y() * group_part, *mine = first + (u64)block_y() * group_part;
    UNROLLED for (i32 i = 0; i < 16; i++) store_words4(mine + (i * group_threads + thread_id()) * 4, (const u32 *)sum + 4 * i);
    rows.each([&](i32 row, float x) { mine[group_tile * group_tile + row] = x; });
    barrier();
    if (thread_id() == 0) *shared = arrive((u32 *)a.arrived + block_x(), blocks_y());
    barrier();
    if (!*shared) return false;
    UNROLLED for (i32 i = 0; i < 64; i++) sum[i] = 0;
    rows.each([&](i32 row, float &x) {
        x = 0;
        ROLLED for (u32 i = 0; i < blocks_y(); i++) x += first[i * group_part + group_tile * group_tile + row];
    });
    const float *part = first;
    ROLLED for (u32 i = 0; i < blocks_y(); i++, part += group_part) {
        UNROLLED for (i32 i = 0; i < 16; i++) {
            u32 w[4];
            load_words4(w, part + (i * group_threads + thread_id()) * 4);
            UNROLLED for (i32 k = 0; k < 4; k++) sum[4 * i + k] += float_of(w[k]);
        }
    }
    return true;
}

template <typename Kind, bool trans_a, bool trans_b, bool sums> DEVICE void multiply_group(const MatMulArgs &a, const Place &p) {
    typedef GroupTile<!trans_a> TileA;
    typedef GroupTile<trans_b> TileB;
    SHARED_BYTES(bytes);
    bytes += -shared_address(bytes) & (group_align - 1);
    const u32 shelf = shared_address(bytes);
    const i32 m = (i32)a.m, n = (i32)a.n, k = (i32)a.k, begin = (i32)(block_y() * a.part_depth);
    const i32 depth = k - begin < (i32)a.part_depth ? k - begin : (i32)a.part_depth, steps = (depth + group_depth - 1) / group_depth;
    typename TileA::Column left({a.a.addr + p.a * 2, a.lda, trans_a ? k : m, trans_a ? m : k, true}, (i32)p.row, begin);
    typename TileB::Column right({a.b.addr + p.b * 2, a.ldb, trans_b ? n : k, trans_b ? k : n, true}, (i32)p.col, begin);
    Ring<group_stages> used, filled;
    auto fetch = [&](i32 step) {
        const u32 to = shelf + filled.next() * 8 * group_block;
        if (step < steps) {
            left.fetch(to);
            right.fetch(to + 4 * group_block);
        }
        copy_async_commit();
    };
    i32 warp = thread_id() / 32;
    float sum[64] = {};
    RowSums<Kind, sums> rows(shelf + group_stages * 8 * group_block);
    ROLLED for (i32 step = 0; step < group_stages - 1; step++) fetch(step);
    ROLLED for (i32 step = 0; step < steps; step++) {
        copy_async_wait<1>();
        shared_fence();
        barrier(); // the tile has arrived, and no thread reads the previous one
        const u32 at = shelf + used.next() * 8 * group_block;
        group_begin(sum);
        rows.settle();
        UNROLLED for (i32 k = 0; k < group_depth; k += 16) {
            const u64 left_half = TileA::operand(at, warp / 4, k);
            Kind::template multiply<trans_a, !trans_b>(sum, left_half, TileB::operand(at + 4 * group_block, 0, k));
            rows.add(left_half);
        }
        group_commit();
        fetch(step + group_stages - 1);
        group_end(sum);
        rows.settle();
    }
    copy_async_wait<0>();
    if (blocks_y() > 1 && !join_parts(a, (u32 *)bytes, sum, rows)) return;
    rows.each([&](i32 row, float x) {
        if (p.row + row < a.m) store(a.sum_a, p.row + row, x);
    });
    // The last tiles have been read: Finish takes their place.
    Finish &end = *(Finish *)bytes;
    barrier();
    begin_finish(end, a, p.c);
    barrier();
    UNROLLED for (i32 j = 0; j < group_tile / 8; j++) finish_fragment(end, p.row + warp * 16, p.col + j * 8, sum + 4 * j);
}

template <typename Kind, bool trans_a, bool trans_b> DEVICE void multiply_group(const MatMulArgs &a) {
    const Place p = place(a, group_tile, group_tile);
    if (trans_a && present(a.sum_a) && p.col == 0) multiply_group<Kind, trans_a, trans_b, trans_a>(a, p);
    else multiply_group<Kind, trans_a, trans_b, false>(a, p);
}
