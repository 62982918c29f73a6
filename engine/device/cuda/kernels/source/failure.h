// How a kernel reports wrong input: the first thread that finds some fills the
// record of failure.go.
#pragma once
#include "rt.h"

struct Failure {
    u32 claimed, kind;
    i64 value, position, bound;
};

const u32 failed_gather = 1, failed_scatter = 2, failed_entropy = 3;

DEVICE void report(u64 record, u32 kind, i64 position, i64 value, i64 bound) {
    Failure *f = (Failure *)record;
    if (!claim(&f->claimed)) return;
    f->kind = kind;
    f->value = value;
    f->position = position;
    f->bound = bound;
}
