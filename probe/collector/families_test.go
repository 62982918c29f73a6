package collector

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/exposition"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// program returns a process that says so much of itself.
func program(pid, devices int) attach.Process {
	i := &protocol.Info{Version: 1, Step: 7, LastStep: &protocol.LastStep{PeakAllocated: 5}}
	for d := range devices {
		i.Devices = append(i.Devices, protocol.DeviceInfo{Device: d, Allocated: int64(pid)})
		i.Gauges = append(i.Gauges, trace.Gauge{Device: d, Total: 100, Process: -1})
	}
	return attach.Process{PID: pid, Socket: fmt.Sprintf("/s/%d-1.sock", pid), User: "alice", Command: "/usr/bin/memtrain --key secret", Info: i}
}

// written returns the samples of what was found, in both formats: they must be
// the same.
func written(t *testing.T, families []exposition.Family) map[string]float64 {
	t.Helper()
	var samples map[string]float64
	for _, f := range []exposition.Format{exposition.OpenMetrics, exposition.Text} {
		var text strings.Builder
		fatal.If(t, exposition.Write(&text, f, families))
		parsed := samplesOf(t, text.String())
		if samples != nil && !cmp.Equal(samples, parsed) {
			t.Errorf("the formats differ: %s", cmp.Diff(samples, parsed))
		}
		samples = parsed
	}
	return samples
}

var (
	sampleLine = regexp.MustCompile(`^(\w+)(?:\{(.+)\})? (\S+)$`)
	labelPair  = regexp.MustCompile(`\w+="(?:[^"\\]|\\["\\n])*"`)
)

// samplesOf returns the samples of a text by their names and labels, in the order of these.
// Nothing comes twice, and what is no comment is a sample.
func samplesOf(t *testing.T, text string) map[string]float64 {
	t.Helper()
	samples, lines := make(map[string]float64), make(map[string]bool)
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); !strings.HasPrefix(line, "# ") {
			m := sampleLine.FindStringSubmatch(line)
			if m == nil || strings.Join(labelPair.FindAllString(m[2], -1), ",") != m[2] {
				t.Fatalf("no sample: %q", line)
			}
			labels := labelPair.FindAllString(m[2], -1)
			slices.Sort(labels)
			line = m[1] + "{" + strings.Join(labels, ",") + "}"
			value, err := strconv.ParseFloat(m[3], 64)
			fatal.If(t, err)
			samples[line] = value
		}
		if lines[line] {
			t.Errorf("a second time: %q", line)
		}
		lines[line] = true
	}
	return samples
}

func TestProgramsAreMergedByFamily(t *testing.T) {
	down := program(3, 1)
	down.Info, down.Problem = nil, &attach.SilentError{Stopped: 3}
	stale := attach.Process{Socket: "/s/9-1.sock", Problem: &attach.NoProbeError{Socket: "/s/9-1.sock"}}
	samples := written(t, New(nil).families([]attach.Process{stale, program(1, 2), down, program(2, 1)}))
	const who = `command="memtrain",`
	for name, want := range map[string]float64{
		`memtop_probe_up{` + who + `pid="1",user="alice"}`:                             1,
		`memtop_probe_up{` + who + `pid="2",user="alice"}`:                             1,
		`memtop_probe_up{` + who + `pid="3",user="alice"}`:                             0,
		`memtop_probe_problem{` + who + `pid="3",reason="silent",user="alice"}`:        1,
		`memtop_allocated_bytes{` + who + `device="1",pid="1",user="alice"}`:           1,
		`memtop_allocated_bytes{` + who + `device="0",pid="2",user="alice"}`:           2,
		`memtop_device_total_bytes{` + who + `device="0",pid="2",user="alice"}`:        100,
		`memtop_step_peak_allocated_bytes{` + who + `device="0",pid="1",user="alice"}`: 5,
		`memtop_left_out{what="programs"}`:                                             0,
	} {
		if got, ok := samples[name]; !ok || got != want {
			t.Errorf("%s is %v, %v, want %v", name, got, ok, want)
		}
	}
	for name := range samples {
		if strings.HasPrefix(name, "memtop_requested_bytes") || strings.Contains(name, "secret") || strings.Contains(name, `pid="0"`) {
			t.Errorf("%s is there", name)
		}
	}
}

