package metricstest

import (
	"testing"

	"github.com/memtop/memtop/probe/exposition"
)

func TestWhatTheFormatsForbidIsRefused(t *testing.T) {
	const gauge, counter = "# HELP a A.\n# TYPE a gauge\n", "# HELP a_total A.\n# TYPE a_total counter\n"
	tests := map[string]struct {
		format exposition.Format
		text   string
		good   bool
	}{
		"a gauge":                             {exposition.Text, gauge + "a 1\n", true},
		"a counter":                           {exposition.Text, counter + "a_total{b=\"c\"} 1\na_total{b=\"d\"} 1\n", true},
		"a counter of exposition.OpenMetrics": {exposition.OpenMetrics, "# HELP a A.\n# TYPE a counter\na_total 1\n# EOF\n", true},
		"no end":                              {exposition.OpenMetrics, gauge + "a 1\n", false},
		"an end":                              {exposition.Text, gauge + "a 1\n# EOF\n", false},
		"a unit":                              {exposition.Text, "# UNIT a_bytes bytes\n# HELP a_bytes A.\n# TYPE a_bytes gauge\na_bytes 1\n", false},
		"a line that does not end":            {exposition.Text, gauge + "a 1", false},
		"an empty line":                       {exposition.Text, gauge + "\na 1\n", false},
		"no help":                             {exposition.Text, "# TYPE a gauge\na 1\n", false},
		"no type":                             {exposition.Text, "# HELP a A.\na 1\n", false},
		"another type":                        {exposition.Text, "# HELP a A.\n# TYPE a info\na 1\n", false},
		"no sample":                           {exposition.Text, gauge, false},
		"a family twice":                      {exposition.Text, gauge + "a 1\n# HELP b B.\n# TYPE b gauge\nb 1\n" + gauge + "a 2\n", false},
		"a sample twice":                      {exposition.Text, gauge + "a{b=\"1\",c=\"2\"} 1\na{c=\"2\",b=\"1\"} 1\n", false},
		"a sample of another family":          {exposition.Text, gauge + "b 1\n", false},
		"a counter without its suffix":        {exposition.Text, "# HELP a A.\n# TYPE a counter\na 1\n", false},
		"a counter that is negative":          {exposition.Text, counter + "a_total -1\n", false},
		"a gauge like a counter":              {exposition.Text, "# HELP a_total A.\n# TYPE a_total gauge\na_total 1\n", false},
		"a label without quotes":              {exposition.Text, gauge + "a{b=c} 1\n", false},
		"a label twice":                       {exposition.Text, gauge + "a{b=\"c\",b=\"d\"} 1\n", false},
		"an escape that is none":              {exposition.Text, gauge + "a{b=\"\\t\"} 1\n", false},
		"a label that does not end":           {exposition.Text, gauge + "a{b=\"c} 1\n", false},
		"no value":                            {exposition.Text, gauge + "a\n", false},
		"a value that is not a number":        {exposition.Text, gauge + "a many\n", false},
		"a timestamp that is not ours":        {exposition.Text, gauge + "a 1 1700000000000\n", false},
		"a name of a unit it is not in":       {exposition.OpenMetrics, "# HELP a A.\n# TYPE a gauge\n# UNIT a bytes\na 1\n# EOF\n", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse(test.format, test.text); (err == nil) != test.good {
				t.Errorf("it is read with %v", err)
			}
		})
	}
}
