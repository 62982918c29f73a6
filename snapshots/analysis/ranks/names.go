package ranks

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// # Ranks by name
//
// Programs put the rank into the name of the file that a rank writes, or of its
// folder: rank3.pickle, snapshot_rank_3.pickle, rank3_memory_snapshot.pickle,
// r3.mtr, rank3/snapshot.pickle. A number without the word rank, as in
// snapshot_3.pickle, may also be a step.

var (
	named    = regexp.MustCompile(`(?i)(?:^|[^a-z])rank[-_. =]?(\d{1,7})(?:\D|$)`)
	lettered = regexp.MustCompile(`(?:^|[^a-zA-Z0-9])r(\d{1,7})(?:[^a-zA-Z0-9]|$)`)
)

// byName returns the rank of each file by its name. ok is false if a name has no
// rank, or if two names have the same rank.
func byName(paths []string) (numbers []int, ok bool) {
	for _, rule := range []*regexp.Regexp{named, lettered} {
		if numbers, ok := matched(paths, rule); ok {
			return numbers, true
		}
	}
	return nil, false
}

// matched returns the numbers that a rule finds in the files' names, or else in those of
// their folders.
func matched(paths []string, rule *regexp.Regexp) ([]int, bool) {
	numbers := make([]int, len(paths))
	for i, path := range paths {
		found := rule.FindStringSubmatch(filepath.Base(path))
		if found == nil {
			found = rule.FindStringSubmatch(filepath.Base(filepath.Dir(path)))
		}
		if found == nil {
			return nil, false
		}
		numbers[i], _ = strconv.Atoi(found[1])
	}
	return numbers, len(slices.Compact(slices.Sorted(slices.Values(numbers)))) == len(numbers)
}
