package program

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/engine/train"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// EstimateSchema names the version of an estimate's JSON form.
const EstimateSchema = "memtop.estimate/1"

// Estimate holds the flags of a run that is not started, and finds the memory
// that it would need.
type Estimate struct {
	options
	ranks int
}

// Register adds the flags of memtrain on which memory depends.
func (e *Estimate) Register(f *pflag.FlagSet) {
	e.begin(f)
	e.registerPlan(f)
	f.IntVar(&e.ranks, "ranks", 1, "processes that train together, each on a device of its own and on a batch of its own")
}

// EstimateReport is the memory that a run would need. All sizes are bytes.
type EstimateReport struct {
	Schema     string            `json:"schema"`
	Model      string            `json:"model"`
	Parameters int64             `json:"parameters"` // a number, not bytes
	Settings   map[string]string `json:"settings"`
	Half       string            `json:"half"` // "off", or the type of the whole model
	Shard      string            `json:"shard"`
	Ranks      []EstimatedRank   `json:"ranks"` // those that need the same are one
	// Fits says for each device size whether the run fits, see [DeviceSizes].
	Fits map[string]bool `json:"fits"`
	// Techniques are the same run with changes that lower the peak, in the order in
	// which they are to be tried: each alone, then those that lower it further together.
	Techniques []Technique `json:"techniques"`

	about string
}

// EstimatedRank is the memory that each of Count processes of the run would need. Sources
// divide the memory at the peak by purpose, and add up to PeakAllocated. Highest
// is the most of each source at its own moment, so its values have no meaningful
// sum.
type EstimatedRank struct {
	Rank          int              `json:"rank"`  // the first
	Count         int              `json:"count"` // of ranks from it on
	Sources       map[string]int64 `json:"sources"`
	Highest       map[string]int64 `json:"highest"`
	PeakAllocated int64            `json:"peak_allocated_bytes"`
	PeakReserved  int64            `json:"peak_reserved_bytes"`
}

// Technique is the run with other settings. It describes the rank that needs most
// memory.
type Technique struct {
	Change        map[string]string `json:"change"`
	PeakAllocated int64             `json:"peak_allocated_bytes"`
	PeakReserved  int64             `json:"peak_reserved_bytes"`
	Fits          map[string]bool   `json:"fits"`

	words []string // the change, as flags have it
}

// roundingSource is the memory that the allocator adds to requests by rounding.
const roundingSource = "rounding"

// Run rehearses the run, and its variants. Errors of the command line are
// [command.UsageError].
func (e *Estimate) Run(ctx context.Context) (*EstimateReport, error) {
	v, err := e.asked()
	if err != nil {
		return nil, generalRemedy(err)
	}
	found, err := v.estimate(ctx)
	if err != nil {
		return nil, err
	}
	r := &EstimateReport{
		Schema: EstimateSchema, Model: e.model, Parameters: found.Parameters, Settings: v.undivided().Values(),
		Half: v.half.String(), Shard: v.settings.Shard.String(), about: v.about(),
	}
	r.Ranks = []EstimatedRank{estimatedRank(e.ranks, &found.Memory)}
	if r.Fits, err = v.fits(ctx, &found.Memory); err != nil {
		return nil, err
	}
	r.Techniques, err = v.techniques(ctx, &found.Memory)
	return r, err
}

// about describes the run.
func (v *variant) about() string {
	settings := v.undivided()
	text := v.shape() + "; " + strings.Join(v.howTrained(&settings, v.half), ", ")
	if v.ranks > 1 {
		text += fmt.Sprintf(", %d ranks", v.ranks)
	}
	if shard := v.settings.Shard; shard != train.ShardNothing {
		text += " that divide " + shard.String()
	}
	return text
}

// maxStaging is the most memory of the host's that the samples of a step may be.
const maxStaging = 4 << 30

// asked returns the run that the flags describe.
func (e *Estimate) asked() (variant, error) {
	if err := e.complete(); err != nil {
		return variant{}, err
	}
	spec := e.spec()
	if n := int64(e.batch) * int64(spec.Input.Bytes()+spec.Target.Bytes()); n > maxStaging {
		return variant{}, usagef("a batch of %d samples is %s: too many to estimate", e.batch, sizeText(n))
	}
	s, err := e.change(train.DefaultSettings())
	if err != nil {
		return variant{}, err
	}
	return variant{options: &e.options, spec: spec, half: e.half, settings: s, ranks: e.ranks}, e.checkRanks(&s)
}

// maxRanks is the most processes that the report lists one by one.
const maxRanks = 1 << 16

// checkRanks refuses numbers of processes that do not go with the settings.
func (e *Estimate) checkRanks(s *train.Settings) error {
	switch {
	case e.ranks < 1 || e.ranks > maxRanks:
		return usagef("--ranks %d: want a number from 1 to %d", e.ranks, maxRanks)
	case s.Shard != train.ShardNothing && e.ranks == 1:
		return usagef("--shard %v: one process has none to divide it with; give --ranks", s.Shard)
	case s.Shard != train.ShardNothing && s.Offload != train.Offload{}:
		return usagef("--shard and --offload are not estimated together")
	}
	return nil
}

func estimatedRank(ranks int, m *train.Memory) EstimatedRank {
	r := EstimatedRank{
		Count: ranks, Sources: byName(m.AtPeak), Highest: byName(m.Highest),
		PeakAllocated: m.PeakAllocated, PeakReserved: m.PeakReserved,
	}
	rounding := m.PeakAllocated
	for _, n := range r.Sources {
		rounding -= n
	}
	r.Sources[roundingSource] = rounding
	return r
}

// sourceNames are the keys of EstimatedRank.Sources in the order in which they are
// printed.
func sourceNames() []string {
	var names []string
	for _, c := range trace.Categories {
		names = append(names, c.String())
	}
	return append(names, roundingSource)
}

// generalRemedy leaves it to the calling program to name its help.
func generalRemedy(err error) error {
	var use command.UsageError
	if errors.As(err, &use) && use.Remedy == tryHelp {
		use.Remedy = "memtop estimate --help"
		return use
	}
	return err
}

// size is a size of memory with which devices are sold.
type size struct {
	name  string
	sold  string // some of them
	bytes int64  // as CUDA reports them, less than the name says
}

// gib returns a number of GiB in bytes.
func gib(n float64) int64 { return int64(n * (1 << 30)) }

// deviceSizes are the sizes for which the report says whether a run fits. Their
// bytes are from PyTorch's messages ("GPU 0 has a total capacity of …").
var deviceSizes = []size{
	{"24GiB", "RTX 3090, RTX 4090", gib(23.65)},
	{"48GiB", "RTX A6000", gib(47.54)},
	{"80GiB", "A100, H100", gib(79.15)},
	{"141GiB", "H200", gib(139.80)},
}

// outsideBytes is the device memory that a process takes besides the allocator's:
// the CUDA context and the libraries' own memory. The same messages have 430 to
// 670 MB.
const outsideBytes = 650 << 20

// OutsideAllocator returns the memory that must fit on a device besides a run, as
// text.
func OutsideAllocator() string { return quantity.Bytes(outsideBytes) }

// DeviceSizes explains the meaning of "fits", in a line for each size.
func DeviceSizes() []string {
	var list []string
	for _, s := range deviceSizes {
		list = append(list, fmt.Sprintf("%-7s%.2f GiB as CUDA tells (%s)", s.name, float64(s.bytes)/(1<<30), s.sold))
	}
	return list
}
