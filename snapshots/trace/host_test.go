package trace

import "testing"

func TestTheNearestLimitCounts(t *testing.T) {
	gauge := Gauge{Total: 100, Used: 40, Limit: 50, LimitUsed: 45}
	for name, test := range map[string]struct {
		change func(*Gauge)
		want   Limit
		known  bool
	}{
		"a group":                 {func(*Gauge) {}, Limit{LimitByGroup, 50, 45}, true},
		"the machine":             {func(g *Gauge) { g.Used = 98 }, Limit{LimitByMachine, 100, 98}, true},
		"no group":                {func(g *Gauge) { g.Limit = 0 }, Limit{LimitByMachine, 100, 40}, true},
		"a limited address space": {func(g *Gauge) { g.Host = &Host{AddressSpace: 9, AddressSpaceLimit: 10} }, Limit{LimitByShell, 10, 9}, true},
		"nothing":                 {func(g *Gauge) { *g = Gauge{Total: -1, Used: -1} }, Limit{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := gauge
			test.change(&g)
			if got, known := g.Nearest(); got != test.want || known != test.known {
				t.Errorf("got %+v, %v", got, known)
			}
		})
	}
}
