package alloc

import "testing"

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
	gib = int64(1) << 30
)

func TestRequestsAreRounded(t *testing.T) {
	tests := map[string]struct {
		config  string
		n, want int64
	}{
		"one byte has a whole unit":                  {"", 1, 512},
		"a unit stays":                               {"", 512, 512},
		"a byte more has two":                        {"", 513, 1024},
		"large ones have the same unit":              {"", 20*mib + 1, 20*mib + 512},
		"a quarter of the power of two below":        {"roundup_power2_divisions:4", 5*mib + 1, 6 * mib},
		"a division's edge stays":                    {"roundup_power2_divisions:4", 5 * mib, 5 * mib},
		"a power of two stays":                       {"roundup_power2_divisions:4", 8 * mib, 8 * mib},
		"few divisions would not round it":           {"roundup_power2_divisions:4", 4 * 512, 4 * 512},
		"above as many units as divisions it does":   {"roundup_power2_divisions:4", 4*512 + 1, 2560},
		"more divisions than bytes in the power":     {"roundup_power2_divisions:8", 8*512 + 1, 4608},
		"one division is none":                       {"roundup_power2_divisions:1", 5*mib + 1, 5*mib + 512},
		"its own divisions for every size":           {"roundup_power2_divisions:[1:0,4:2,8:8,>:1]", 5 * mib, 6 * mib},
		"the first also holds for what is smaller":   {"roundup_power2_divisions:[4:2,8:8]", 5 * kib, 6 * kib},
		"sizes that are not mentioned in between":    {"roundup_power2_divisions:[4:2,16:8]", 9*mib + 1, 9*mib + 512},
		"the last also holds for what is larger":     {"roundup_power2_divisions:[4:0,8:2,>:2]", 33 * gib, 48 * gib},
		"sizes beyond the last bucket use that one":  {"roundup_power2_divisions:[32768:2]", 65 * gib, 96 * gib},
		"the smallest that has two steps of a unit ": {"roundup_power2_divisions:2", 1025, 1536},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := Rules{}.parseConfig(defaultConfig(), test.config)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.round(test.n); got != test.want {
				t.Errorf("%d bytes with %q: got %d, want %d", test.n, test.config, got, test.want)
			}
		})
	}
}

func TestSegmentsHaveTheSizesOfPyTorch(t *testing.T) {
	tests := map[string]struct{ rounded, want int64 }{
		"small requests share 2 MiB":            {512, 2 * mib},
		"up to 1 MiB is small":                  {mib, 2 * mib},
		"what is larger shares 20 MiB":          {mib + 512, 20 * mib},
		"up to 10 MiB":                          {10*mib - 512, 20 * mib},
		"from 10 MiB on each has its own":       {10 * mib, 10 * mib},
		"which is rounded to 2 MiB":             {10*mib + 512, 12 * mib},
		"however large, never to less than all": {100*mib + 512, 102 * mib},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := defaultConfig()
			if got := c.segmentSize(test.rounded); got != test.want {
				t.Errorf("a segment for %d: got %d, want %d", test.rounded, got, test.want)
			}
		})
	}
}
