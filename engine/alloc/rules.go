package alloc

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/memtop/memtop/snapshots/trace"
)

// Rules are those of one release of PyTorch. The zero value has the allocator's own
// rules: the oldest release's, with the settings of all.
//
// `make alloc-differential` compares the rules of 2.6 to 2.15 with PyTorch's own
// allocator. 2.1 to 2.5 have the rules of 2.6, as recordings of theirs show.
type Rules struct{ release int } // 15 is PyTorch 2.15

// The releases whose rules are known.
const (
	firstRelease = 1
	lastRelease  = 15
)

var releaseText = regexp.MustCompile(`^2\.(\d{1,2})(\.\d.*)?$`)

// RulesOf returns the rules of a release, such as "2.9" or "2.15.0+cu132". The
// error is one line.
func RulesOf(release string) (Rules, error) {
	if m := releaseText.FindStringSubmatch(release); m != nil {
		if minor, err := strconv.Atoi(m[1]); err == nil && minor >= firstRelease && minor <= lastRelease {
			return Rules{minor}, nil
		}
	}
	return Rules{}, fmt.Errorf("the allocators of PyTorch 2.%d to 2.%d are known, %q is none of them", firstRelease, lastRelease, release)
}

// String returns "2.15", "" for the zero value.
func (r Rules) String() string {
	if r.release == 0 {
		return ""
	}
	return "2." + strconv.Itoa(r.release)
}

// Facts are what of a program decides which rules it can meet.
type Facts struct {
	Fraction   bool // there is a memory fraction
	LaterSizes bool // roundup_power2_divisions has a >
	Pools      bool // there are private pools
}

// Same reports whether all rules are those of others.
func (r Rules) Same(others Rules) bool {
	return len(r.Differences(others, Facts{Fraction: true, LaterSizes: true, Pools: true})) == 0
}

// Differences returns what the rules that a program can meet say where others say
// something else, a clause each.
func (r Rules) Differences(others Rules, f Facts) (list []string) {
	theirs := others.clauses()
	met := [...]bool{true, f.Fraction, f.LaterSizes, f.Pools, f.Pools, f.Pools, f.Pools}
	for i, clause := range r.clauses() {
		if clause != theirs[i] && met[i] {
			list = append(list, clause)
		}
	}
	return list
}

// clauses are all that differs between releases, in the same order for each. The
// settings and the pools that a release does not know are not among them: they are
// refused.
func (r Rules) clauses() [7]string {
	c := [...]string{
		orderTexts[r.order()], "a memory fraction of 1 is a limit", "> in roundup_power2_divisions leaves the last size as it is",
		"while a MemPool takes requests, the cache is kept",
		"while it does, empty_cache does nothing",
		"a MemPool with use_on_oom serves after the cache was given back",
		"its expandable segments serve no others",
	}
	if r.wholeIsEndless() {
		c[1] = "a memory fraction of 1 is no limit"
	}
	if r.laterSizesAndLast() {
		c[2] = "> in roundup_power2_divisions changes the last size too"
	}
	if !r.poolsAreCaptures() {
		c[3] = "while a MemPool takes requests, the cache is given back when memory runs out"
		c[4] = "while it does, empty_cache works"
	} else if r.emptiesDropped() {
		c[4] = "while it does, empty_cache gives back what is left of pools that were dropped"
	}
	if r.sparesFirst() {
		c[5] = "a MemPool with use_on_oom serves before the cache is given back"
	}
	if r.sparesExpandable() {
		c[6] = "its expandable segments serve others too"
	}
	return c
}

// wholeIsEndless reports whether a memory fraction of 1 is no limit, so that no
// garbage is collected. Source: pull request 161035, which made 1 the default of
// the setting per_process_memory_fraction.
func (r Rules) wholeIsEndless() bool { return r.release >= 10 }

// laterSizesAndLast reports whether ">" in roundup_power2_divisions also changes
// the size named last. Source: parseRoundUpPower2Divisions in
// CUDAAllocatorConfig.cpp, and in AllocatorConfig.cpp since 2.10.
func (r Rules) laterSizesAndLast() bool { return r.release > 0 && r.release < 10 }

// poolsAreCaptures reports whether requests that go to a pool that the program
// made itself are treated as those in the capture of a graph: no event is looked
// at, and the cache is not emptied. Source: issue 175015, which called that wrong.
func (r Rules) poolsAreCaptures() bool { return r.release < 13 }

// emptiesDropped reports whether to empty the cache in a capture empties the pools
// that have no users. Source: release_cached_blocks in CUDACachingAllocator.cpp,
// where 2.8 removed MemPoolContext.
func (r Rules) emptiesDropped() bool { return r.release >= 8 }

// sparesFirst reports whether pools that serve when memory runs out do so before the
// cache is given back. Source: try_mempool_fallback in CUDACachingAllocator.cpp.
func (r Rules) sparesFirst() bool { return r.release >= 11 }

// sparesExpandable reports whether such pools serve from expandable segments. Source:
// is_expandable_segments_active in CUDACachingAllocator.cpp.
func (r Rules) sparesExpandable() bool { return r.release < 10 }

// makes says what is wrong with a pool's options, nil if the release has them.
func (r Rules) makes(o PoolOptions) error {
	if r.release > 0 && (o.OnOOM && r.release < 8 || o.NoSplit && r.release < 10) {
		return fmt.Errorf("PyTorch %s has no pools with %+v", r, o)
	}
	return nil
}

// order is how free blocks of one size in one pool and stream follow each other.
type order uint8

const (
	byAddress order = iota
	byBirth         // as the blocks were made, whole or cut from others
	bySegment       // as their segments were made, then by address
)

var orderTexts = [...]string{
	"of free blocks of one size the lowest is taken",
	"of free blocks of one size the one made first is taken",
	"of free blocks of one size the one in the oldest segment is taken",
}

// order changed so that processes which allocate alike get addresses alike.
// Sources: pull requests 178362, in 2.12, and 183591, in 2.13.
func (r Rules) order() order {
	switch {
	case r.release < 12:
		return byAddress
	case r.release == 12:
		return byBirth
	default:
		return bySegment
	}
}

// place returns a number that is larger for a later block.
func (o order) place(b *block) uint64 {
	switch o {
	case byBirth:
		return b.born
	case bySegment:
		return b.segment.number<<segmentShift | (b.addr-b.segment.addr)/trace.MinBlock
	default:
		return b.addr
	}
}

// segmentShift leaves room for the blocks of a segment of 1 PiB, and for eight
// million segments.
const segmentShift = 41

// since says which release was the first to know a setting, if that is not the
// oldest. Source: PyTorch's own answers to each.
var since = map[string]int{
	"graph_capture_record_stream_reuse":    9,
	"per_process_memory_fraction":          10,
	"pinned_reserve_segment_size_mb":       10,
	"large_segment_size_mb":                11,
	"throw_on_cudamalloc_oom":              12,
	"pinned_free_catch_all":                12,
	"expandable_segments_reserve":          15,
	"expandable_segments_reserve_by_class": 15,
	"pinned_max_round_threshold_mb":        15,
	"pinned_max_cached_size_mb":            15,
}

// knows reports whether the release has a setting.
func (r Rules) knows(key string) bool { return r.release == 0 || r.release >= since[key] }
