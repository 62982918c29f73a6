// AdamW with moments of eight bits: codes of the dynamic quantisation maps of
// quantize.go, and one scale for every block of 256.
#include "optimizer.cu"

const i32 quant_block = 256;

struct QuantMaps {
    float signed_map[quant_block], unsigned_map[quant_block];
};

// quant_maps makes both maps, ascending, at compile time: evenly placed values of
// each decade, and 0 and 1.
constexpr QuantMaps quant_maps() {
    QuantMaps q = {};
    double decade = 1e-6;
    int i = 128, j = 1;
    q.signed_map[127] = 0;
    for (int d = 0; d < 7; d++) {
        int steps = 1 << d;
        for (int s = 0; s < steps; s++, i++) {
            q.signed_map[i] = (float)(decade * (0.1 + 0.9 * (s + 0.5) / steps));
            q.signed_map[254 - i] = -q.signed_map[i];
        }
        steps *= 2;
        for (int s = 0; s < steps; s++) q.unsigned_map[j++] = (float)(decade * (0.1 + 0.9 * (s + 0.5) / steps));
        decade *= 10;
    }
    q.signed_map[255] = q.unsigned_map[255] = 1;
    return q;
}

TABLE QuantMaps all_quant_maps = quant_maps();

// nearest returns the code of the value nearest to x, of two equally near the
// lower. A code is right when x is nearer to its value than to the next.
DEVICE u8 nearest(const float *map, float x) {
    i32 low = 0, high = 255;
    while (low < high) {
        i32 middle = (low + high) / 2;
        if (x - map[middle] > map[middle + 1] - x) low = middle + 1;
        else high = middle;
    }
    return (u8)low;
}

// encode returns the code of x of this thread; the block shares scale, its
// largest magnitude. If 1/scale is 0 or not finite, the code is that of 0.
DEVICE u8 encode(const float *map, float x, float &scale) {
    scale = block_max(math::abs(x));
    float inverse = 1 / scale;
    bool divides = inverse > 0 && inverse < math::infinity(inverse);
    return nearest(map, divides ? x * inverse : 0);
}

// update8 has a thread for every element of one block of the quantisation.
KERNEL(update8, UpdateArgs, 256) {
    SHARED(QuantMaps, maps);
    if (skips(a.found)) return;
    maps.signed_map[thread_id()] = all_quant_maps.signed_map[thread_id()];
    maps.unsigned_map[thread_id()] = all_quant_maps.unsigned_map[thread_id()];
    barrier();
    const Correction c = *(const Correction *)a.correction;
    AdamFactors f = {0, (float)(1 - a.lr * a.decay), (float)a.beta1, (float)(1 - a.beta1), (float)a.beta2,
                            (float)(1 - a.beta2), (float)a.eps, (float)c.size, (float)c.root};
    const UpdateItem &item = a.item[item_of_block(a.item, a.count)];
    const Array ps = {item.p, item.len, float32}, gs = {item.g, item.len, item.grad_type}, lows = {item.low, item.len, item.low_type};
    u8 *ms = (u8 *)item.m, *vs = (u8 *)item.v;
    i64 block = block_x() - item.begin, i = block * quant_block + thread_id();
    float &old_m = ((float *)item.scale_m)[block], &old_v = ((float *)item.scale_v)[block];
    bool mine = i < item.len;
    Moments x = {0, 0, 0};
    if (mine) {
        x = {element<float>(ps, i), maps.signed_map[ms[i]] * old_m, maps.unsigned_map[vs[i]] * old_v};
        step_adam(f, x, load<float>(gs, i) * (float)clipping(a));
    }
    float scale_m, scale_v;
    u8 m = encode(maps.signed_map, x.m, scale_m), v = encode(maps.unsigned_map, x.v, scale_v);
    if (mine) {
        element<float>(ps, i) = x.p;
        ms[i] = m;
        vs[i] = v;
        if (present(lows)) store(lows, i, x.p);
    }
    if (thread_id() == 0) {
        old_m = scale_m;
        old_v = scale_v;
    }
}
