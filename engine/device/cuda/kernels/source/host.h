// The machine of rt.h on an ordinary processor, for tests.
//
// The threads of a block are lanes: each has a stack of its own (a fiber) and
// runs until it must wait for others; then another one runs. A fiber whose lane
// ends goes on with the next lane, so that a kernel without barriers costs no
// switch. The stand-ins are stricter than the machine to show mistakes: shared
// memory is full of NaNs before every block, a copy_async happens only when a lane
// waits for it, lanes can run in falling order, and waits that do not match are an
// error instead of undefined.
#pragma once
#include <csetjmp>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>

#define DEVICE static inline
#define DEVICE_MEMBER inline
#define OUTLINE static
#define ROLLED
#define UNROLLED
#define FEWFOLD
#define SELDOM
#define TABLE static const
#define SHARED(type, name) type &name = *(type *)host::declared(__COUNTER__, sizeof(type))
#define SHARED_BYTES(name) unsigned char *name = host::shared
#define PAIRED(threads) threads
#define KERNEL(name, args, threads) \
    static void name(const args &a); \
    static void name##_run(const void *p) { name(*(const args *)p); } \
    static host::Kernel name##_kernel(#name, sizeof(args), threads, name##_run); \
    static void name(const args &a)

namespace host {

// Kernel is one kernel of the list of all.
struct Kernel {
    const char *name;
    size_t bytes;
    u32 threads;
    void (*run)(const void *);
    Kernel *next;
    static Kernel *first;
    Kernel(const char *name, size_t bytes, u32 threads, void (*run)(const void *))
        : name(name), bytes(bytes), threads(threads), run(run), next(first) { first = this; }
};
Kernel *Kernel::first;

const u32 max_threads = 1024, warp = 32;
const size_t max_shared = 227 << 10, stack_bytes = 128 << 10;

struct Copy { void *to; const void *from; u32 bytes, group; };

struct Lane {
    jmp_buf at;
    bool finished;
    u32 collectives, groups, copies;
    Copy copy[128];
};

// Deposit is the data that a lane shows its warp in one operation.
struct Deposit { const char *operation; u32 word[6]; };

// Block is the block that runs.
struct Block {
    const Kernel *kernel;
    const void *args;
    u32 grid[3], index[3], threads;
    bool falling;
    u32 lane, begun, alive;
    u32 at_barrier, alive_in_warp[max_threads / warp], at_warp[max_threads / warp];
    u32 queue[max_threads], head, queued; // lanes that may go on, a ring
    size_t dynamic, used;
    void *declared[64];
    const char *error;
    jmp_buf caller;
};

static Block block;
static Lane lanes[max_threads];
static Deposit deposits[2][max_threads];
alignas(128) static unsigned char shared[max_shared];
// shared_from is the address of the first byte in the machine's shared memory. It
// is only known to be a multiple of 128.
const u32 shared_from = 128;

// A fiber waits in at when it has no lane.
struct Fiber { ucontext_t start; jmp_buf at; void *stack; };
static Fiber fibers[max_threads];
static u32 fibers_made, idle[max_threads], idle_count;

[[noreturn]] static void fail(const char *error) {
    block.error = error;
    _longjmp(block.caller, 2);
}

[[maybe_unused]] static void *declared(int id, size_t size) {
    if (id >= 64) fail("too much shared memory is declared");
    if (!block.declared[id]) {
        if (block.used + size > max_shared) fail("the block has too much shared memory");
        block.declared[id] = memset(shared + block.used, 0xff, size);
        block.used += (size + 127) / 128 * 128;
    }
    return block.declared[id];
}

static void enqueue(u32 lane) { block.queue[(block.head + block.queued++) % max_threads] = lane; }
static void enqueue_first(u32 lane) {
    block.head = (block.head + max_threads - 1) % max_threads;
    block.queue[block.head] = lane;
    block.queued++;
}
static u32 ordered(u32 i, u32 n) { return block.falling ? n - 1 - i : i; }

// release_barrier lets the block go on when all its living lanes wait.
static void release_barrier() {
    if (block.at_barrier == 0 || block.at_barrier < block.alive) return;
    block.at_barrier = 0;
    for (u32 i = 0; i < block.threads; i++) {
        u32 lane = ordered(i, block.threads);
        if (!lanes[lane].finished) enqueue(lane);
    }
}

// release_warp does so for a warp, whose lanes go before all others, so that warps
// run as far apart as barriers allow.
static void release_warp(u32 w) {
    if (block.at_warp[w] == 0 || block.at_warp[w] < block.alive_in_warp[w]) return;
    block.at_warp[w] = 0;
    for (u32 i = 0; i < warp; i++) {
        u32 lane = w * warp + ordered(warp - 1 - i, warp);
        if (!lanes[lane].finished) enqueue_first(lane);
    }
}

static void live(u32 fiber);

// go_on gives the processor to another lane: one that may go on, or a new one.
[[noreturn]] static void go_on() {
    if (block.queued > 0) {
        block.lane = block.queue[block.head];
        block.head = (block.head + 1) % max_threads;
        block.queued--;
        _longjmp(lanes[block.lane].at, 1);
    }
    if (block.begun < block.threads) {
        if (idle_count > 0) _longjmp(fibers[idle[--idle_count]].at, 1);
        Fiber &f = fibers[fibers_made];
        f.stack = malloc(stack_bytes);
        getcontext(&f.start);
        f.start.uc_stack.ss_sp = f.stack;
        f.start.uc_stack.ss_size = stack_bytes;
        makecontext(&f.start, (void (*)())live, 1, fibers_made++);
        setcontext(&f.start);
    }
    if (block.alive > 0) fail("lanes wait at different barriers");
    _longjmp(block.caller, 1);
}

// live runs a fiber: lane after lane.
static void live(u32 fiber) {
    for (;;) {
        while (block.begun < block.threads && block.queued == 0) {
            u32 lane = ordered(block.begun++, block.threads);
            block.lane = lane;
            block.kernel->run(block.args);
            lanes[lane].finished = true;
            block.alive--;
            block.alive_in_warp[lane / warp]--;
            release_warp(lane / warp);
            release_barrier();
        }
        if (_setjmp(fibers[fiber].at) == 0) {
            idle[idle_count++] = fiber;
            go_on();
        }
    }
}

__attribute__((noinline)) static void suspend() {
    if (_setjmp(lanes[block.lane].at) == 0) go_on();
}

// exchange shows a deposit to the warp and returns those of all its lanes. Two
// sets take turns, because a lane may be one operation ahead of another.
static Deposit *exchange(const char *operation, const u32 *words, u32 count) {
    u32 lane = block.lane, set = lanes[lane].collectives++ % 2;
    Deposit &mine = deposits[set][lane];
    mine.operation = operation;
    for (u32 i = 0; i < count; i++) mine.word[i] = words[i];
    block.at_warp[lane / warp]++;
    release_warp(lane / warp);
    suspend();
    Deposit *all = &deposits[set][lane / warp * warp];
    if (all[0].operation != operation || all[warp - 1].operation != operation) fail("lanes of a warp are at different operations");
    return all;
}

static int run_block() {
    block.lane = block.begun = block.at_barrier = block.head = block.queued = 0;
    block.alive = block.threads;
    block.used = (block.dynamic + 127) / 128 * 128;
    memset(block.declared, 0, sizeof block.declared);
    memset(shared, 0xff, block.used);
    for (u32 i = 0; i < block.threads; i++) {
        lanes[i].finished = false;
        lanes[i].collectives = lanes[i].groups = lanes[i].copies = 0;
        block.alive_in_warp[i / warp] = warp;
        block.at_warp[i / warp] = 0;
    }
    int came = _setjmp(block.caller);
    if (came == 0) go_on();
    if (came == 2) idle_count = fibers_made = 0; // fibers within a lane are lost
    return came == 2;
}

} // namespace host

