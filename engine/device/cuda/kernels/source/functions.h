// Elementary functions, since the device has no library of them: for float within
// a few units in the last place, for double within a few of 10^-16. float uses the
// formulas of the CPU backend.
#pragma once
#include "rt.h"

namespace math {

DEVICE float infinity(float) { return float_of(0x7f800000); }
DEVICE double infinity(double) { return double_of(0x7ff0000000000000ULL); }
DEVICE float nan() { return float_of(0x7fc00000); }
DEVICE float abs(float x) { return x < 0 ? -x : x == 0 ? 0.0f : x; }
// larger returns the larger of two, and NaN when one of them is.
template <typename T> DEVICE T larger(T a, T b) { return b > a || b != b ? b : a; }
DEVICE float sign(float x) { return x > 0 ? 1.0f : x < 0 ? -1.0f : x; }

// exp_small is exp of numbers that are not positive, but for rounding: those from which
// the largest was subtracted. It takes 2^(x·log2 e) from the machine, and corrects the
// rounding of the product by one more factor, 1 + rest·ln 2.
DEVICE float exp_small(float x) {
    const float log2e = 1.44269504f, log2e_rest = 1.92596299e-8f;
    if (x < -104) return 0;
    float y = x * log2e;
    float rest = fused(x, log2e_rest, fused(x, log2e, -y));
    float power = exp2_fast(y);
    return fused(power, rest * 0.693147181f, power);
}
DEVICE float exp(float x) { return x > 88.72283f ? infinity(x) : exp_small(x); }

// exp writes x as n·ln 2 + r, takes e^r from its series, and puts n into the
// exponent in two steps.
OUTLINE double exp(double x) {
    if (x > 709.8) return infinity(x);
    if (x < -745.2) return 0;
    if (x != x) return x;
    const double magic = 6755399441055744.0; // adding it rounds to a whole number
    double n = x * 1.4426950408889634 + magic - magic;
    double r = fused(n, -6.93147180369123816490e-01, x);
    r = fused(n, -1.90821492927058770002e-10, r);
    double p = 1;
    ROLLED for (i32 k = 14; k > 0; k--) p = fused(p, r / k, 1.0);
    i64 half = (i64)n >> 1, other = (i64)n - half;
    return p * double_of((u64)(half + 1023) << 52) * double_of((u64)(other + 1023) << 52);
}

// log writes x as m·2^e with m near 1 and takes ln m = 2·artanh((m−1)/(m+1))
// from its series.
OUTLINE double log(double x) {
    if (x != x || x < 0) return nan();
    if (x == 0) return -infinity(x);
    if (x == infinity(x)) return x;
    i32 e = 0;
    if (x < 2.2250738585072014e-308) x *= 18014398509481984.0, e = -54;
    u64 bits = bits_of(x);
    e += (i32)(bits >> 52) - 1023;
    double m = double_of((bits & 0xfffffffffffffULL) | 0x3ff0000000000000ULL);
    if (m > 1.4142135623730951) m *= 0.5, e++;
    double s = (m - 1) / (m + 1), square = s * s, p = 1.0 / 25;
    ROLLED for (i32 k = 23; k > 0; k -= 2) p = fused(p, square, 1.0 / k);
    return fused((double)e, 6.93147180369123816490e-01, fused((double)e, 1.90821492927058770002e-10, 2 * s * p));
}
DEVICE float log(float x) { return (float)log((double)x); }

// tanh is 1 − 2/(1+e^2x), and near 0, where that cancels, its series.
DEVICE float tanh(float x) {
    if (x > (float)-0.25 && x < (float)0.25) {
        const float s = x * x;
        float p = (float)(-929569.0 / 638512875);
        p = p * s + (float)(21844.0 / 6081075);
        p = p * s + (float)(-1382.0 / 155925);
        p = p * s + (float)(62.0 / 2835);
        p = p * s + (float)(-17.0 / 315);
        p = p * s + (float)(2.0 / 15);
        p = p * s + (float)(-1.0 / 3);
        return x + x * s * p;
    }
    return 1 - 2 / (1 + exp(2 * x));
}

DEVICE float sigmoid(float x) { return 1 / (1 + exp(-x)); }

// normal sets phi to Φ(x), the normal distribution's, and bell to e^(−x²/2), by
// formula 7.1.26 of Abramowitz and Stegun, whose error is below 1e-7.
DEVICE void normal(float x, float &phi, float &bell) {
    bell = exp_small(-0.5f * x * x);
    float t = 1 / (abs(x) * (float)(0.3275911 * 0.70710678118654752) + 1);
    float p = 1.061405429f / 2;
    p = p * t + -1.453152027f / 2;
    p = p * t + 1.421413741f / 2;
    p = p * t + -0.284496736f / 2;
    p = p * t + 0.254829592f / 2;
    float tail = p * t * bell;
    phi = x < 0 ? tail : 1 - tail;
}

// sin_cos takes turns, in [0, 1), and subtracts quarters without error.
OUTLINE void sin_cos(double turns, double &sine, double &cosine) {
    i32 quarter = (i32)(turns * 4 + 0.5);
    double r = (turns - quarter * 0.25) * 6.28318530717958647692, square = r * r, s = 1, c = 1;
    ROLLED for (i32 k = 18; k > 0; k -= 2) {
        s = 1 - square / (k * (k + 1)) * s;
        c = 1 - square / (k * (k - 1)) * c;
    }
    s *= r;
    bool swapped = quarter % 2;
    sine = swapped ? c : s;
    cosine = swapped ? s : c;
    if (quarter % 4 >= 2) sine = -sine;
    if (quarter % 4 == 1 || quarter % 4 == 2) cosine = -cosine;
}

} // namespace math

