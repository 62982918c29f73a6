package card

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/snapshots/trace"
)

const mib = 1 << 20

func TestRowsSumToWhatTheDriverCounts(t *testing.T) {
	taken := func(library string, kind trace.TakenKind, bytes, inside, round int64) trace.Taken {
		return trace.Taken{Library: library, Kind: kind, Bytes: bytes * mib, Inside: inside * mib, Round: round * mib, Number: 1}
	}
	gauge := func(change func(*trace.Gauge, *trace.Card)) *trace.Gauge {
		g := &trace.Gauge{Total: 4000 * mib, Used: 2000 * mib, Process: 1500 * mib, Others: 400 * mib, Card: &trace.Card{
			Reserved: 1000 * mib, Before: 700 * mib, Watched: true,
			Taken: []trace.Taken{
				taken("libc10_cuda.so", trace.TakenDevice, 1000, 0, 0), taken("libcublasLt.so.12", trace.TakenDevice, 32, 0, 0),
				taken("libcublas.so.12", trace.TakenDevice, 8, 0, 0), taken("custom.so", trace.TakenCreated, 20, 0, 2), taken("custom.so", trace.TakenPinned, 77, 0, 0),
			},
		}}
		change(g, g.Card)
		return g
	}
	usual := Reserved{Default: 600 * mib, Expandable: 300 * mib, Private: 100 * mib, Pools: 2}
	tests := map[string]struct {
		gauge    *trace.Gauge
		reserved Reserved
		want     map[string]int64 // MiB
	}{
		"all calls are seen": {gauge(func(*trace.Gauge, *trace.Card) {}), usual, map[string]int64{
			"PyTorch": 600, "PyTorch, expandable": 300, "PyTorch, private pools": 100, "CUDA's context": 300, "cuBLAS": 40, "custom.so": 20,
			"rounded to pages": 2, "kernels and graphs": 138, "other processes": 400, "unexplained": 100,
		}},
		"no call is seen": {gauge(func(g *trace.Gauge, _ *trace.Card) { g.Card = nil }), usual, map[string]int64{
			"PyTorch": 600, "PyTorch, expandable": 300, "PyTorch, private pools": 100, "outside the allocator": 500, "other processes": 400, "unexplained": 100,
		}},
		"only the device's sum is known": {gauge(func(g *trace.Gauge, _ *trace.Card) { g.Card, g.Process, g.Others = nil, -1, -1 }), Reserved{Default: 600 * mib}, map[string]int64{
			"PyTorch": 600, "outside the allocator": 1400,
		}},
		"the driver does not account for processes": {gauge(func(g *trace.Gauge, c *trace.Card) { g.Process, g.Others = -1, -1 }), Reserved{Default: 1000 * mib}, map[string]int64{
			"PyTorch": 1000, "CUDA's context": 700, "cuBLAS": 40, "custom.so": 20, "rounded to pages": 2, "unexplained": 238,
		}},
		"a pool of the program's own allocator": {gauge(func(_ *trace.Gauge, c *trace.Card) {
			c.Taken = []trace.Taken{taken("libc10_cuda.so", trace.TakenDevice, 200, 0, 0), taken("cumem_allocator.abi3.so", trace.TakenCreated, 830, 800, 0)}
		}), Reserved{Default: 200 * mib, Private: 800 * mib, Pools: 1}, map[string]int64{
			"PyTorch": 200, "PyTorch, private pools": 800, "cumem_allocator.abi3.so": 30, "CUDA's context": 300, "kernels and graphs": 170, "other processes": 400, "unexplained": 100,
		}},
		"asleep": {gauge(func(g *trace.Gauge, c *trace.Card) {
			c.Taken = []trace.Taken{taken("libc10_cuda.so", trace.TakenDevice, 200, 0, 0), taken("cumem_allocator.abi3.so", trace.TakenCreated, 50, 50, 0)}
			g.Used, g.Process = 1250*mib, 750*mib
		}), Reserved{Default: 200 * mib, Private: 800 * mib, Pools: 1}, map[string]int64{
			"PyTorch": 200, "PyTorch, private pools": 50, "CUDA's context": 300, "kernels and graphs": 200, "other processes": 400, "unexplained": 100,
		}},
		"a server that sleeps in part": {gauge(func(g *trace.Gauge, c *trace.Card) {
			c.Taken = []trace.Taken{taken("libc10_cuda.so", trace.TakenDevice, 200, 0, 0), taken("cumem_allocator.abi3.so", trace.TakenCreated, 300, 300, 0)}
			c.Tags = []trace.NamedPool{{Name: "kv_cache", Bytes: 500 * mib}, {Name: "weights", Bytes: 290 * mib, Backed: 290 * mib}}
			g.Used, g.Process = 1500*mib, 1000*mib
		}), Reserved{Default: 200 * mib, Private: 800 * mib, Pools: 2}, map[string]int64{
			"PyTorch": 200, "PyTorch, weights": 290, "PyTorch, private pools": 10, "CUDA's context": 300, "kernels and graphs": 200, "other processes": 400, "unexplained": 100,
		}},
		"NCCL by its formulas": {gauge(func(_ *trace.Gauge, c *trace.Card) {
			c.Communicators = []trace.Communicator{{Name: "0", Ranks: 8, Channels: 2, Connection: 14 * mib}, {Name: "tp", Ranks: 4, Channels: 3, Connection: 14 * mib}}
		}), usual, map[string]int64{
			"PyTorch": 600, "PyTorch, expandable": 300, "PyTorch, private pools": 100, "CUDA's context": 300, "NCCL, group 0": 28, "NCCL, group tp": 42, "cuBLAS": 40, "custom.so": 20,
			"rounded to pages": 2, "kernels and graphs": 68, "other processes": 400, "unexplained": 100,
		}},
		"NCCL by its calls": {gauge(func(_ *trace.Gauge, c *trace.Card) {
			c.Communicators = []trace.Communicator{{Name: "0", Ranks: 8, Channels: 2, Connection: 14 * mib}}
			c.Taken = append(c.Taken, taken("libnccl.so.2", trace.TakenCreated, 60, 0, 0))
		}), usual, map[string]int64{
			"PyTorch": 600, "PyTorch, expandable": 300, "PyTorch, private pools": 100, "CUDA's context": 300, "NCCL, group 0": 28, "NCCL, all else": 32, "cuBLAS": 40, "custom.so": 20,
			"rounded to pages": 2, "kernels and graphs": 78, "other processes": 400, "unexplained": 100,
		}},
		"managed memory is elsewhere, in part": {gauge(func(_ *trace.Gauge, c *trace.Card) {
			c.Taken = append(c.Taken, taken("custom.so", trace.TakenManaged, 900, 0, 0))
		}), usual, map[string]int64{
			"PyTorch": 600, "PyTorch, expandable": 300, "PyTorch, private pools": 100, "CUDA's context": 300, "cuBLAS": 40, "custom.so": 20,
			"rounded to pages": 2, "managed memory": 138, "other processes": 400, "unexplained": 100,
		}},
		"others are named": {gauge(func(g *trace.Gauge, c *trace.Card) {
			g.Users = []trace.User{{PID: 8, Bytes: 250 * mib, Command: "python server.py"}, {PID: 9, Bytes: -1}}
			c.Taken = append(c.Taken, taken("custom.so", trace.TakenImported, 50, 0, 0))
		}), usual, map[string]int64{
			"PyTorch": 600, "PyTorch, expandable": 300, "PyTorch, private pools": 100, "CUDA's context": 300, "cuBLAS": 40, "custom.so": 20,
			"rounded to pages": 2, "kernels and graphs": 138, "opened of others": 50, "process 8": 200, "other processes": 150, "unexplained": 100,
		}},
		"the machine's memory": {gauge(func(g *trace.Gauge, c *trace.Card) { g.Unified, g.Process, g.Others = true, -1, -1 }), Reserved{Default: 1000 * mib}, map[string]int64{
			"PyTorch": 1000, "CUDA's context": 700, "cuBLAS": 40, "custom.so": 20, "rounded to pages": 2, "all else on the machine": 238,
		}},
		"the driver counts less than there is": {gauge(func(g *trace.Gauge, c *trace.Card) { g.Card, g.Used, g.Process, g.Others = nil, 900*mib, 900*mib, 0 }), Reserved{Default: 1000 * mib}, map[string]int64{
			"PyTorch": 1000, "unexplained": -100,
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := Of(test.gauge, test.reserved)
			sum, got := int64(0), make(map[string]int64)
			for _, r := range l.Rows {
				sum += r.Bytes
				got[r.Name] = r.Bytes / mib
			}
			if sum != test.gauge.Used || l.Bytes != sum {
				t.Errorf("the rows sum to %d, and %d are used", sum, test.gauge.Used)
			}
			equal.Values(t, "MiB", test.want, got)
			slept := int64(0)
			for _, r := range l.Slept {
				slept += r.Bytes
			}
			if slept != l.Asleep || name == "a server that sleeps in part" && (len(l.Slept) != 1 || l.Slept[0].Name != "PyTorch, kv_cache") {
				t.Errorf("%d bytes sleep, of them %v", l.Asleep, l.Slept)
			}
			own, others := l.Beside()
			if beside := got["unexplained"]*mib + own + others + test.reserved.all() - l.Asleep; beside != sum {
				t.Errorf("beside PyTorch there are %d and %d, which leaves %d", own, others, sum-beside)
			}
		})
	}
}