DEVICE u32 thread_id() { return host::block.lane; }
DEVICE u32 block_size() { return host::block.threads; }
DEVICE u32 block_x() { return host::block.index[0]; }
DEVICE u32 block_y() { return host::block.index[1]; }
DEVICE u32 block_z() { return host::block.index[2]; }
DEVICE u32 blocks_x() { return host::block.grid[0]; }

DEVICE void barrier() {
    host::block.at_barrier++;
    host::release_barrier();
    host::suspend();
}

DEVICE u32 shuffle_xor(u32 x, u32 mask) { return host::exchange("shuffle", &x, 1)[host::block.lane % host::warp ^ mask].word[0]; }

template <typename To, typename From> DEVICE To reinterpreted(From x) {
    To y;
    memcpy(&y, &x, sizeof y);
    return y;
}
DEVICE float float_of(u32 bits) { return reinterpreted<float>(bits); }
DEVICE u32 bits_of(float x) { return reinterpreted<u32>(x); }
DEVICE double double_of(u64 bits) { return reinterpreted<double>(bits); }
DEVICE u64 bits_of(double x) { return reinterpreted<u64>(x); }

DEVICE float fused(float a, float b, float c) { return std::fma(a, b, c); }
DEVICE double fused(double a, double b, double c) { return std::fma(a, b, c); }
DEVICE float root(float x) { return std::sqrt(x); }
DEVICE double root(double x) { return std::sqrt(x); }
DEVICE float larger_fast(float a, float b) { return std::fmax(a, b); }
DEVICE float exp2_fast(float x) { return x < -126 ? 0 : std::exp2(x); }

