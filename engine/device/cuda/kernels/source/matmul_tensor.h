// Products of 16-bit matrices on the tensor cores.
//
// A block computes 128 × 128 of C, each of its eight warps 64 × 32 of that. K
// is taken 32 at a time: three tiles of A and of B are in shared memory; one is
// used while the others arrive. Sums of A's rows are products with ones, of the
// warps that have the first columns.
#pragma once
#include "matmul.h"
#include "tensor.h"

const i32 tensor_tile = 128, tensor_depth = 32, tensor_stages = 3;
const i32 tensor_numbers = tensor_tile * tensor_depth; // of one tile

// TensorTile is an operand's tile: with along_k 128 rows of 32 numbers along K,
// else 32 rows, each one k, of 128.
template <bool along_k> struct TensorTile {
    static constexpr i32 chunks = along_k ? tensor_depth / 8 : tensor_tile / 8;
    Chunks<chunks> c;

    // Column copies tiles one after the other along K.
    struct Column {
        Feed<chunks, along_k ? tensor_tile : tensor_depth, 256> feed;

        DEVICE_MEMBER Column(const Source &s, i32 first) : feed(s, along_k ? first : 0, along_k ? 0 : first) {}
        DEVICE_MEMBER void fetch(u32 to) {
            feed.fetch(to);
            if (along_k) feed.right(tensor_depth);
            else feed.down(tensor_depth);
        }
    };
    DEVICE_MEMBER void left(u32 r[4], i32 row, i32 k) const {
        if (along_k) c.left(r, row, k / 8);
        else c.left_transposed(r, k, row / 8);
    }
    DEVICE_MEMBER void right(u32 r[4], i32 col, i32 k) const {
        if (along_k) c.right(r, col, k / 8);
        else c.right_transposed(r, k, col / 8);
    }
};

// Ring counts from 0 to n − 1 again and again.
template <i32 n> struct Ring {
    i32 place = n - 1;
    DEVICE_MEMBER i32 next() { return place = place == n - 1 ? 0 : place + 1; }
};

// finish_fragment stores 16 × 8 sums.
DEVICE void finish_fragment(const Finish &f, i64 row, i64 col, const float c[4]) {
    FragmentFour four = four_of(c);
    finish(f, row + four.row, col + four.col, four.x[0], four.x[1], four.x[2], four.x[3]);
}

template <typename Kind, bool trans_a, bool trans_b> DEVICE void multiply_tensor(const MatMulArgs &a) {
    typedef TensorTile<!trans_a> TileA;
    typedef TensorTile<trans_b> TileB;
    SHARED_BYTES(bytes);
    const u32 shelf = shared_address(bytes);
    Place p = place(a, tensor_tile, tensor_tile);
    u64 addr_a = a.a.addr + p.a * 2, addr_b = a.b.addr + p.b * 2;
    const i32 m = (i32)a.m, n = (i32)a.n, k = (i32)a.k, steps = (k + tensor_depth - 1) / tensor_depth;
    typename TileA::Column left({addr_a, a.lda, trans_a ? k : m, trans_a ? m : k, aligned_rows(addr_a, a.lda)}, (i32)p.row);
    typename TileB::Column right({addr_b, a.ldb, trans_b ? n : k, trans_b ? k : n, aligned_rows(addr_b, a.ldb)}, (i32)p.col);
    Ring<tensor_stages> used, filled;
    auto fetch = [&](i32 step) {
        const u32 to = shelf + filled.next() * 4 * tensor_numbers;
        if (step < steps) {
            left.fetch(to);
            right.fetch(to + 2 * tensor_numbers);
        }
        copy_async_commit();
    };
    i32 warp = thread_id() / 32, row = warp / 4 * 64, col = warp % 4 * 32;
    float sum[4][4][4] = {}, sum_a[4][4] = {};
    const bool sums = trans_a && present(a.sum_a) && p.col + col == 0;
    const u32 ones[2] = {Kind::ones, Kind::ones};
    ROLLED for (i32 step = 0; step < tensor_stages - 1; step++) fetch(step);
    ROLLED for (i32 step = 0; step < steps; step++) {
        copy_async_wait<1>();
        barrier(); // the tile has arrived, and no thread reads the previous one
        fetch(step + tensor_stages - 1);
        const u32 at = shelf + used.next() * 4 * tensor_numbers;
        const TileA tile_a = {{at}};
        const TileB tile_b = {{at + 2 * tensor_numbers}};
        UNROLLED for (i32 k = 0; k < tensor_depth; k += 16) {
            u32 x[4][4], y[2][4];
            UNROLLED for (i32 i = 0; i < 4; i++) tile_a.left(x[i], row + i * 16, k);
            UNROLLED for (i32 j = 0; j < 2; j++) tile_b.right(y[j], col + j * 16, k);
            UNROLLED for (i32 i = 0; i < 4; i++) {
                UNROLLED for (i32 j = 0; j < 4; j++) Kind::multiply(sum[i][j], x[i], y[j / 2] + j % 2 * 2);
            }
            if (!sums) continue;
            UNROLLED for (i32 i = 0; i < 4; i++) Kind::multiply(sum_a[i], x[i], ones);
        }
    }
    i32 lane = thread_id() % 32;
    if (sums && lane % 4 == 0) {
        UNROLLED for (i32 i = 0; i < 8; i++) { // two of each fragment's rows, its first and its ninth from there on
            i64 at = p.row + row + i * 8 + lane / 4;
            if (at < a.m) store(a.sum_a, at, sum_a[i / 2][i % 2 * 2]);
        }
    }
    // The last tiles have been read: Finish takes their place.
    Finish &end = *(Finish *)bytes;
    copy_async_wait<0>();
    barrier();
    begin_finish(end, a, p.c);
    barrier();
    UNROLLED for (i32 i = 0; i < 4; i++) {
        UNROLLED for (i32 j = 0; j < 4; j++) finish_fragment(end, p.row + row + i * 16, p.col + col + j * 8, sum[i][j]);
    }
}
