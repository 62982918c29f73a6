// Package metricstest reads what collectors of metrics read, by the letter of the formats. It does not write it: that is
// probe/exposition.
package metricstest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/memtop/memtop/probe/exposition"
)

// Parse returns the samples of a text, by name and labels in the order of their
// names: name{a="1",b="2"}, the values without escapes. It returns an error for
// text that OpenMetrics 1.0 or the text format 0.0.4 forbids, and also for text
// that promtool warns of: a family without help, or a counter whose name does not
// end in _total.
func Parse(f exposition.Format, text string) (map[string]float64, error) {
	p := &parser{format: f, samples: make(map[string]float64), families: make(map[string]bool)}
	if f == exposition.OpenMetrics {
		body, ok := strings.CutSuffix(text, "# EOF\n")
		if !ok {
			return nil, errors.New("the end is missing")
		}
		text = body
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		return nil, errors.New("the last line does not end")
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		if err := p.line(strings.TrimSuffix(line, "\n")); err != nil {
			return nil, fmt.Errorf("line %d, %q: %w", number, line, err)
		}
	}
	return p.samples, p.end()
}

type parser struct {
	format       exposition.Format
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

// suffixes has the types that a TYPE line may have, and for each the suffix of
// the samples' names.
var suffixes = map[exposition.Format]map[string]string{
	exposition.OpenMetrics: {"gauge": "", "counter": "_total"},
	exposition.Text:        {"gauge": "", "counter": ""},
}

func (p *parser) line(line string) error {
	if comment, ok := strings.CutPrefix(line, "# "); ok {
		return p.comment(comment)
	}
	name := metricName.FindString(line)
	if suffix, known := suffixes[p.format][p.kind]; !known || name != p.family+suffix {
		return fmt.Errorf("a sample named %q in family %q of type %q", name, p.family, p.kind)
	}
	labels, rest, err := parseLabels(line[len(name):])
	if err != nil {
		return err
	}
	text, ok := strings.CutPrefix(rest, " ")
	value, err := strconv.ParseFloat(text, 64)
	if !ok || err != nil {
		return fmt.Errorf("no value: %q", rest)
	}
	if p.kind == "counter" && !(value >= 0) {
		return fmt.Errorf("a %s of %v", p.kind, value)
	}
	if _, twice := p.samples[name+labels]; twice {
		return errors.New("a second sample")
	}
	p.samples[name+labels], p.sampled = value, true
	return nil
}

func (p *parser) comment(comment string) error {
	fields := strings.SplitN(comment, " ", 3)
	words := []string{"TYPE", "HELP"}
	if p.format == exposition.OpenMetrics {
		words = append(words, "UNIT")
	}
	if len(fields) != 3 || !slices.Contains(words, fields[0]) {
		return errors.New("not a comment that is allowed")
	}
	word, name := fields[0], fields[1]
	if name != p.family {
		if err := p.begin(name); err != nil {
			return err
		}
	}
	if p.sampled || slices.Contains(p.metadata, word) {
		return fmt.Errorf("%s after samples or twice", word)
	}
	p.metadata = append(p.metadata, word)
	if word == "TYPE" {
		p.kind = fields[2]
		if total := strings.HasSuffix(name, "_total"); total != (p.kind == "counter" && p.format == exposition.Text) {
			return fmt.Errorf("a %s of this name", p.kind)
		}
	}
	if word == "UNIT" && !strings.HasSuffix(name, "_"+fields[2]) {
		return errors.New("the family's name does not end in its unit")
	}
	return nil
}

func (p *parser) begin(name string) error {
	if p.families[name] || metricName.FindString(name) != name {
		return fmt.Errorf("family %q a second time, or a bad name", name)
	}
	if err := p.end(); err != nil {
		return err
	}
	p.families[name] = true
	p.family, p.kind, p.metadata, p.sampled = name, "", nil, false
	return nil
}

// end returns an error if the family that ends here lacks a part.
func (p *parser) end() error {
	if p.family != "" && (!p.sampled || !slices.Contains(p.metadata, "HELP")) {
		return fmt.Errorf("family %q has no help or no samples", p.family)
	}
	return nil
}

// parseLabels returns the labels in order of their names.
func parseLabels(text string) (labels, rest string, err error) {
	if !strings.HasPrefix(text, "{") {
		return "", text, nil
	}
	var list, names []string
	for begin := "{"; ; begin = "," {
		inner, ok := strings.CutPrefix(text, begin)
		m := metricLabel.FindStringSubmatch(inner)
		if !ok || m == nil || slices.Contains(names, m[1]) {
			return "", "", fmt.Errorf("no label, or one twice: %q", text)
		}
		value := strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\"`, `"`).Replace(m[2])
		list, names = append(list, m[1]+`="`+value+`"`), append(names, m[1])
		text = inner[len(m[0]):]
		if rest, ok := strings.CutPrefix(text, "}"); ok {
			slices.Sort(list)
			return "{" + strings.Join(list, ",") + "}", rest, nil
		}
	}
}