DEVICE float float_of_half(u16 h) {
    u32 sign = (u32)(h & 0x8000) << 16, m = h & 0x7fff;
    if (m >= 0x7c00) return float_of(sign | 0x7f800000 | (m & 0x3ff) << 13 | (m > 0x7c00 ? 0x400000 : 0));
    if (m >= 0x400) return float_of(sign | ((m << 13) + (112u << 23)));
    return float_of(sign | bits_of((float)m * 0x1p-24f));
}
DEVICE u16 half_of(float x) {
    u32 b = bits_of(x), sign = b >> 16 & 0x8000;
    b &= 0x7fffffff;
    if (b > 0x7f800000) return sign | 0x7fff;
    if (b >= 0x47800000) return sign | 0x7c00;
    if (b < 0x38800000) return sign | (bits_of(float_of(b) + 0.5f) - bits_of(0.5f));
    b += 0xfff + (b >> 13 & 1);
    return sign | (b - (112u << 23)) >> 13;
}
DEVICE u16 bfloat_of(float x) {
    u32 b = bits_of(x);
    if ((b & 0x7fffffff) > 0x7f800000) return 0x7fff;
    return (b + 0x7fff + (b >> 16 & 1)) >> 16;
}
DEVICE u32 bfloat_pair(float low, float high) { return bfloat_of(low) | (u32)bfloat_of(high) << 16; }
DEVICE u32 half_pair(float low, float high) { return half_of(low) | (u32)half_of(high) << 16; }

DEVICE void load_words(u32 w[2], const void *p) { memcpy(w, p, 8); }
DEVICE void load_words4(u32 w[4], const void *p) { memcpy(w, p, 16); }
DEVICE void store_words(void *p, const u32 w[2]) { memcpy(p, w, 8); }
DEVICE void store_words4(void *p, const u32 w[4]) { memcpy(p, w, 16); }

DEVICE bool claim(u32 *word) {
    bool first = *word == 0;
    *word = 1;
    return first;
}

DEVICE u32 take(u32 *counter) { return (*counter)++; }
// Blocks run one after the other, so what one waits for has happened.
DEVICE void wait_for(const u32 *word, u32 value) {
    if (*word != value) host::fail("a block waits for a later one");
}
DEVICE void publish(u32 *word, u32 value) { *word = value; }

DEVICE u32 shared_address(const void *p) { return (u32)((const unsigned char *)p - host::shared) + host::shared_from; }

namespace host {
static void *shared_at(u32 address) {
    if (address < shared_from || address + 4 > shared_from + block.used) fail("an address outside shared memory");
    return shared + (address - shared_from);
}
} // namespace host

DEVICE void store_shared(u32 at, u32 word) { memcpy(host::shared_at(at), &word, 4); }

