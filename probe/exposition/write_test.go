package exposition_test

import (
	"math"
	"os/exec"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/probe/exposition"
)

var sampleFamilies = []exposition.Family{
	{
		Name: "memtop_allocated_bytes", Unit: "bytes", Help: "Bytes of blocks in use.",
		Samples: []exposition.Sample{{[]string{"device", "0"}, 1 << 40}, {[]string{"device", "1"}, 0}},
	},
	{Name: "memtop_reserved_bytes", Unit: "bytes", Help: "A family without a sample."},
	{Name: "memtop_program", Help: "The program.", Samples: []exposition.Sample{{[]string{"command", "train \"big\"\\\nmodel \xff"}, 1}}},
	{Name: "memtop_cost_seconds", Kind: exposition.Counter, Unit: "seconds", Help: "A cost.", Samples: []exposition.Sample{{nil, 1.5}}},
	{Name: "memtop_loss", Help: "A loss.", Samples: []exposition.Sample{{[]string{"pid", "1"}, math.Inf(1)}, {[]string{"pid", "2"}, math.NaN()}}},
}

func TestFamiliesAreWrittenByTheLetter(t *testing.T) {
	tests := map[string]struct {
		format exposition.Format
		want   string
	}{
		"OpenMetrics": {exposition.OpenMetrics, `# HELP memtop_allocated_bytes Bytes of blocks in use.
# TYPE memtop_allocated_bytes gauge
# UNIT memtop_allocated_bytes bytes
memtop_allocated_bytes{device="0"} 1.099511627776e+12
memtop_allocated_bytes{device="1"} 0
# HELP memtop_program The program.
# TYPE memtop_program gauge
memtop_program{command="train \"big\"\\\nmodel ` + "\uFFFD" + `"} 1
# HELP memtop_cost_seconds A cost.
# TYPE memtop_cost_seconds counter
# UNIT memtop_cost_seconds seconds
memtop_cost_seconds_total 1.5
# HELP memtop_loss A loss.
# TYPE memtop_loss gauge
memtop_loss{pid="1"} +Inf
memtop_loss{pid="2"} NaN
# EOF
`},
		"Prometheus' text": {exposition.Text, `# HELP memtop_allocated_bytes Bytes of blocks in use.
# TYPE memtop_allocated_bytes gauge
memtop_allocated_bytes{device="0"} 1.099511627776e+12
memtop_allocated_bytes{device="1"} 0
# HELP memtop_program The program.
# TYPE memtop_program gauge
memtop_program{command="train \"big\"\\\nmodel ` + "\uFFFD" + `"} 1
# HELP memtop_cost_seconds_total A cost.
# TYPE memtop_cost_seconds_total counter
memtop_cost_seconds_total 1.5
# HELP memtop_loss A loss.
# TYPE memtop_loss gauge
memtop_loss{pid="1"} +Inf
memtop_loss{pid="2"} NaN
`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			fatal.If(t, exposition.Write(&text, test.format, sampleFamilies))
			equal.Values(t, "the text", test.want, text.String())
		})
	}
}

func TestPromtoolAcceptsTheText(t *testing.T) {
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool, which comes with Prometheus, is not installed")
	}
	var text strings.Builder
	fatal.If(t, exposition.Write(&text, exposition.Text, sampleFamilies))
	check := exec.CommandContext(t.Context(), path, "check", "metrics")
	check.Stdin = strings.NewReader(text.String())
	if said, err := check.CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("%v: %s\nof\n%s", err, said, text.String())
	}
}
