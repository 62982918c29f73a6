package host

import (
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

const mib = 1 << 20

func TestRowsSumToWhatTheKernelCharges(t *testing.T) {
	grouped := func(change func(*trace.Host)) *trace.Host {
		h := &trace.Host{
			Anonymous: 500 * mib, Files: 80 * mib, Shared: 30 * mib, Tensors: 100 * mib, Python: 60 * mib, Malloc: 250 * mib, MallocFree: 20 * mib,
			Box: 8 * mib, Group: 900 * mib, GroupAnonymous: 640 * mib, GroupFiles: 190 * mib, GroupShared: 50 * mib, GroupKernel: 19 * mib,
		}
		change(h)
		return h
	}
	tests := map[string]struct {
		host *trace.Host
		want map[Kind]int64 // MiB of some rows; those that are 0 have no row
	}{
		"a group of the program and its workers": {
			grouped(func(h *trace.Host) { h.Workers = 2 }),
			map[Kind]int64{
				Tensors: 100, Python: 60, Native: 150, Freed: 20, Mapped: 170, Workers: 140, Others: 0, Box: 8, Shared: 42, Files: 190, Kernel: 19, Unexplained: 1,
			},
		},
		"batches, and tensors that are pinned or shared": {
			grouped(func(h *trace.Host) {
				h.Batches, h.Taken, h.Pinned, h.PinnedUsed, h.Places = 12*mib, 10*mib, 25*mib, 20*mib, []trace.Place{{Category: "input", Bytes: 9}}
			}), map[Kind]int64{Tensors: 70, Batches: 12, Pinned: 25, Shared: 5, Native: 180},
		},
		"others in the group": {
			grouped(func(h *trace.Host) {
				h.Workers, h.WorkersAnonymous, h.WorkersShared, h.GroupOthers = 2, 90*mib, 4*mib, 1
			}),
			map[Kind]int64{Workers: 90, Shared: 34, Others: 58},
		},
		"batches that are not read":              {grouped(func(h *trace.Host) { h.Taken, h.GroupOthers = 40*mib, 1 }), map[Kind]int64{Shared: 40}},
		"a file that is mapped and not touched":  {grouped(func(h *trace.Host) { h.SharedFiles, h.GroupOthers = 40*mib, 1 }), map[Kind]int64{Shared: 40, Others: 142}},
		"nobody else has what the kernel counts": {grouped(func(*trace.Host) {}), map[Kind]int64{Workers: 0, Others: 0, Unexplained: 141}},
		"pinned memory that is shared":           {grouped(func(h *trace.Host) { h.Pinned = 25 * mib }), map[Kind]int64{Pinned: 25, Shared: 17, Mapped: 170}},
		"pinned memory that is anonymous":        {grouped(func(h *trace.Host) { h.Pinned, h.Shared = 64*mib, 0 }), map[Kind]int64{Pinned: 64, Shared: 42, Mapped: 106}},
		"files that nobody has mapped":           {grouped(func(h *trace.Host) { h.Left, h.LeftFiles = 40*mib, 3 }), map[Kind]int64{Left: 40, Shared: 2}},
		"more was handed out than is resident":   {grouped(func(h *trace.Host) { h.Malloc = 2000 * mib }), map[Kind]int64{Tensors: 100, Python: 60, Native: 340, Freed: 0, Mapped: 0}},
		"malloc does not say what it holds":      {grouped(func(h *trace.Host) { h.Malloc, h.MallocFree = 0, 0 }), map[Kind]int64{Tensors: 100, Python: 60, Native: 340, Freed: 0, Mapped: 0}},
		"no group": {
			grouped(func(h *trace.Host) { h.Group, h.Workers, h.WorkersAnonymous = 0, 1, 33*mib }),
			map[Kind]int64{Mapped: 170, Workers: 33, Shared: 30, Box: 8, Files: 80, Kernel: 0, Others: 0, Unexplained: 0},
		},
		"nothing is known": {&trace.Host{}, map[Kind]int64{Native: 0}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := Of(test.host)
			sum, got := int64(0), map[Kind]int64{}
			for _, r := range l.Rows {
				sum += r.Bytes
				got[r.Kind] = r.Bytes
			}
			if sum != l.Bytes || test.host.Group > 0 && l.Bytes != test.host.Group {
				t.Errorf("the rows sum to %d, the whole is %d", sum, l.Bytes)
			}
			for k, want := range test.want {
				if got[k] != want*mib {
					t.Errorf("%v: %d MiB, want %d", k, got[k]/mib, want)
				}
			}
		})
	}
}

