package alloc

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
)

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
	gib = int64(1) << 30
)

func TestSettingsAreUnderstood(t *testing.T) {
	tests := map[string]struct {
		text string
		want func(*config)
	}{
		"nothing is the defaults":       {"", func(*config) {}},
		"a comma at the end is allowed": {"backend:native,", func(*config) {}},
		"sizes are in MiB":              {"max_split_size_mb:128", func(c *config) { c.MaxSplit = 128 * mib }},
		"blanks mean nothing":           {" max_split_size_mb : 128 ", func(c *config) { c.MaxSplit = 128 * mib }},
		"a size beyond all memory": {
			"max_split_size_mb:9223372036854775807", func(c *config) { c.MaxSplit = (1<<43 - 1) * mib },
		},
		"several": {
			"expandable_segments:True,garbage_collection_threshold:0.8,max_non_split_rounding_mb:40", func(c *config) {
				c.Expandable, c.gcThreshold, c.maxNonSplit = true, 0.8, 40*mib
			},
		},
		"one number of divisions for all sizes": {"roundup_power2_divisions:4", func(c *config) {
			for i := range c.Divisions {
				c.Divisions[i] = 4
			}
		}},
		"a list of divisions": {"roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", func(c *config) {
			c.Divisions = [16]int64{1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8}
		}},
		"an empty list": {"roundup_power2_divisions:[]", func(*config) {}},
		"what is for other memory": {
			"pinned_use_cuda_host_register:True,pinned_num_register_threads:8,pinned_use_background_threads:True," +
				"pinned_reserve_segment_size_mb:16,graph_capture_record_stream_reuse:True,pinned_free_catch_all:True," +
				"pinned_max_round_threshold_mb:4,pinned_max_cached_size_mb:0", func(c *config) {
				c.pinnedRegister, c.pinnedThreads, c.captureReuse = true, 8, true
			},
		},
		"a reserve in GiB":       {"expandable_segments_reserve:40g", func(c *config) { c.reserve = reserve{40, true} }},
		"a reserve of a part":    {"expandable_segments_reserve:.5", func(c *config) { c.reserve = reserve{0.5, false} }},
		"reserves of classes":    {"expandable_segments_reserve_by_class:[a:2G,b:0.1]", func(*config) {}},
		"reserves of no classes": {"expandable_segments_reserve_by_class:[]", func(*config) {}},
		"to fail early":          {"throw_on_cudamalloc_oom:True", func(c *config) { c.rejects = true }},
		"the lock, the fraction and the segments": {
			"release_lock_on_cudamalloc:True,per_process_memory_fraction:0.5,large_segment_size_mb:40", func(c *config) {
				c.releaseLock, c.fraction, c.LargeSegment = true, 0.5, 40*mib
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Rules{}.parseConfig(defaultConfig(), test.text)
			fatal.If(t, err)
			want := defaultConfig()
			want.text = test.text
			test.want(&want)
			equal.Values(t, fmt.Sprintf("%q", test.text), want, got, cmp.AllowUnexported(config{}, reserve{}))
		})
	}
}

