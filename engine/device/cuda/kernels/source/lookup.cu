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
    i64 rows, cols, low, high; // of the ids from low on and below high
    u64 failure, next, last;   // next has an i32 of every place, last one of every id
    u64 state;                 // a byte of every place
};

// What a place is among those with its id: the first and the last of its tile, the
// first of all.
const u8 tile_first = 1, tile_last = 2, head = 4;

// TileIds are the ids of the places that the threads of a block have.
struct TileIds {
    i64 id[1024];
};

// scatter_tiles links the places of one id within each tile, and has no place as the
// last one so far of every id. A thread has one place.
KERNEL(scatter_tiles, ScatterArgs, 1024) {
    SHARED(TileIds, tile);
    i32 mine = thread_id();
    i64 from = (i64)block_x() * block_size(), place = from + mine;
    i32 n = (i32)(a.ids.len - from < block_size() ? a.ids.len - from : block_size());
    i64 id = mine < n ? index(a.ids, place) : -1;
    if (mine < n && (id < 0 || id >= a.rows)) report(a.failure, failed_scatter, place, id, a.rows);
    tile.id[mine] = id;
    barrier();
    if (mine >= n) return;
    i32 before = mine - 1, after = mine + 1;
    bool used = id >= a.low && id < a.high;
    while (used && before >= 0 && tile.id[before] != id) before--;
    while (used && after < n && tile.id[after] != id) after++;
    ((i32 *)a.next)[place] = after < n ? (i32)(from + after) : -1;
    ((u8 *)a.state)[place] = used ? (before < 0 ? tile_first : 0) | (after == n ? tile_last : 0) : 0;
    if (used) ((i32 *)a.last)[id - a.low] = -1;
}

// scatter_chain links the tiles: one block goes through them in order.
KERNEL(scatter_chain, ScatterArgs, 1024) {
    i32 *next = (i32 *)a.next, *last = (i32 *)a.last;
    u8 *states = (u8 *)a.state;
    for (i64 from = 0; from < a.ids.len; from += block_size()) {
        i64 place = from + thread_id();
        u8 state = place < a.ids.len ? states[place] : 0;
        i64 id = state ? index(a.ids, place) - a.low : 0;
        if (state & tile_first) {
            i32 before = last[id];
            if (before < 0) states[place] = state | head;
            else next[before] = (i32)place;
        }
        barrier();
        if (state & tile_last) last[id] = (i32)place;
        barrier();
    }
}

// scatter adds rows in the order of the ids, then their sum to the table, and no two
// blocks write one row: the block of an id's first place adds all rows with that id,
// and the others return. A thread has one column. It finds some places ahead, so that
// their rows come at the same time.
KERNEL(scatter, ScatterArgs, 256) {
    const i32 ahead = 4;
    i64 place = block_x(), col = (i64)block_y() * block_size() + thread_id();
    if (!(((const u8 *)a.state)[place] & head) || col >= a.cols) return;
    i64 to = index(a.ids, place) * a.cols + col;
    const i32 *next = (const i32 *)a.next;
    float sum = 0;
    for (i32 at = (i32)place; at >= 0;) {
        i32 places[ahead], n = 0;
        UNROLLED for (i32 k = 0; k < ahead; k++) {
            places[k] = at;
            if (at >= 0) n++, at = next[at];
        }
        float x[ahead];
        UNROLLED for (i32 k = 0; k < ahead; k++) x[k] = k < n ? load<float>(a.src, places[k] * a.cols + col) : 0.0f;
        UNROLLED for (i32 k = 0; k < ahead; k++) {
            if (k < n) sum += x[k];
        }
    }
    store(a.table, to, load<float>(a.table, to) + sum);
}

