// Rows by number.
#include "failure.h"
#include "number.h"

struct GatherArgs {
    Array dst, table, ids;
    i64 rows, units; // of a row
    u64 failure;
    i32 unit;        // bytes: 1, 2, 4, 8 or 16
};

template <typename T> DEVICE void copy_units(u64 to, u64 from, i64 n) {
    for (i64 i = thread_id(); i < n; i += block_size()) ((T *)to)[i] = from ? ((const T *)from)[i] : (T)0;
}

// gather has a block for every id.
KERNEL(gather, GatherArgs, 256) {
    i64 id = index(a.ids, block_x());
    u64 bytes = a.units * a.unit, to = a.dst.addr + block_x() * bytes, from = a.table.addr + id * bytes;
    if (id < 0 || id >= a.rows) {
        if (thread_id() == 0) report(a.failure, failed_gather, block_x(), id, a.rows);
        from = 0;
    }
    switch (a.unit) {
    case 1: copy_units<u8>(to, from, a.units); break;
    case 2: copy_units<u16>(to, from, a.units); break;
    case 4: copy_units<u32>(to, from, a.units); break;
    case 8: copy_units<u64>(to, from, a.units); break;
    default:
        for (i64 i = thread_id(); i < a.units; i += block_size()) {
            u32 w[4] = {0, 0, 0, 0};
            if (from) load_words4(w, (const void *)(from + i * 16));
            store_words4((void *)(to + i * 16), w);
        }
    }
}

struct ScatterArgs {
    Array table, src, ids;
    i64 rows, cols;
    u64 failure;
};

const i32 scatter_ahead = 256;

struct Matches {
    i32 earlier;
    u8 found[scatter_ahead];
};

// scatter adds rows in the order of the ids, then their sum to the table, and no two
// blocks write one row: the block of an id's first place adds all rows with that id,
// and the others find an earlier one and return. A thread has one column.
template <typename T> DEVICE void scatter(const ScatterArgs &a) {
    SHARED(Matches, matches);
    i64 place = block_x(), id = index(a.ids, place), col = (i64)block_y() * block_size() + thread_id();
    if (id < 0 || id >= a.rows) {
        if (thread_id() == 0) report(a.failure, failed_scatter, place, id, a.rows);
        return;
    }
    if (thread_id() == 0) matches.earlier = 0;
    barrier();
    for (i64 i = thread_id(); i < place; i += block_size()) {
        if (index(a.ids, i) == id) matches.earlier = 1;
    }
    barrier();
    if (matches.earlier) return;
    T sum = 0;
    for (i64 from = place; from < a.ids.len; from += scatter_ahead) {
        i64 n = a.ids.len - from < scatter_ahead ? a.ids.len - from : scatter_ahead;
        for (i64 i = thread_id(); i < n; i += block_size()) matches.found[i] = index(a.ids, from + i) == id;
        barrier();
        if (col < a.cols) {
            for (i64 i = 0; i < n; i++) {
                if (matches.found[i]) sum += load<T>(a.src, (from + i) * a.cols + col);
            }
        }
        barrier();
    }
    if (col < a.cols) store(a.table, id * a.cols + col, load<T>(a.table, id * a.cols + col) + sum);
}

KERNEL(scatter, ScatterArgs, 256) { scatter<float>(a); }
KERNEL(scatter_wide, ScatterArgs, 256) { scatter<double>(a); }