// Function mirrors device.UnaryOp.
enum Function { neg, exp_, log_, sqrt_, rsqrt_, square, abs_, sigmoid_, tanh_, relu, gelu, gelu_tanh, silu };

const double gelu_scale = 1.59576912160573071176; // 2·√(2/π)
const double gelu_cubic = 0.044715;

// activate is apply for the activations of a product.
DEVICE float activate(u32 f, float x) {
    float phi, bell;
    switch (f) {
    case relu: return x < 0 ? 0.0f : x;
    case gelu: math::normal(x, phi, bell); return x * phi;
    case gelu_tanh: return x * math::sigmoid((float)gelu_scale * (x + (float)gelu_cubic * x * x * x));
    default: return x * math::sigmoid(x);
    }
}

// apply returns f(x).
DEVICE float apply(u32 f, float x) {
    switch (f) {
    case neg: return -x;
    case exp_: return math::exp(x);
    case log_: return math::log(x);
    case sqrt_: return root(x);
    case rsqrt_: return 1 / root(x);
    case square: return x * x;
    case abs_: return math::abs(x);
    case sigmoid_: return math::sigmoid(x);
    case tanh_: return math::tanh(x);
    default: return activate(f, x);
    }
}

// slope_of is slope for the activations of a product.
DEVICE float slope_of(u32 f, float x) {
    float phi, bell, s;
    switch (f) {
    case relu: return x <= 0 ? 0.0f : 1.0f;
    case gelu: math::normal(x, phi, bell); return phi + x * (float)0.39894228040143267794 * bell;
    case gelu_tanh:
        s = math::sigmoid((float)gelu_scale * (x + (float)gelu_cubic * x * x * x));
        return s + x * s * (1 - s) * ((float)gelu_scale * (1 + 3 * (float)gelu_cubic * x * x));
    default: s = math::sigmoid(x); return s * (1 + x * (1 - s));
    }
}

// slope returns f'(x).
DEVICE float slope(u32 f, float x) {
    float s;
    switch (f) {
    case neg: return -1;
    case exp_: return math::exp(x);
    case log_: return 1 / x;
    case sqrt_: return (float)0.5 / root(x);
    case rsqrt_: return (float)-0.5 / (x * root(x));
    case square: return 2 * x;
    case abs_: return math::sign(x);
    case sigmoid_: s = math::sigmoid(x); return s * (1 - s);
    case tanh_: s = math::tanh(x); return 1 - s * s;
    default: return slope_of(f, x);
    }
}
