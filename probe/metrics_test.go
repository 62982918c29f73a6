package probe

import (
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"memtop/snapshots/trace"
)

func TestMetricsAreOpenMetrics(t *testing.T) {
	p := newProgram()
	p.run(10)
	look := func() []trace.Gauge {
		return []trace.Gauge{{Device: 0, Total: 100, Used: 50, Process: -1}, {Device: 1, Total: 200, Used: 60, Process: 7}}
	}
	probe := listening(t, p, Options{Gauge: look, Program: "train \"big\"\\\nmodel \xff"})
	p.run(20)
	probe.Step(trace.Step{
		Number: 3, Duration: 1_500_000_000, Loss: math.NaN(), PeakAllocated: 1 << 40,
		Categories: []trace.Amount{{Name: "parameter", Bytes: 5}, {Name: "activation", Bytes: 6}},
	})
	c := newClient(t, probe, "")
	answer := c.request(t.Context(), t, http.MethodGet, "/metrics", "")
	shut(answer.Body)
	if got := answer.Header.Get("Content-Type"); got != openMetrics {
		t.Errorf("content type %q", got)
	}
	_, text := c.ask(t, http.MethodGet, "/metrics", "")
	samples, err := parseOpenMetrics(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	want := map[string]float64{
		`memtop_allocated_bytes{device="0"}`:                      30 * programBlock,
		`memtop_reserved_bytes{device="0"}`:                       programSlots * programBlock,
		`memtop_events_total{device="0"}`:                         20,
		`memtop_step`:                                             3,
		`memtop_step_duration_seconds`:                            1.5,
		`memtop_step_peak_allocated_bytes{device="0"}`:            1 << 40,
		`memtop_category_bytes{category="activation",device="0"}`: 6,
		`memtop_device_used_bytes{device="1"}`:                    60,
		`memtop_device_process_bytes{device="1"}`:                 7,
		`memtop_probe_dropped_events_total`:                       0,
		`memtop_probe_viewers`:                                    0,
		"memtop_program_info{command=\"train \"big\"\\\nmodel \uFFFD\",pid=\"" + strconv.Itoa(probe.who.pid) + `",user="` + probe.who.user + `"}`: 1,
	}
	for name, value := range want {
		if got, ok := samples[name]; !ok || got != value {
			t.Errorf("%s is %v, %v, want %v", name, got, ok, value)
		}
	}
	if !math.IsNaN(samples["memtop_step_loss"]) || samples["memtop_probe_cost_seconds_total"] <= 0 {
		t.Errorf("loss %v, cost %v", samples["memtop_step_loss"], samples["memtop_probe_cost_seconds_total"])
	}
	if _, ok := samples[`memtop_device_process_bytes{device="0"}`]; ok {
		t.Error("what nobody knows has a value")
	}
}

// parseOpenMetrics reads a text by the letter of OpenMetrics 1.0 and returns
// its samples, by name and labels in order.
func parseOpenMetrics(text string) (map[string]float64, error) {
	body, ok := strings.CutSuffix(text, "# EOF\n")
	if !ok {
		return nil, fmt.Errorf("the end is missing")
	}
	p := &metricsParser{samples: make(map[string]float64), families: make(map[string]bool)}
	for number, line := range strings.Split(strings.TrimSuffix(body, "\n"), "\n") {
		if err := p.line(line); err != nil {
			return nil, fmt.Errorf("line %d, %q: %w", number+1, line, err)
		}
	}
	return p.samples, nil
}

type metricsParser struct {
	family, kind string
	metadata     []string // of the family, so far
	sampled      bool
	families     map[string]bool
	samples      map[string]float64
}

var (
	metricName  = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*`)
	metricLabel = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"`)
)