func TestWhatProgramsSayIsBounded(t *testing.T) {
	tests := map[string]struct {
		spoil func(p *attach.Process)
		has   []string // texts that a sample's name has
		lacks []string
	}{
		"a command line that injects lines": {
			func(p *attach.Process) { p.Command = "a\"} 1\nmemtop_probe_up{pid=\"5\"} 1\n\x1b[2J" },
			[]string{`command="a`},
			[]string{"\n", "\x1b"},
		},
		"a long command line": {
			func(p *attach.Process) { p.Command = strings.Repeat("é", 5000) },
			[]string{strings.Repeat("é", maxLabel-1) + `…"`},
			[]string{strings.Repeat("é", maxLabel)},
		},
		"a user that injects lines": {
			func(p *attach.Process) { p.User = "\xff\"} 1\nmemtop_probe_up 5" }, []string{`user="` + "\uFFFD" + `\"} 1` + "\uFFFDmemtop"}, []string{"\n"},
		},
		"many devices": {
			func(p *attach.Process) { *p = program(1, 500) },
			[]string{`device="31"`},
			[]string{`device="32"`},
		},
		"a gauge twice, and of another device": {
			func(p *attach.Process) {
				p.Info.Gauges = []trace.Gauge{{Device: 0, Total: 1}, {Device: 0, Total: 2}, {Device: 7, Total: 3}, {Device: -1}}
			},
			[]string{"memtop_device_total_bytes"},
			[]string{`device="7"`, `device="-1"`},
		},
		"categories of its own": {
			func(p *attach.Process) {
				p.Info.LastStep.Categories = []trace.Amount{{Name: "x", Bytes: 1}, {Name: "x", Bytes: 2}, {Name: "step 7", Bytes: 3}, {Name: "parameter", Bytes: 4}}
			},
			[]string{`category="other"`, `category="parameter"`},
			[]string{`"x"`, "step 7"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := program(1, 1)
			test.spoil(&p)
			samples := written(t, New(nil).families([]attach.Process{p, program(2, 1)}))
			var names strings.Builder
			for name := range samples {
				names.WriteString(name)
			}
			for _, text := range test.has {
				if !strings.Contains(names.String(), text) {
					t.Errorf("no sample has %q", text)
				}
			}
			for _, text := range test.lacks {
				if strings.Contains(names.String(), text) {
					t.Errorf("a sample has %q", text)
				}
			}
			if samples[`memtop_allocated_bytes{command="memtrain",device="0",pid="2",user="alice"}`] != 2 {
				t.Error("the other program is not there")
			}
		})
	}
}

func TestThereIsABoundOnPrograms(t *testing.T) {
	var all []attach.Process
	for pid := range 1000 {
		p := program(pid+1, 200)
		if pid < 300 {
			p.Info, p.Problem = nil, errors.New("it means ill")
		}
		all = append(all, p, p)
	}
	c := New(nil)
	families := c.families(all)
	up, left := 0.0, []float64{}
	for _, f := range families {
		for _, sample := range f.Samples {
			switch f.Name {
			case "memtop_probe_up":
				up += sample.Value
			case "memtop_left_out":
				left = append(left, sample.Value)
			}
		}
	}
	if want := []float64{1000 - maxPrograms, maxPrograms * (200 - maxDevices)}; up != maxPrograms || !cmp.Equal(left, want) {
		t.Errorf("%v programs are up, and %v programs and devices are left out, want %v", up, left, want)
	}
	var text strings.Builder
	if err := exposition.Write(&text, exposition.Text, families); err != nil || text.Len() > 8<<20 {
		t.Errorf("there are %d bytes (%v), want at most 8 MiB", text.Len(), err)
	}
	c.families(nil)
	if len(c.known) != 0 {
		t.Errorf("%d commands of programs that have ended are kept", len(c.known))
	}
}

