// Products of 16-bit matrices on Hopper's tensor cores, which read operands from
// shared memory by themselves.
//
// A block computes 128 × 128 of C, each of its two warp groups 64 × 128 of that.
// K is taken 64 at a time: three tiles of A and of B are in shared memory; one
// is used while the others arrive. Two blocks fit into a processor, so that one
// multiplies while the other waits or stores. Rows of the matrices must
// begin at multiples of 16 bytes.
#pragma once
#include "matmul_tensor.h"
#include "wgmma.h"

const i32 group_tile = 128, group_depth = 64, group_stages = 3;
const i32 group_block = 64 * group_depth; // numbers of half a tile
const u32 group_align = 1024;

// GroupTile is an operand's tile: with along_k 128 rows of 64 numbers along K,
// else two times 64 rows, each one k, of 64. A row has 128 bytes.
template <bool along_k> struct GroupTile {
    // Column copies tiles one after the other along K.
    struct Column {
        Feed<8, along_k ? 128 : 64, 256> feed, second; // second is of the second half, of tiles across K

        DEVICE_MEMBER Column(const Source &s, i32 first) : feed(s, along_k ? first : 0, along_k ? 0 : first), second(s, 0, first + 64) {}
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
    DEVICE_MEMBER void leave(const MatMulArgs &a, i64 row) const {
        const i32 lane = thread_id() % 32;
        if (lane % 4 > 0) return;
        UNROLLED for (i32 i = 0; i < 2; i++) { // a lane has two rows
            const i64 at = row + i * 8 + lane / 4;
            if (at < a.m) store(a.sum_a, at, sum[2 * i]);
        }
    }
};
template <typename Kind> struct RowSums<Kind, false> {
    DEVICE_MEMBER RowSums(u32) {}
    DEVICE_MEMBER void settle() {}
    DEVICE_MEMBER void add(u64) {}
    DEVICE_MEMBER void leave(const MatMulArgs &, i64) const {}
};

template <typename Kind, bool trans_a, bool trans_b, bool sums> DEVICE void multiply_group(const MatMulArgs &a, const Place &p) {
    typedef GroupTile<!trans_a> TileA;
    typedef GroupTile<trans_b> TileB;
    SHARED_BYTES(bytes);
    bytes += -shared_address(bytes) & (group_align - 1);
    const u32 shelf = shared_address(bytes);
    const i32 m = (i32)a.m, n = (i32)a.n, k = (i32)a.k, steps = (k + group_depth - 1) / group_depth;
    typename TileA::Column left({a.a.addr + p.a * 2, a.lda, trans_a ? k : m, trans_a ? m : k, true}, (i32)p.row);
    typename TileB::Column right({a.b.addr + p.b * 2, a.ldb, trans_b ? n : k, trans_b ? k : n, true}, (i32)p.col);
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
    rows.leave(a, p.row + warp * 16);
    // The last tiles have been read: Finish takes their place.
    Finish &end = *(Finish *)bytes;
    copy_async_wait<0>();
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
