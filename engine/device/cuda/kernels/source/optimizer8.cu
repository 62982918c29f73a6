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

struct Update8Args {
    Array p, g, m, v, scale_m, scale_v, low, step, found;
    double lr, decay, beta1, beta2, log_beta1, log_beta2, eps;
};

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
KERNEL(update8, Update8Args, 256) {
    SHARED(QuantMaps, maps);
    if (skips(a.found)) return;
    maps.signed_map[thread_id()] = all_quant_maps.signed_map[thread_id()];
    maps.unsigned_map[thread_id()] = all_quant_maps.unsigned_map[thread_id()];
    Correction c = correction(a.step, a.lr, a.log_beta1, a.log_beta2);
    AdamFactors<float> f = {0, (float)(1 - a.lr * a.decay), (float)a.beta1, (float)(1 - a.beta1), (float)a.beta2,
                            (float)(1 - a.beta2), (float)a.eps, (float)c.size, (float)c.root};
    i64 i = (i64)block_x() * quant_block + thread_id();
    bool mine = i < a.p.len;
    Moments<float> x = {0, 0, 0};
    if (mine) {
        x = {element<float>(a.p, i), maps.signed_map[element<u8>(a.m, i)] * element<float>(a.scale_m, block_x()),
             maps.unsigned_map[element<u8>(a.v, i)] * element<float>(a.scale_v, block_x())};
        step_adam(f, x, load<float>(a.g, i));
    }
    float scale_m, scale_v;
    u8 m = encode(maps.signed_map, x.m, scale_m), v = encode(maps.unsigned_map, x.v, scale_v);
    if (mine) {
        element<float>(a.p, i) = x.p;
        element<u8>(a.m, i) = m;
        element<u8>(a.v, i) = v;
        if (present(a.low)) store(a.low, i, x.p);
    }
    if (thread_id() == 0) {
        element<float>(a.scale_m, block_x()) = scale_m;
        element<float>(a.scale_v, block_x()) = scale_v;
    }
}
