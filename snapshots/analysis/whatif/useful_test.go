package whatif_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/snapshots/analysis/whatif"
)

func TestSettingsStandOnce(t *testing.T) {
	for recorded, never := range map[string]string{
		"":                           "",
		"expandable_segments:True":   "expandable_segments:True",
		"expandable_segments : True": "expandable_segments:True",
		"roundup_power2_divisions:8,expandable_segments:True":       "roundup_power2_divisions:8,expandable_segments:True",
		"max_split_size_mb:64,roundup_power2_divisions:[256:1,>:2]": "max_split_size_mb:64,roundup_power2_divisions:[256:1,>:2]",
	} {
		list := whatif.Useful(recorded, 1<<30)
		for i, settings := range list {
			for _, key := range []string{"expandable_segments:", "roundup_power2_divisions:", "max_split_size_mb:"} {
				if strings.Count(settings, key) > 1 || settings == never || slices.Contains(list[:i], settings) {
					t.Errorf("%q: %q in %q", recorded, settings, list)
				}
			}
		}
	}
}

func TestAReserveIsWorthLeavingOut(t *testing.T) {
	for recorded, want := range map[string]string{
		"expandable_segments:True,expandable_segments_reserve:4G":                                     "expandable_segments:True",
		"expandable_segments_reserve : 0.5 , expandable_segments:True":                                "expandable_segments:True",
		"expandable_segments_reserve_by_class:[a:1G,b:0.5],max_split_size_mb:64":                      "max_split_size_mb:64",
		"expandable_segments:True,expandable_segments_reserve_by_class:[],roundup_power2_divisions:2": "expandable_segments:True,roundup_power2_divisions:2",
	} {
		if list := whatif.Useful(recorded, 0); len(list) < 2 || list[1] != want {
			t.Errorf("%q: %q, want %q", recorded, list, want)
		}
	}
	if list := whatif.Useful("expandable_segments_reserve:4G", 0); list[0] != "" || slices.Contains(list[1:], "") {
		t.Errorf("the defaults stand once: %q", list)
	}
}
