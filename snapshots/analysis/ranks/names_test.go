package ranks

import (
	"slices"
	"testing"
)

func TestRanksByTheNamesOfFiles(t *testing.T) {
	tests := map[string]struct {
		paths []string
		want  []int // nil where they are no ranks
	}{
		"rank and number":               {[]string{"rank0.pickle", "rank1.pickle"}, []int{0, 1}},
		"in another order":              {[]string{"rank10.pickle", "rank2.pickle"}, []int{10, 2}},
		"separators":                    {[]string{"snap_rank_0.pickle", "snap-Rank-1.pickle", "rank=7.mtr"}, []int{0, 1, 7}},
		"as torchtitan names them":      {[]string{"a/rank0_memory_snapshot.pickle", "a/rank1_memory_snapshot.pickle"}, []int{0, 1}},
		"a folder a rank":               {[]string{"/x/rank0/snapshot.pickle", "/x/rank1/snapshot.pickle"}, []int{0, 1}},
		"a letter":                      {[]string{"r0.pickle.gz", "oom-r3.pickle.gz"}, []int{0, 3}},
		"numbers from 0 on":             {[]string{"snapshot_0.pickle", "snapshot_2.pickle", "snapshot_1.pickle"}, nil},
		"numbers without an ending":     {[]string{"snapshot.0", "snapshot.1"}, nil},
		"one file":                      {[]string{"rank4.pickle"}, []int{4}},
		"the same rank at two moments":  {[]string{"rank0.pickle", "later/rank0.pickle"}, nil},
		"one name without a rank":       {[]string{"rank0.pickle", "other.pickle"}, nil},
		"steps":                         {[]string{"snapshot_100.pickle", "snapshot_200.pickle"}, nil},
		"steps from 0 on":               {[]string{"snapshot_step_0.pickle", "snapshot_step_1.pickle"}, nil},
		"names that are not the same":   {[]string{"before_0.pickle", "after_1.pickle"}, nil},
		"a word that ends so":           {[]string{"frank0.pickle", "frank1.pickle"}, nil},
		"two files":                     {[]string{"before.pickle", "after.pickle"}, nil},
		"a number that does not fit":    {[]string{"rank00000000000001.pickle", "rank00000000000002.pickle"}, nil},
		"a rank of a step, not a count": {[]string{"step5_rank0.pickle", "step5_rank1.pickle"}, []int{0, 1}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := byName(test.paths)
			if ok != (test.want != nil) || ok && !slices.Equal(got, test.want) {
				t.Errorf("got %v, %t, want %v", got, ok, test.want)
			}
		})
	}
}
