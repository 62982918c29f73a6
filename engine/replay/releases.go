package replay

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/trace"
)

// writerText finds the releases in the name of a writer, such as "PyTorch 2.12–2.13".
var writerText = regexp.MustCompile(`PyTorch 2\.(\d{1,2})(?:–2\.(\d{1,2}))?`)

// rulesOf returns the different rules that the writer of a recording may have had,
// of the releases in its name that take the settings. Without one, they are the
// allocator's own.
func rulesOf(writer, settings string) (list []alloc.Rules) {
	if m := writerText.FindStringSubmatch(writer); m != nil {
		first, _ := strconv.Atoi(m[1]) // two digits are a number
		last, _ := strconv.Atoi(m[2])
		for release := first; release <= max(first, last); release++ {
			r, err := alloc.RulesOf(fmt.Sprintf("2.%d", release))
			if err != nil || len(list) > 0 && r.Same(list[len(list)-1]) {
				continue
			}
			if takes(r, settings) {
				list = append(list, r)
			}
		}
	}
	if list == nil {
		list = []alloc.Rules{{}}
	}
	return list
}

// takes reports whether a release takes settings.
func takes(r alloc.Rules, settings string) bool {
	_, err := alloc.New(newCounted(plenty), alloc.Options{Config: settings, Rules: r})
	return err == nil
}

// trial is what one run tries.
type trial struct {
	settings string
	rules    alloc.Rules
	release  string // as asked for, "" for the recorded rules
	graphs   whatif.GraphChange
}

// trials returns every release of the question with all settings, and without
// releases the settings under the recorded rules.
func (q *question) trials() ([]trial, error) {
	var list []trial
	if len(q.Releases) == 0 {
		for _, settings := range q.Settings {
			if !q.suggested || takes(q.rules, settings) {
				list = append(list, trial{settings: settings, rules: q.rules})
			}
		}
		return list, nil
	}
	for _, release := range q.Releases {
		rules, err := alloc.RulesOf(strings.TrimSpace(release))
		if err != nil {
			return nil, &whatif.SettingsError{Settings: "--torch " + release, Cause: err.Error(), Remedy: "--torch 2.9,2.15"}
		}
		for _, settings := range q.Settings {
			list = append(list, trial{settings: settings, rules: rules, release: rules.String()})
		}
	}
	return list, nil
}

// otherwise says what a trial's rules say that the recorded ones do not, of those that
// the recording can meet.
func (q *question) otherwise(t trial) string {
	if t.release == "" {
		return ""
	}
	differences := t.rules.Differences(q.rules, alloc.Facts{
		Fraction: strings.Contains(t.settings, "per_process_memory_fraction"), LaterSizes: strings.Contains(t.settings, ">"),
		Pools: slices.ContainsFunc(q.Trace.Tables.Pools, func(p trace.Pool) bool { return p != trace.Pool{} }),
	})
	switch {
	case t.rules.Same(q.rules):
		return "its rules are the recorded ones"
	case len(differences) == 0:
		return "its rules are the recorded ones, for all that this program does"
	}
	return strings.Join(differences, "; ")
}
