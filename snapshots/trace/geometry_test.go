package trace

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

// geometryVector is one of testdata/geometry.json. A sum is an argument and what
// follows from it.
type geometryVector struct {
	Name                            string
	Settings                        map[string]any
	Round, Segment, Driver, Largest [][2]int64
	Cuts                            [][4]any
	Page                            [][2]any
}

func TestTheGeometryIsPyTorchs(t *testing.T) {
	text := fatal.Read(t, "testdata/geometry.json")
	var vectors []geometryVector
	fatal.If(t, json.Unmarshal(text, &vectors))
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			g := NewGeometry(settingsOf(v.Settings))
			for name, rule := range map[string]struct {
				pairs [][2]int64
				of    func(int64) int64
			}{
				"Round": {v.Round, g.Round}, "SegmentSize": {v.Segment, g.SegmentSize}, "DriverRequest": {v.Driver, g.DriverRequest},
				"LargestRequest": {v.Largest, g.LargestRequest},
			} {
				for _, pair := range rule.pairs {
					if got := rule.of(pair[0]); got != pair[1] {
						t.Errorf("%s(%d): got %d, want %d", name, pair[0], got, pair[1])
					}
				}
			}
			for _, c := range v.Cuts {
				if got := g.Cuts(c[0].(bool), int64(c[1].(float64)), int64(c[2].(float64))); got != c[3] {
					t.Errorf("cuts%v: got %v", c, got)
				}
			}
			for _, p := range v.Page {
				if got := g.Page(p[0].(bool)); float64(got) != p[1] {
					t.Errorf("page%v: got %d", p, got)
				}
			}
		})
	}
}

// settingsOf returns settings in the form that a trace has.
func settingsOf(object map[string]any) (list []Setting) {
	for key, value := range object {
		switch v := value.(type) {
		case float64:
			value = int64(v)
		case map[string]any:
			value = settingsOf(v)
		}
		list = append(list, Setting{Key: key, Value: value})
	}
	return list
}

func TestTheLargestRequestIsTheInverse(t *testing.T) {
	for _, text := range []string{"", "large_segment_size_mb:48"} {
		for _, expandable := range []bool{false, true} {
			g := NewGeometry([]Setting{{Key: "PYTORCH_CUDA_ALLOC_CONF", Value: text}, {Key: "expandable_segments", Value: expandable}})
			for bytes := int64(0); bytes < 150<<20; bytes += 1<<20 - 1 {
				n := g.LargestRequest(bytes)
				if n > 0 && g.DriverRequest(n) > bytes || g.DriverRequest(n+MinBlock) <= bytes {
					t.Errorf("%q, expandable %v: %d is not the largest request in %d bytes", text, expandable, n, bytes)
				}
			}
		}
	}
}

func TestTheGeometryOfDamagedTracesDoesNotOverflow(t *testing.T) {
	g := NewGeometry([]Setting{{Key: "expandable_segments", Value: true}})
	if r, d := g.Round(math.MaxInt64), g.DriverRequest(math.MaxInt64-1); r != math.MaxInt64 || d != math.MaxInt64-1 {
		t.Errorf("got %d and %d", r, d)
	}
}

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