// past returns gauges of steps 1 to n, ten apart, with ledgers that a function makes.
func past(n int, at func(step int64, h *trace.Host)) []trace.Gauge {
	var all []trace.Gauge
	for step := int64(1); step <= int64(n); step += 10 {
		h := &trace.Host{Step: step, Anonymous: 400 * mib, Python: 50 * mib, Malloc: 200 * mib, Files: 100 * mib}
		at(step, h)
		all = append(all, trace.Gauge{Device: 0, Total: 4096 * mib, Used: 1024 * mib, Host: h})
	}
	return all
}

// grouped puts a program into a control group, whose shared memory and whose kernel's
// memory grow by a MiB in each step.
func grouped(h *trace.Host, step int64, others int) {
	h.GroupAnonymous, h.GroupFiles, h.GroupShared, h.GroupKernel = h.Anonymous, h.Files, step*mib, step*mib
	h.Group, h.GroupOthers = h.GroupAnonymous+h.GroupFiles+h.GroupShared+h.GroupKernel, others
}

func TestWhatGrowsIsNamedAfterItsKind(t *testing.T) {
	kept := []trace.Kept{{Name: "cache[…], train.py:9", Bytes: 150 * mib, Entries: 200}}
	for name, test := range map[string]struct {
		at     func(step int64, h *trace.Host)
		want   []Kind
		keeper string
	}{
		"nothing grows": {func(int64, *trace.Host) {}, nil, ""},
		"C code":        {func(s int64, h *trace.Host) { h.Anonymous += s * mib; h.Malloc += s * mib }, []Kind{Native}, ""},
		"long strings":  {func(s int64, h *trace.Host) { h.Anonymous += s * mib; h.Malloc += s * mib; h.Kept = kept }, []Kind{Native}, "cache[…], train.py:9"},
		"small objects": {func(s int64, h *trace.Host) { h.Anonymous += s * mib; h.Python += s * mib; h.Kept = kept }, []Kind{Python}, "cache[…], train.py:9"},
		"mapped memory": {func(s int64, h *trace.Host) { h.Anonymous += s * mib }, []Kind{Mapped}, ""},
		"kept tensors":  {func(s int64, h *trace.Host) { h.Anonymous += s * mib; h.Malloc += s * mib; h.Tensors = s * mib }, []Kind{Tensors}, ""},
		"between tensors": {func(s int64, h *trace.Host) {
			h.Anonymous, h.Malloc, h.Tensors, h.MallocFree = h.Anonymous+2*s*mib, h.Malloc+s*mib, s*mib, s*mib
		}, []Kind{Tensors}, ""},
		"tensors of the last look": {func(s int64, h *trace.Host) {
			h.Anonymous, h.Malloc, h.Tensors = h.Anonymous+s*3/2*mib, h.Malloc+s*mib, s/50*50*mib
		}, []Kind{Tensors}, ""},
		"a pool between blocks": {func(s int64, h *trace.Host) {
			h.Anonymous, h.Pinned, h.MallocFree, h.Kept = h.Anonymous+s*3/2*mib, s*mib, s*mib/2, kept
		}, []Kind{Pinned}, "cache[…], train.py:9"},
		"a pool of malloc's": {func(s int64, h *trace.Host) {
			h.Anonymous, h.Pinned, h.Malloc = h.Anonymous+s*13/10*mib, s*mib, h.Malloc+s*11/10*mib
		}, []Kind{Pinned}, ""},
		"fragments":                     {func(s int64, h *trace.Host) { h.Anonymous += s * mib; h.MallocFree = s * mib }, []Kind{Freed}, ""},
		"few fragments":                 {func(s int64, h *trace.Host) { h.Anonymous += s * mib / 2; h.MallocFree = s * mib / 2 }, nil, ""},
		"a pool":                        {func(s int64, h *trace.Host) { h.Shared = s * mib; h.Pinned = s * mib }, []Kind{Pinned}, ""},
		"a worker":                      {func(s int64, h *trace.Host) { h.Workers, h.WorkersAnonymous = 1, s*mib }, []Kind{Workers}, ""},
		"files":                         {func(s int64, h *trace.Host) { h.Files += s * mib }, nil, ""},
		"the kernel's, of files' names": {func(s int64, h *trace.Host) { grouped(h, s, 0) }, []Kind{Shared}, ""},
		"a table that is filled": {func(s int64, h *trace.Host) {
			h.Anonymous, h.Malloc, h.Writable = h.Anonymous+s*mib, h.Malloc+200*mib, 600*mib
		}, nil, ""},
		"a leak beside a table that is filled": {func(s int64, h *trace.Host) {
			h.Anonymous, h.Malloc, h.Writable = h.Anonymous+2*s*mib, h.Malloc+(200+s)*mib, (600+s)*mib
		}, []Kind{Native}, ""},
		"workers whose heaps fill": {func(s int64, h *trace.Host) { h.Workers, h.WorkersAnonymous = 2, s*mib*3/20 }, nil, ""},
		"others":                   {func(s int64, h *trace.Host) { grouped(h, s, 1) }, nil, ""},
		"batches":                  {func(s int64, h *trace.Host) { h.Shared, h.Taken = s*mib/2, s*mib }, []Kind{Shared}, ""},
		"left files":               {func(s int64, h *trace.Host) { h.Left = s * mib }, []Kind{Left}, ""},
		"left files, asked for late at first": {func(s int64, h *trace.Host) {
			h.Asked = max(1, s-(200-s)/5)
			h.Left = h.Asked * mib
		}, []Kind{Left}, ""},
		"left files, listed late at first, of a program whose allocators are not asked again": {func(s int64, h *trace.Host) {
			h.Listed, h.Asked = max(1, s-(200-s)/5), 1
			h.Left = h.Listed * mib
		}, []Kind{Left}, ""},
		"a cache fills":   {func(s int64, h *trace.Host) { h.Anonymous += min(s, 60) * mib }, nil, ""},
		"one allocation":  {func(s int64, h *trace.Host) { h.Anonymous += s / 100 * 100 * mib }, nil, ""},
		"noise":           {func(s int64, h *trace.Host) { h.Anonymous += s * 7919 % 64 * mib }, nil, ""},
		"less than noise": {func(s int64, h *trace.Host) { h.Anonymous += s * mib / 16 }, nil, ""},
		"a leak and a jump": {func(s int64, h *trace.Host) {
			h.Anonymous += (s + s/120*400) * mib
		}, []Kind{Mapped}, ""},
		"a leak below swings": {func(s int64, h *trace.Host) { h.Anonymous += (s + s*7919%16) * mib }, []Kind{Mapped}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got []Kind
			keeper := ""
			for _, g := range Growing(past(200, test.at), 0) {
				got, keeper = append(got, g.Kind), g.Keeper
				if off := max(g.GrowthPerStep-mib, mib-g.GrowthPerStep); off > mib/20 {
					t.Errorf("it grows by %d a step", g.GrowthPerStep)
				}
				if left := 3072 * mib / g.InAll; g.StepsLeft != left {
					t.Errorf("%d steps are left, want %d", g.StepsLeft, left)
				}
			}
			if len(got) != len(test.want) || len(got) > 0 && got[0] != test.want[0] || keeper != test.keeper {
				t.Errorf("got %v kept by %q, want %v kept by %q", got, keeper, test.want, test.keeper)
			}
		})
	}
}

func TestGrowthPerStepIsOfAllThatTheProgramHas(t *testing.T) {
	all := past(200, func(s int64, h *trace.Host) {
		h.Anonymous, h.Workers, h.WorkersAnonymous, h.Files = 400*mib+s*mib, 1, s*mib, s*mib
	})
	if got, steps := PerStep(all, 0); got < 19*mib/10 || got > 21*mib/10 || steps != 190 {
		t.Errorf("%d bytes a step over %d steps", got, steps)
	}
	if _, steps := PerStep(all[:8], 0); steps != 0 {
		t.Errorf("too few looks tell of %d steps", steps)
	}
}