func TestWhatSleepsIsSaid(t *testing.T) {
	g := &trace.Gauge{Used: 100 * mib, Process: 100 * mib, Card: &trace.Card{Reserved: 900 * mib, Watched: true, Taken: []trace.Taken{
		{Library: "libc10_cuda.so", Kind: trace.TakenDevice, Bytes: 100 * mib},
	}}}
	l := Of(g, Reserved{Default: 100 * mib, Private: 800 * mib, Pools: 1})
	if l.Asleep != 800*mib || len(l.Rows) != 1 || l.Rows[0].Name != "PyTorch" {
		t.Errorf("%d bytes sleep, the rows are %v", l.Asleep, l.Rows)
	}
}

func TestAServerIsToldWhatItMayUse(t *testing.T) {
	g := &trace.Gauge{Total: 1000 * mib, Used: 700 * mib, Process: 600 * mib, Others: 60 * mib, Card: &trace.Card{
		Reserved: 500 * mib, Watched: true, Before: 110 * mib, Taken: []trace.Taken{{Library: "libc10_cuda.so", Kind: trace.TakenDevice, Bytes: 500 * mib}},
	}}
	pools := Reserved{Default: 100 * mib, Private: 400 * mib, Pools: 2}
	l := Of(g, pools)
	if share, _, known := l.Share(); known || l.InUse() != "" {
		t.Errorf("a program that is no server has %d %%, %q", share, l.InUse())
	}
	// Of 1,000 MiB others have 60, 40 are unexplained, 50 are the context, 20 graphs and 50 the driver's own.
	g.Card.Tags = []trace.NamedPool{{Name: "kv_cache", Bytes: 380 * mib, Backed: 380 * mib}}
	l = Of(g, pools)
	if share, apart, known := l.Share(); share != 78 || len(apart) != 5 || !known {
		t.Errorf("%d %%, want 78: %v", share, apart)
	}
	g.Card.Tags = nil
	for server, want := range map[string]int64{trace.VLLM: 40, "SGLang": -1} { // without names, 400 are graphs
		g.Card.Cache = &trace.CacheUse{Server: server, Used: 37, Size: 99, Unit: "blocks"}
		l = Of(g, pools)
		if share, _, known := l.Share(); known != (want >= 0) || known && share != want {
			t.Errorf("%s: %d %%, want %d: %v", server, share, want, l.Rows)
		}
		if got := l.InUse(); got != "37 % in use" {
			t.Errorf("%s: its cache is %s", server, got)
		}
	}
}
