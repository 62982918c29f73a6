// Steps of the optimizers, in place.
#pragma once
#include "block.h"
#include "number.h"

enum Rule { sgd, adam, adamw, lion };

struct UpdateArgs {
    Array p, g, m, v, low, step, found;
    double lr, decay, beta1, beta2, log_beta1, log_beta2, eps, momentum, undamped;
    i32 rule, nesterov, first;
};

// Correction is Adam's step size with the first bias correction in it, and the
// inverse root of the second.
struct Correction {
    double size, root;
};

// skips reports whether the step is left out.
DEVICE bool skips(const Array &found) { return present(found) && element<float>(found, 0) != 0; }

// correction is computed once in a block.
DEVICE Correction correction(const Array &step, double lr, double log_beta1, double log_beta2) {
    SHARED(Correction, c);
    if (thread_id() == 0) {
        double t = (double)element<float>(step, 0);
        c.size = lr / (1 - math::exp(t * log_beta1));
        c.root = 1 / root(1 - math::exp(t * log_beta2));
    }
    barrier();
    return c;
}

// Moments is the state of one element that a rule changes.
template <typename T> struct Moments {
    T p, m, v;
};

template <typename T> DEVICE void step_sgd(const UpdateArgs &a, Moments<T> &x, T g) {
    T d = g + (T)a.decay * x.p;
    if (present(a.m)) {
        x.m = a.first ? d : (T)a.momentum * x.m + (T)a.undamped * d;
        d = a.nesterov ? d + (T)a.momentum * x.m : x.m;
    }
    x.p -= (T)a.lr * d;
}

// AdamFactors are the factors that AdamW8 needs too, in the type of computation.
template <typename T> struct AdamFactors {
    T coupled, shrink, beta1, rest1, beta2, rest2, eps, size, root;
};

template <typename T> DEVICE void step_adam(const AdamFactors<T> &f, Moments<T> &x, T g) {
    T d = g + f.coupled * x.p;
    x.m = f.beta1 * x.m + f.rest1 * d;
    x.v = f.beta2 * x.v + f.rest2 * d * d;
    x.p = x.p * f.shrink - f.size * x.m / (root(x.v) * f.root + f.eps);
}

template <typename T> DEVICE void step_lion(const UpdateArgs &a, Moments<T> &x, T g) {
    T beta1 = (T)a.beta1, beta2 = (T)a.beta2;
    x.p -= (T)a.lr * (math::sign(beta1 * x.m + (T)(1 - a.beta1) * g) + (T)a.decay * x.p);
    x.m = beta2 * x.m + (T)(1 - a.beta2) * g;
}

const i32 update_part = 4096; // elements of a block

template <typename T> DEVICE void update(const UpdateArgs &a) {
    if (skips(a.found)) return;
    AdamFactors<T> f = {};
    if (a.rule == adam || a.rule == adamw) {
        Correction c = correction(a.step, a.lr, a.log_beta1, a.log_beta2);
        f = {a.rule == adam ? (T)a.decay : (T)0, a.rule == adam ? (T)1 : (T)(1 - a.lr * a.decay), (T)a.beta1, (T)(1 - a.beta1),
             (T)a.beta2, (T)(1 - a.beta2), (T)a.eps, (T)c.size, (T)c.root};
    }
    i64 from = (i64)block_x() * update_part, to = from + update_part < a.p.len ? from + update_part : a.p.len;
    for (i64 i = from + thread_id() * 4; i < to; i += 4 * block_size()) {
        i32 n = (i32)(to - i < 4 ? to - i : 4);
        T p[4], g[4], m[4] = {0, 0, 0, 0}, v[4] = {0, 0, 0, 0};
        load4(p, a.p, i, n);
        load4(g, a.g, i, n);
        if (present(a.m)) load4(m, a.m, i, n);
        if (present(a.v)) load4(v, a.v, i, n);
        UNROLLED for (i32 k = 0; k < 4; k++) {
            Moments<T> x = {p[k], m[k], v[k]};
            if (a.rule == sgd) step_sgd(a, x, g[k]);
            else if (a.rule == lion) step_lion(a, x, g[k]);
            else step_adam(f, x, g[k]);
            p[k] = x.p, m[k] = x.m, v[k] = x.v;
        }
        store4(a.p, i, n, p);
        if (present(a.m)) store4(a.m, i, n, m);
        if (present(a.v)) store4(a.v, i, n, v);
        if (present(a.low)) store4(a.low, i, n, p);
    }
}

KERNEL(update, UpdateArgs, 256) { update<float>(a); }
KERNEL(update_wide, UpdateArgs, 256) { update<double>(a); }

struct AdvanceArgs {
    Array step, found;
};

KERNEL(advance, AdvanceArgs, 32) {
    if (thread_id() == 0 && !skips(a.found)) element<float>(a.step, 0) += 1;
}
