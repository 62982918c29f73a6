// Operations on many arrays with one launch: the norm of all gradients, and their
// division by a scale. A block has list_part elements of one array.
#include "block.h"
#include "number.h"

struct ListItem {
    u64 addr;
    i64 len;
    i32 type;
    i32 begin; // the first block that works on this array
};

const i32 list_items = 160, list_part = 16384;

struct ListArgs {
    ListItem item[list_items];
    i32 count;
    Array by;       // the scale
    Array found;    // unscale sets it to 1
    u64 partials;   // of norm_squares: one double for every block
};

// Part is the elements of one block.
struct Part {
    Array a;
    i64 from, to;
};

DEVICE Part part_of(const ListArgs &a) {
    const ListItem &item = a.item[item_of_block(a.item, a.count)];
    i64 from = (i64)(block_x() - item.begin) * list_part, to = from + list_part;
    return {{item.addr, item.len, (u8)item.type}, from, to < item.len ? to : item.len};
}

DEVICE i32 rest_of(const Part &p, i64 i) { return (i32)(p.to - i < 4 ? p.to - i : 4); }

KERNEL(norm_squares, ListArgs, 256) {
    Part p = part_of(a);
    double sum = 0;
    for (i64 i = p.from + thread_id() * 4; i < p.to; i += 4 * block_size()) {
        float x[4];
        load4(x, p.a, i, rest_of(p, i));
        for (i32 k = 0; k < 4; k++) sum += (double)x[k] * (double)x[k];
    }
    sum = block_sum(sum);
    if (thread_id() == 0) ((double *)a.partials)[block_x()] = sum;
}

// NormRootArgs: dst gets the root of a sum, or sum, if it is not 0, the sum itself.
struct NormRootArgs {
    Array dst;
    u64 sum, partials;
    i64 count;
};

// norm_root has one block.
KERNEL(norm_root, NormRootArgs, 256) {
    double sum = 0;
    for (i64 i = thread_id(); i < a.count; i += block_size()) sum += ((const double *)a.partials)[i];
    sum = block_sum(sum);
    if (thread_id() != 0) return;
    if (a.sum) *(double *)a.sum = sum;
    else store(a.dst, 0, root(sum));
}

// multiply scales a part and returns whether all of it was finite: then x−x is 0.
DEVICE bool multiply(const Part &p, float factor) {
    float difference = 0;
    for (i64 i = p.from + thread_id() * 4; i < p.to; i += 4 * block_size()) {
        float x[4];
        load4(x, p.a, i, rest_of(p, i));
        for (i32 k = 0; k < 4; k++) {
            difference += x[k] - x[k];
            x[k] *= factor;
        }
        store4(p.a, i, rest_of(p, i), x);
    }
    return difference == 0;
}

// unscale multiplies by 1/by. All threads that write found write the same.
KERNEL(unscale, ListArgs, 256) {
    if (!multiply(part_of(a), (float)(1 / (double)element<float>(a.by, 0)))) element<float>(a.found, 0) = 1;
}

struct UpdateScaleArgs {
    Array scale, tracker, found;
    double growth, backoff, interval;
};

// update_scale has one thread at work.
KERNEL(update_scale, UpdateScaleArgs, 32) {
    if (thread_id() != 0) return;
    float &scale = element<float>(a.scale, 0), &tracker = element<float>(a.tracker, 0);
    if (present(a.found) && element<float>(a.found, 0) != 0) {
        scale = (float)((double)scale * a.backoff);
        tracker = 0;
        return;
    }
    double good = (double)tracker + 1;
    if (good >= a.interval) {
        good = 0;
        float grown = (float)((double)scale * a.growth);
        if (grown - grown == 0) scale = grown;
    }
    tracker = (float)good;
}
