package whatif

import (
	"slices"
	"testing"
)

func TestWhatAnUpgradeCostsIsSaidFirst(t *testing.T) {
	run := func(torch string, peak int64) Run { return Run{Torch: torch, PeakReserved: peak << 30} }
	other, ended := run("2.15", 9), run("2.15", 2)
	other.Settings, ended.Ends, ended.OOMEvent = "max_split_size_mb:64", true, 7
	for name, test := range map[string]struct {
		runs []Run
		want []string
	}{
		"as much":           {[]Run{run("2.9", 4), run("2.15", 4)}, []string{"PyTorch 2.15 would reserve 4.0 GiB at the peak, as much as 2.9."}},
		"more":              {[]Run{run("2.9", 4), run("2.15", 5)}, []string{"PyTorch 2.15 would reserve 5.0 GiB at the peak, 1.0 GiB more than 2.9."}},
		"less":              {[]Run{run("2.9", 4), run("2.15", 3)}, []string{"PyTorch 2.15 would reserve 3.0 GiB at the peak, 1.0 GiB less than 2.9."}},
		"only one":          {[]Run{run("2.15", 5)}, []string{"PyTorch 2.15 would reserve 5.0 GiB at the peak, 1.0 GiB more than the recording's release."}},
		"it ends":           {[]Run{run("2.9", 4), ended}, []string{"PyTorch 2.15 would reserve 2.0 GiB until memory runs out, at event 7, which had its memory in the recording."}},
		"other settings":    {[]Run{run("2.9", 4), other}, nil},
		"no release at all": {[]Run{run("", 4)}, nil},
	} {
		again := run("", 4)
		a := &Answer{Again: &again, Runs: test.runs}
		if got := a.Sentences(); !slices.Equal(got[:len(test.want)], test.want) || len(got) != len(test.want)+2 {
			t.Errorf("%s: %q", name, got)
		}
	}
}
