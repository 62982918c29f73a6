package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// program is what a process asks of the allocator, from an empty one to an empty
// one. Both sides skip an operation on a block whose request failed.
type program struct {
	fraction float64 // of the device's memory, for the process
	late     int     // how many looks at events it takes to find one that has happened
	body     []operation
}

// operation is one call. Its text is its kind and the fields that the kind has.
type operation struct {
	kind  kind
	id    int // of the block or of the pool
	extra int // of a request the stream, of a record the stream
	bytes int64
}

type kind byte

const (
	request kind = 'a' // id, extra, bytes
	free    kind = 'f' // id
	record  kind = 'r' // id, extra: another stream uses the block
	empty   kind = 'e'
	begin   kind = 'b' // id: requests go to the pool from now on
	end     kind = 'x' // id
	drop    kind = 'd' // id: the program has no more use for the pool
)

func (o operation) String() string {
	switch o.kind {
	case request:
		return fmt.Sprintf("a %d %d %d", o.id, o.extra, o.bytes)
	case record:
		return fmt.Sprintf("r %d %d", o.id, o.extra)
	case empty:
		return "e"
	default:
		return fmt.Sprintf("%c %d", o.kind, o.id)
	}
}

// String returns the program as a process reads it: a line for each operation.
func (p *program) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "p %s %d\n", strconv.FormatFloat(p.fraction, 'g', -1, 64), p.late)
	for _, o := range p.operations() {
		fmt.Fprintln(&b, o)
	}
	return b.String()
}

// operations returns the valid operations of the body, and then those that leave
// the allocator empty. So any part of a body is a program.
func (p *program) operations() []operation {
	v := validity{late: p.late > 1, live: make(map[int]bool), used: make(map[int]bool), pools: make(map[int]bool)}
	var list []operation
	for _, o := range p.body {
		if v.takes(o) {
			list = append(list, o)
		}
	}
	return append(list, v.ending(p.body)...)
}

const (
	streamCount = 3
	mebibyte    = 1 << 20
)

// made reports whether a pool is one that a program makes itself, a MemPool, and not
// one of graphs. No pool has the number of one that was dropped.
func made(pool int) bool { return pool%2 == 0 }

// serves reports whether a pool that the program makes serves when memory runs out, in
// releases that have that.
func serves(pool int) bool { return made(pool) && pool/2%4 == 1 }

// writer makes a random program.
type writer struct {
	*rand.Rand
	live    []int
	sizes   []int64 // asked for so far: programs repeat themselves
	next    int
	other   int // the one stream that uses blocks of others
	threads int // streams that the program uses
	scale   int // of sizes: in how many requests one is large
	pooled  bool
	pools   []int
	last    int // pool made
	open    int // pool in use
	body    []operation
}

// random returns the program with a number. The same seed and number give the same
// program.
func random(seed, number uint64) *program {
	w := &writer{Rand: rand.New(rand.NewPCG(seed, number)), next: 1}
	w.other, w.threads, w.scale = w.IntN(streamCount), 1+w.IntN(streamCount), 2+w.IntN(8)
	w.pooled = w.IntN(3) == 0
	fractions := []float64{1, 1, 0.75, 0.5, 0.3, 0.1}
	p := &program{fraction: fractions[w.IntN(len(fractions))], late: 1 + 2*w.IntN(2)}
	for range 20 + w.IntN(180) {
		w.operation()
	}
	p.body = w.body
	return p
}

func (w *writer) add(o operation) { w.body = append(w.body, o) }

func (w *writer) operation() {
	switch roll := w.IntN(200); {
	case w.pooled && w.IntN(10) == 0:
		w.pool()
	case roll < 105 || len(w.live) == 0:
		w.request()
	case roll < 185:
		w.free()
	case roll < 191:
		w.add(operation{kind: record, id: w.live[w.IntN(len(w.live))], extra: w.other})
	case roll < 193:
		w.add(operation{kind: empty})
	case roll < 195:
		for range len(w.live) / 2 {
			w.free()
		}
	}
}

func (w *writer) pool() {
	if w.IntN(3) == 0 || len(w.pools) == 0 {
		w.pools, w.last = append(w.pools, w.last+1), w.last+1
	}
	at := w.IntN(len(w.pools))
	id := w.pools[at]
	switch roll := w.IntN(6); {
	case w.open != 0 && roll < 5:
		w.add(operation{kind: end, id: w.open})
		w.open = 0
	case w.open != 0:
	case roll == 0:
		w.add(operation{kind: drop, id: id})
		w.pools = slices.Delete(w.pools, at, at+1)
	default:
		w.add(operation{kind: begin, id: id})
		w.open = id
	}
}

func (w *writer) request() {
	size := w.size()
	w.sizes = append(w.sizes, size)
	w.add(operation{kind: request, id: w.next, extra: w.IntN(w.threads), bytes: size})
	w.live = append(w.live, w.next)
	w.next++
}

func (w *writer) free() {
	at := w.IntN(len(w.live))
	w.add(operation{kind: free, id: w.live[at]})
	w.live[at] = w.live[len(w.live)-1]
	w.live = w.live[:len(w.live)-1]
}

// edges are sizes at which a rule changes.
var edges = []int64{
	512, mebibyte, 2 * mebibyte, 10 * mebibyte, 12 * mebibyte, 20 * mebibyte, 32 * mebibyte, 40 * mebibyte, 52 * mebibyte, 64 * mebibyte,
	128 * mebibyte, 256 * mebibyte,
}

func (w *writer) size() int64 {
	switch roll := w.IntN(10 * w.scale); {
	case roll < 2*w.scale && len(w.sizes) > 0:
		return w.sizes[w.IntN(len(w.sizes))]
	case roll < 3*w.scale && len(w.sizes) > 0:
		return max(1, w.sizes[w.IntN(len(w.sizes))]+w.Int64N(1024*mebibyte/512)-mebibyte)
	case roll < 4*w.scale:
		return max(1, edges[w.IntN(len(edges))]+w.Int64N(3)-1)
	case roll < 6*w.scale:
		return 1 + w.Int64N(mebibyte)
	case roll < 8*w.scale:
		return 1 + w.Int64N(10*mebibyte)
	case roll < 9*w.scale:
		return 1 + w.Int64N(64*mebibyte)
	case roll < 9*w.scale+1:
		return 1 + w.Int64N(600*mebibyte)
	default:
		return 1 + w.Int64N(4096)
	}
}
