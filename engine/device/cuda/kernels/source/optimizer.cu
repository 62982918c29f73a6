// Steps of the optimizers, in place: of a list of parameters with one launch.
#pragma once
#include "block.h"
#include "number.h"

enum Rule { sgd, adam, adamw, lion };

struct UpdateItem {
    u64 p, g, m, v, scale_m, scale_v, low; // addresses, 0 of what there is not
    i64 len;
    i32 begin; // the first block that works on this parameter
    u8 grad_type, low_type, first;
};

const i32 update_items = 52;

struct UpdateArgs {
    UpdateItem item[update_items];
    double lr, decay, beta1, beta2, eps, momentum, undamped;
    double limit;
    u64 correction, found, norm; // addresses, 0 of what there is not
    i32 count, rule, nesterov;
};

// Correction is Adam's step size with the first bias correction in it, and the
// inverse root of the second.
struct Correction {
    double size, root;
};

// skips reports whether the step is left out.
DEVICE bool skips(u64 found) { return found && *(const float *)found != 0; }

// clipping is what gradients are multiplied by: limit/(norm + 1e-6) when that is not 1
// or more.
DEVICE double clipping(const UpdateArgs &a) {
    double factor = a.norm ? a.limit / ((double)*(const float *)a.norm + 1e-6) : 1;
    return factor >= 1 ? 1 : factor;
}

// CorrectArgs is of one step of one rule: a Correction is written to an address.
struct CorrectArgs {
    double lr, log_beta1, log_beta2;
    u64 step, to;
};

// correct has one thread at work.
KERNEL(correct, CorrectArgs, 32) {
    if (thread_id() != 0) return;
    double t = (double)*(const float *)a.step;
    *(Correction *)a.to = {a.lr / (1 - math::exp(t * a.log_beta1)), 1 / root(1 - math::exp(t * a.log_beta2))};
}

// Moments is the state of one element that a rule changes.
struct Moments {
    float p, m, v;
};

DEVICE void step_sgd(const UpdateArgs &a, const UpdateItem &item, Moments &x, float g) {
    float d = g + (float)a.decay * x.p;
    if (item.m) {
        x.m = item.first ? d : (float)a.momentum * x.m + (float)a.undamped * d;
        d = a.nesterov ? d + (float)a.momentum * x.m : x.m;
    }
    x.p -= (float)a.lr * d;
}

// AdamFactors are the factors that AdamW8 needs too.
struct AdamFactors {
    float coupled, shrink, beta1, rest1, beta2, rest2, eps, size, root;
};

DEVICE void step_adam(const AdamFactors &f, Moments &x, float g) {
    float d = g + f.coupled * x.p;
    x.m = f.beta1 * x.m + f.rest1 * d;
    x.v = f.beta2 * x.v + f.rest2 * d * d;
    x.p = x.p * f.shrink - f.size * x.m / (root(x.v) * f.root + f.eps);
}

DEVICE void step_lion(const UpdateArgs &a, Moments &x, float g) {
    float beta1 = (float)a.beta1, beta2 = (float)a.beta2;
    x.p -= (float)a.lr * (math::sign(beta1 * x.m + (float)(1 - a.beta1) * g) + (float)a.decay * x.p);
    x.m = beta2 * x.m + (float)(1 - a.beta2) * g;
}

const i32 update_part = 4096; // elements of a block

KERNEL(update, UpdateArgs, 256) {
    if (skips(a.found)) return;
    AdamFactors f = {};
    if (a.rule == adam || a.rule == adamw) {
        const Correction c = *(const Correction *)a.correction;
        f = {a.rule == adam ? (float)a.decay : 0.0f, a.rule == adam ? 1.0f : (float)(1 - a.lr * a.decay), (float)a.beta1, (float)(1 - a.beta1),
             (float)a.beta2, (float)(1 - a.beta2), (float)a.eps, (float)c.size, (float)c.root};
    }
    const float clip = (float)clipping(a);
    const UpdateItem &item = a.item[item_of_block(a.item, a.count)];
    const Array ps = {item.p, item.len, float32}, gs = {item.g, item.len, item.grad_type}, ms = {item.m, item.len, float32},
                vs = {item.v, item.len, float32}, lows = {item.low, item.len, item.low_type};
    i64 from = (i64)(block_x() - item.begin) * update_part, to = from + update_part < item.len ? from + update_part : item.len;
    for (i64 i = from + thread_id() * 4; i < to; i += 4 * block_size()) {
        i32 n = (i32)(to - i < 4 ? to - i : 4);
        float p[4], g[4], m[4] = {0, 0, 0, 0}, v[4] = {0, 0, 0, 0};
        load4(p, ps, i, n);
        load4(g, gs, i, n);
        if (present(ms)) load4(m, ms, i, n);
        if (present(vs)) load4(v, vs, i, n);
        UNROLLED for (i32 k = 0; k < 4; k++) {
            Moments x = {p[k], m[k], v[k]};
            g[k] *= clip;
            if (a.rule == sgd) step_sgd(a, item, x, g[k]);
            else if (a.rule == lion) step_lion(a, x, g[k]);
            else step_adam(f, x, g[k]);
            p[k] = x.p, m[k] = x.m, v[k] = x.v;
        }
        store4(ps, i, n, p);
        if (present(ms)) store4(ms, i, n, m);
        if (present(vs)) store4(vs, i, n, v);
        if (present(lows)) store4(lows, i, n, p);
    }
}

struct AdvanceArgs {
    Array step, found;
};

KERNEL(advance, AdvanceArgs, 32) {
    if (thread_id() == 0 && !skips(a.found.addr)) element<float>(a.step, 0) += 1;
}
