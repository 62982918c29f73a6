// Shared by all kinds of attention: their argument and the keys that a query sees.
#pragma once
#include "block.h"
#include "number.h"

// Heads mirrors device.Heads.
struct Heads {
    Array array;
    i64 batch_stride, head_stride, row_stride;
};

// AttentionArgs is the argument of flash, forward and backward. delta has Σ dO·O
// of every query, in the type of computation, as lse. sums and turns are scratch of
// the gradients on tensor cores: of dQ, and the numbers of blocks that have begun
// and of those that have added to a tile of queries.
struct AttentionArgs {
    Heads q, k, v, o, d_o, dq, dk, dv;
    Array lse, delta, sums, turns;
    i64 heads, queries, keys, dim;
    double scale;
    i32 causal, tile;
};

// head_of returns the first element of a head, counted through the batch.
DEVICE i64 head_of(const Heads &h, i64 heads, i64 head) {
    return (u32)head / (u32)heads * h.batch_stride + (u32)head % (u32)heads * h.head_stride;
}

// visible returns how many keys a query sees.
DEVICE i64 visible(const AttentionArgs &a, i64 query) {
    if (!a.causal) return a.keys;
    i64 n = query + 1 + a.keys - a.queries;
    return n < 0 ? 0 : n > a.keys ? a.keys : n;
}

// first_query returns the first query that sees a key.
DEVICE i64 first_query(const AttentionArgs &a, i64 key) {
    i64 query = key - (a.keys - a.queries);
    return !a.causal || query < 0 ? 0 : query;
}