// TestARankHasTheLabelsOfItsJob has one whose process says another rank with each
// scrape: it keeps the first.
func TestARankHasTheLabelsOfItsJob(t *testing.T) {
	c := New(nil)
	for scrape := range 3 {
		alone, rank := program(1, 1), program(2, 1)
		rank.Info.Rank = &trace.Rank{Job: "4711.0\n" + strings.Repeat("x", 100), Rank: 1 + scrape, World: 8}
		samples := written(t, c.families([]attach.Process{alone, rank}))
		who := `{command="memtrain",job_id="4711.0` + "\uFFFD" + strings.Repeat("x", maxLabel-8) + `…",pid="2",rank="1",user="alice"}`
		if samples[`memtop_ranks`+who] != 8 || samples[`memtop_probe_up`+who] != 1 {
			t.Errorf("scrape %d has %v", scrape, samples)
		}
		if _, ok := samples[`memtop_probe_up{command="memtrain",pid="1",user="alice"}`]; !ok {
			t.Errorf("a program that is alone has other labels: %v", samples)
		}
	}
}

// TestAProgramKeepsItsName has one write its step into its command line, as some
// do: each name would be another time series.
func TestAProgramKeepsItsName(t *testing.T) {
	c := New(nil)
	for step := range 3 {
		p := program(1, 1)
		p.Command = fmt.Sprintf("train:step-%d of 9", step)
		samples := written(t, c.families([]attach.Process{p}))
		if _, ok := samples[`memtop_probe_up{command="train:step-0 of",pid="1",user="alice"}`]; !ok {
			t.Errorf("at step %d the samples are %v", step, samples)
		}
	}
}

func TestAProgramsNameHasNoArguments(t *testing.T) {
	for command, want := range map[string]string{
		"":         "",
		"memtrain": "memtrain",
		"/opt/bin/memtrain --steps 0 --key secret":                           "memtrain",
		"/usr/bin/python3 -u /home/alice/train.py --token secret":            "python3 train.py",
		"python -m torch.distributed.run --nproc-per-node 8 train.py":        "python torch.distributed.run",
		"python train.py secret":                                             "python train.py",
		"/usr/bin/python3 /usr/local/bin/torchrun --nproc_per_node 8 run.py": "python3 torchrun",
		"python -X faulthandler -u train.py":                                 "python train.py",
		"serve -p secret":                                                    "serve",
		"python -c import_secret":                                            "python",
	} {
		if got := programOf(command); got != want {
			t.Errorf("%q is called %q, want %q", command, got, want)
		}
	}
}

func TestReasonsAreFew(t *testing.T) {
	for want, err := range map[string]error{
		"silent":    &attach.SilentError{},
		"untrusted": &attach.PermissionError{},
		"off":       &attach.NoProbeError{PID: 1},
		"version":   &wire.VersionError{},
		"malformed": &attach.MalformedError{},
		"busy":      &attach.RefusedError{Busy: true},
		"refused":   &attach.RefusedError{},
	} {
		if got := reason(fmt.Errorf("asking: %w", err)); got != want {
			t.Errorf("%T is %q, want %q", err, got, want)
		}
	}
}

func TestTheCachesOfServersAreListed(t *testing.T) {
	server := program(1, 2)
	server.Info.Gauges[1].Card = &trace.Card{Cache: &trace.CacheUse{Server: trace.VLLM, Used: 16, Size: 64, Unit: "blocks"}}
	found := make(map[string]float64)
	for name, value := range written(t, New(nil).families([]attach.Process{server})) {
		if strings.HasPrefix(name, "memtop_kv_cache_used_ratio") {
			found[name] = value
		}
	}
	equal.Values(t, "the result", map[string]float64{`memtop_kv_cache_used_ratio{command="memtrain",device="1",pid="1",user="alice"}`: 0.25}, found)
}
