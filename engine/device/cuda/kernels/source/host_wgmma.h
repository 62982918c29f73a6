// The stand-ins for wgmma.h. They decode descriptors as the machine does, and are
// stricter: it is an error to multiply without group_begin, to multiply numbers
// copied without a shared_fence after it, or to change operands before group_end.
// Sums change at group_end.
#pragma once

namespace host {

// GroupProduct is a product that a lane has begun, and its operands.
struct GroupProduct {
    float *c, more[64];
    u64 a, b;
    bool across_a, across_b;
    u32 columns, seen;
};

const u32 group_lanes = 128, group_products = 8;

struct GroupLane {
    bool begun;
    u32 count, committed; // products
    GroupProduct product[group_products];
};
static GroupLane group_lane[max_threads];

// described_number returns the address of the number at row or column i and at k.
static const u16 *described_number(u64 d, bool across, u32 i, u32 k) {
    u32 start = (u32)(d & 0x3fff) << 4, leading = (u32)(d >> 16 & 0x3fff) << 4, stride = (u32)(d >> 32 & 0x3fff) << 4;
    if (d >> 62 != 1 || (d >> 46 & 0xffff) != 0 || (d >> 30 & 3) != 0 || (d >> 14 & 3) != 0) fail("a descriptor of another kind");
    u32 at = start + (across ? i % 64 * 2 + i / 64 * leading + k % 8 * 128 + k / 8 * stride : i % 8 * 128 + i / 8 * stride + k * 2);
    at ^= (at >> 7 & 7) << 4;
    if (at < shared_from || at + 2 > shared_from + block.used) fail("a descriptor of memory outside shared memory");
    return (const u16 *)(shared + (at - shared_from));
}

// seen_numbers sums up the operands' numbers that this lane watches: together a
// group's lanes watch all.
static u32 seen_numbers(const GroupProduct &p) {
    u32 lane = block.lane % group_lanes, sum = 0;
    for (u32 k = 0; k < 16; k++) {
        sum = sum * 31 + *described_number(p.a, p.across_a, lane % 64, k);
        if (lane < p.columns) sum = sum * 31 + *described_number(p.b, p.across_b, lane, k);
    }
    return sum;
}

template <float (*number)(u16)> static void group_multiply(const char *operation, float *c, u64 a, u64 b, bool across_a, bool across_b, u32 columns) {
    const u32 words[4] = {(u32)a, (u32)(a >> 32), (u32)b, (u32)(b >> 32)};
    const Deposit *all = exchange(operation, words, 4);
    if (memcmp(all[0].word, words, sizeof words) != 0) fail("lanes multiply different matrices");
    GroupLane &g = group_lane[block.lane];
    if (!g.begun) fail("group_begin is missing");
    if (unfenced > 0) fail("shared_fence is missing");
    if (g.count == group_products) fail("too many products at once");
    GroupProduct &p = g.product[g.count++];
    p = {c, {}, a, b, across_a, across_b, columns, 0};
    p.seen = seen_numbers(p);
    u32 lane = block.lane % warp, row = block.lane % group_lanes / warp * 16 + lane / 4;
    float x[2][16];
    for (u32 k = 0; k < 16; k++)
        for (u32 r = 0; r < 2; r++) x[r][k] = number(*described_number(a, across_a, row + r * 8, k));
    for (u32 i = 0; i < columns / 4; i++) {
        u32 col = i / 2 * 8 + lane % 4 * 2 + i % 2;
        float *sum = p.more + i / 2 * 4 + i % 2;
        for (u32 k = 0; k < 16; k++) {
            float y = number(*described_number(b, across_b, col, k));
            sum[0] += x[0][k] * y;
            sum[2] += x[1][k] * y;
        }
    }
}

} // namespace host

DEVICE void shared_fence() {
    host::Lane &l = host::lanes[host::block.lane];
    host::unfenced -= l.unfenced;
    l.unfenced = 0;
}

DEVICE void group_begin(float (&)[64]) {
    host::exchange("group_begin", 0, 0);
    host::GroupLane &g = host::group_lane[host::block.lane];
    g.begun = true;
    g.count = g.committed = 0;
}

DEVICE void group_commit() {
    host::exchange("group_commit", 0, 0);
    host::GroupLane &g = host::group_lane[host::block.lane];
    g.committed = g.count;
}

DEVICE void group_end(float (&)[64]) {
    host::exchange("group_end", 0, 0);
    host::GroupLane &g = host::group_lane[host::block.lane];
    for (u32 i = 0; i < g.committed; i++) {
        host::GroupProduct &p = g.product[i];
        if (host::seen_numbers(p) != p.seen) host::fail("an operand changed while it was multiplied");
        for (u32 k = 0; k < p.columns / 2; k++) p.c[k] += p.more[k];
    }
    g.begun = false;
}

template <bool across_a, bool across_b> DEVICE void group_bfloat(float (&c)[64], u64 a, u64 b) {
    host::group_multiply<host::bfloat_number>("group_bfloat", c, a, b, across_a, across_b, 128);
}
template <bool across_a, bool across_b> DEVICE void group_half(float (&c)[64], u64 a, u64 b) {
    host::group_multiply<host::half_number>("group_half", c, a, b, across_a, across_b, 128);
}
template <bool across_a> DEVICE void group_bfloat(float (&c)[4], u64 a, u64 b) {
    host::group_multiply<host::bfloat_number>("group_bfloat", c, a, b, across_a, false, 8);
}
template <bool across_a> DEVICE void group_half(float (&c)[4], u64 a, u64 b) {
    host::group_multiply<host::half_number>("group_half", c, a, b, across_a, false, 8);
}

DEVICE void group_settle(float (&)[4]) {}