func TestSettingsThatAreWrongAreOneLine(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"no such setting":            {"max_split:40", `allocator settings: unknown setting "max_split"`},
		"no value":                   {"max_split_size_mb", `max_split_size_mb: expected ":", found the end`},
		"an empty value":             {"max_split_size_mb:", `max_split_size_mb: expected a whole number, found ""`},
		"not a number":               {"max_split_size_mb:big", `found "big"`},
		"a negative number":          {"max_split_size_mb:-1", `found "-1"`},
		"too small":                  {"max_split_size_mb:20", "max_split_size_mb: 20 is too small, at least 21 is needed"},
		"a threshold of one":         {"garbage_collection_threshold:1.0", "1 is not between 0 and 1"},
		"a threshold of nothing":     {"garbage_collection_threshold:0", "0 is not between 0 and 1"},
		"a threshold that is none":   {"garbage_collection_threshold:NaN", "expected a number"},
		"a fraction above one":       {"per_process_memory_fraction:1.5", "1.5 is not within 0 and 1"},
		"neither true nor false":     {"expandable_segments:yes", `expected True or False, found "yes"`},
		"no comma":                   {"backend:native expandable", `this allocator is native, not "nativeexpandable"`},
		"another backend":            {"backend:cudaMallocAsync", "this allocator is native"},
		"two values":                 {"expandable_segments:True:False", `expandable_segments: expected ",", found ":"`},
		"divisions of three":         {"roundup_power2_divisions:3", "3 divisions, not a power of two"},
		"a size of three":            {"roundup_power2_divisions:[3:2]", `size "3" is not a power of two`},
		"a list that does not end":   {"roundup_power2_divisions:[4:2", `expected ",", found the end`},
		"a list without sizes":       {"roundup_power2_divisions:[4]", `expected ":", found "]"`},
		"threads of three":           {"pinned_num_register_threads:3", "not a power of two up to 128"},
		"a reserve of nothing":       {"expandable_segments_reserve:0G", `like 0.5 or a size like 40G, found "0G"`},
		"a reserve that is endless":  {"expandable_segments_reserve:inf", `found "inf"`},
		"a reserve in other units":   {"expandable_segments_reserve:4GB", `found "4GB"`},
		"a reserve of base 16":       {"expandable_segments_reserve:0x10G", `found "0x10G"`},
		"a class without a reserve":  {"expandable_segments_reserve_by_class:[a]", `expected ":", found "]"`},
		"classes without a bracket":  {"expandable_segments_reserve_by_class:a:2G", `expected "[", found "a"`},
		"classes that do not end":    {"expandable_segments_reserve_by_class:[a:2G", `expected "]", found the end`},
		"a device that cannot map":   {"expandable_segments:True", "this device cannot map memory"},
		"commas one after the other": {"backend:native,,", `unknown setting ","`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a := newAllocator(t, plain{newMemory(t, gib)}, Options{})
			err := a.Configure(test.text)
			var wrong *ConfigError
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: got %v, want one line with %q", test.text, err, test.want)
			}
			if a.config != defaultConfig() {
				t.Errorf("%q changed the settings", test.text)
			}
		})
	}
}

func TestSettingsThatAreNotMentionedGoBackAsInPyTorch(t *testing.T) {
	a := newAllocator(t, newMemory(t, gib), Options{
		Config: "expandable_segments:True,max_split_size_mb:40,garbage_collection_threshold:0.5,roundup_power2_divisions:4",
	})
	configure(t, a, "large_segment_size_mb:40")
	c := a.config
	if !c.Expandable || c.LargeSegment != 40*mib {
		t.Errorf("expandable %v, large segments %d: those stay", c.Expandable, c.LargeSegment)
	}
	if c.MaxSplit != trace.NoMaxSplit || c.gcThreshold != 0 || c.Divisions != [16]int64{} {
		t.Errorf("got %+v: those three go back", c)
	}
	if got := a.Config(); got != "large_segment_size_mb:40" {
		t.Errorf("the settings as given: %q", got)
	}
}

func TestAFractionIsAppliedOnce(t *testing.T) {
	a := newAllocator(t, newMemory(t, gib), Options{Config: "per_process_memory_fraction:0.5"})
	if limit, limited := a.Limit(); limit != gib/2 || !limited {
		t.Errorf("limit %d, limited %v", limit, limited)
	}
	a.SetLimit(100 * mib)
	configure(t, a, "max_split_size_mb:40")
	if limit, _ := a.Limit(); limit != 100*mib {
		t.Errorf("settings without a fraction changed the limit to %d", limit)
	}
}

func FuzzConfig(f *testing.F) {
	for _, text := range []string{
		"", "max_split_size_mb:40", "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]",
		"roundup_power2_divisions:[>:1", "expandable_segments:True,,", "garbage_collection_threshold:0.5",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Rules{}.parseConfig(defaultConfig(), text)
		if err != nil {
			return
		}
		for _, n := range []int64{1, 513, mib, 5*mib + 1, 33 * gib} {
			if r := c.Round(n); r < n || c.SegmentSize(r) < r {
				t.Errorf("%q: %d bytes are rounded to %d, in a segment of %d", text, n, r, c.SegmentSize(r))
			}
		}
	})
}