DEVICE void copy_async(u32 shared, const void *from, u32 bytes) {
    host::Lane &l = host::lanes[host::block.lane];
    void *to = host::shared_at(shared);
    if (((size_t)to | (size_t)from) % 16 != 0 || bytes > 16) host::fail("copy_async: not 16-byte aligned");
    if (l.copies == sizeof l.copy / sizeof l.copy[0]) host::fail("copy_async: too many at once");
    l.copy[l.copies++] = {to, from, bytes, l.groups};
}
DEVICE void copy_async_commit() { host::lanes[host::block.lane].groups++; }
template <int pending> DEVICE void copy_async_wait() {
    host::Lane &l = host::lanes[host::block.lane];
    u32 kept = 0;
    for (u32 i = 0; i < l.copies; i++) {
        const host::Copy c = l.copy[i];
        if (c.group + pending >= l.groups) {
            l.copy[kept++] = c;
            continue;
        }
        memset(c.to, 0, 16);
        memcpy(c.to, c.from, c.bytes);
    }
    l.copies = kept;
}

namespace host {
static const u16 *row_of(const Deposit *all, u32 matrix, u32 row) {
    const void *p = shared_at(all[matrix * 8 + row].word[0]);
    if ((size_t)p % 16 != 0) fail("load_matrices: not 16-byte aligned");
    return (const u16 *)p;
}
} // namespace host

DEVICE void load_matrices(u32 r[4], u32 row) {
    const host::Deposit *all = host::exchange("load_matrices", &row, 1);
    u32 lane = host::block.lane % host::warp;
    for (u32 i = 0; i < 4; i++) memcpy(&r[i], host::row_of(all, i, lane / 4) + lane % 4 * 2, 4);
}
DEVICE void load_transposed(u32 r[4], u32 row) {
    const host::Deposit *all = host::exchange("load_transposed", &row, 1);
    u32 lane = host::block.lane % host::warp, t = lane % 4 * 2;
    for (u32 i = 0; i < 4; i++) r[i] = host::row_of(all, i, t)[lane / 4] | (u32)host::row_of(all, i, t + 1)[lane / 4] << 16;
}

namespace host {
template <float (*number)(u16)> static void multiply(const char *operation, float c[4], const u32 a[4], const u32 b[2]) {
    const u32 words[6] = {a[0], a[1], a[2], a[3], b[0], b[1]};
    const Deposit *all = exchange(operation, words, 6);
    u32 lane = block.lane % warp, g = lane / 4, t = lane % 4 * 2;
    for (u32 k = 0; k < 16; k++) {
        u32 word = k / 8, from = k % 8 / 2, shift = k % 2 * 16;
        for (u32 i = 0; i < 4; i++) {
            float x = number(all[g * 4 + from].word[word * 2 + i / 2] >> shift);
            float y = number(all[(t + i % 2) * 4 + from].word[4 + word] >> shift);
            c[i] += x * y;
        }
    }
}
static float bfloat_number(u16 h) { return float_of((u32)h << 16); }
static float half_number(u16 h) { return float_of_half(h); }
} // namespace host

DEVICE void multiply_bfloat(float c[4], const u32 a[4], const u32 b[2]) { host::multiply<host::bfloat_number>("multiply_bfloat", c, a, b); }
DEVICE void multiply_half(float c[4], const u32 a[4], const u32 b[2]) { host::multiply<host::half_number>("multiply_half", c, a, b); }

// memtop_launch runs a kernel and returns 0, or 1 with the reason in
// memtop_error. It is not safe for concurrent use.
extern "C" int memtop_launch(const char *name, const u32 *grid, u32 threads, u32 dynamic, const void *args, size_t bytes, int falling) {
    host::Block &b = host::block;
    b.error = 0;
    const host::Kernel *k = host::Kernel::first;
    while (k && strcmp(k->name, name) != 0) k = k->next;
    if (!k) b.error = "no such kernel";
    else if (k->bytes != bytes) b.error = "the arguments have another size";
    else if (threads == 0 || threads % host::warp != 0 || threads > k->threads) b.error = "a block of a size that the kernel does not allow";
    else if (dynamic > host::max_shared) b.error = "too much shared memory";
    if (b.error) return 1;
    b.kernel = k, b.args = args, b.threads = threads, b.dynamic = dynamic, b.falling = falling;
    memcpy(b.grid, grid, sizeof b.grid);
    for (b.index[2] = 0; b.index[2] < grid[2]; b.index[2]++)
        for (b.index[1] = 0; b.index[1] < grid[1]; b.index[1]++)
            for (b.index[0] = 0; b.index[0] < grid[0]; b.index[0]++)
                if (host::run_block()) return 1;
    return 0;
}
extern "C" const char *memtop_error() { return host::block.error ? host::block.error : ""; }