func (p *metricsParser) line(line string) error {
	if comment, ok := strings.CutPrefix(line, "# "); ok {
		return p.comment(comment)
	}
	name := metricName.FindString(line)
	suffix := map[string]string{"gauge": "", "counter": "_total", "info": "_info"}
	if want, known := suffix[p.kind]; !known || name != p.family+want {
		return fmt.Errorf("a sample named %q in family %q of type %q", name, p.family, p.kind)
	}
	rest := line[len(name):]
	labels, rest, err := parseLabels(rest)
	if err != nil {
		return err
	}
	text, ok := strings.CutPrefix(rest, " ")
	value, err := strconv.ParseFloat(text, 64)
	if !ok || err != nil {
		return fmt.Errorf("no value: %q", rest)
	}
	if p.kind == "counter" && !(value >= 0) || p.kind == "info" && value != 1 {
		return fmt.Errorf("a %s of %v", p.kind, value)
	}
	if _, twice := p.samples[name+labels]; twice {
		return fmt.Errorf("a second sample")
	}
	p.samples[name+labels], p.sampled = value, true
	return nil
}

func (p *metricsParser) comment(comment string) error {
	fields := strings.SplitN(comment, " ", 3)
	if len(fields) != 3 || !slices.Contains([]string{"TYPE", "UNIT", "HELP"}, fields[0]) {
		return fmt.Errorf("not a comment that is allowed")
	}
	word, name := fields[0], fields[1]
	if name != p.family {
		if p.families[name] || metricName.FindString(name) != name {
			return fmt.Errorf("family %q a second time, or a bad name", name)
		}
		p.families[name] = true
		p.family, p.kind, p.metadata, p.sampled = name, "", nil, false
	}
	if p.sampled || slices.Contains(p.metadata, word) {
		return fmt.Errorf("%s after samples or twice", word)
	}
	p.metadata = append(p.metadata, word)
	switch {
	case word == "TYPE":
		p.kind = fields[2]
	case word == "UNIT" && (p.kind == "info" || !strings.HasSuffix(name, "_"+fields[2])):
		return fmt.Errorf("the family's name does not end in its unit")
	}
	return nil
}

// parseLabels returns the labels in order of their names.
func parseLabels(text string) (labels, rest string, err error) {
	if !strings.HasPrefix(text, "{") {
		return "", text, nil
	}
	text = text[1:]
	all := make(map[string]string)
	for {
		m := metricLabel.FindStringSubmatch(text)
		if m == nil {
			return "", "", fmt.Errorf("no label: %q", text)
		}
		if _, twice := all[m[1]]; twice {
			return "", "", fmt.Errorf("label %s twice", m[1])
		}
		all[m[1]] = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\"`, `"`).Replace(m[2])
		text = text[len(m[0]):]
		if rest, ok := strings.CutPrefix(text, "}"); ok {
			text = rest
			break
		}
		if text, err = cutComma(text); err != nil {
			return "", "", err
		}
	}
	var list []string
	for name, value := range all {
		list = append(list, name+`="`+value+`"`)
	}
	slices.Sort(list)
	return "{" + strings.Join(list, ",") + "}", text, nil
}

func cutComma(text string) (string, error) {
	rest, ok := strings.CutPrefix(text, ",")
	if !ok {
		return "", fmt.Errorf("no comma: %q", text)
	}
	return rest, nil
}

func TestWhatAProgramSaysOfItself(t *testing.T) {
	p := newProgram()
	p.run(10)
	probe := listening(t, p, Options{Control: p, Program: "train", Writer: "a made program"})
	p.finish(probe)
	newClient(t, probe, "w").post(t, "amp", "bf16")
	got := probe.info()
	if got.Started <= 0 || got.PID == 0 || got.User == "" {
		t.Errorf("started %d, process %d, user %q", got.Started, got.PID, got.User)
	}
	got.Started, got.PID, got.User, got.Host, got.ProbeNS = 0, 0, "", "", 0
	want := Info{
		Version: 1, Capabilities: []string{"ndjson", "snapshot", "metrics", "control"}, Command: "train",
		Writer: "a made program", Step: 1, Changing: "w",
		Devices: []DeviceInfo{{0, 10 * programBlock, programSlots * programBlock, 0}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("info (-want +got):\n%s", diff)
	}
}
