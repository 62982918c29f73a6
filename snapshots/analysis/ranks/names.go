package ranks

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// # Ranks by name
//
// Programs put the rank into the name of the file that a rank writes, or of its
// folder: rank3.pickle, snapshot_rank_3.pickle, rank3_memory_snapshot.pickle,
// r3.mtr, rank3/snapshot.pickle. A number without the word rank, as in
// snapshot_3.pickle, may also be a step. It counts as a rank if the names differ
// only in that number and the numbers are 0, 1, 2 and so on.

var (
	named    = regexp.MustCompile(`(?i)(?:^|[^a-z])rank[-_. =]?(\d{1,7})(?:\D|$)`)
	lettered = regexp.MustCompile(`(?:^|[^a-zA-Z0-9])r(\d{1,7})(?:[^a-zA-Z0-9]|$)`)
	ending   = regexp.MustCompile(`^(.*[-_.])(\d{1,7})((?:\.[a-zA-Z]\w*)*)$`)
)

// byName returns the rank of each file by its name. ok is false if there is only
// one file, if a name has no rank, or if two names have the same rank.
func byName(paths []string) (numbers []int, ok bool) {
	if len(paths) < 2 {
		return nil, false
	}
	for _, rule := range []*regexp.Regexp{named, lettered} {
		if numbers, ok := matched(paths, rule); ok {
			return numbers, true
		}
	}
	return counted(paths)
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
	return numbers, distinct(numbers)
}

// counted returns the numbers at the end of names that are the same but for them.
func counted(paths []string) ([]int, bool) {
	numbers := make([]int, len(paths))
	rest := ""
	for i, path := range paths {
		found := ending.FindStringSubmatch(path)
		if found == nil || i > 0 && rest != found[1]+found[3] {
			return nil, false
		}
		numbers[i], _ = strconv.Atoi(found[2])
		rest = found[1] + found[3]
	}
	return numbers, distinct(numbers) && slices.Max(numbers) == len(numbers)-1 && !strings.Contains(strings.ToLower(filepath.Base(rest)), "step")
}

func distinct(numbers []int) bool {
	sorted := slices.Sorted(slices.Values(numbers))
	return len(slices.Compact(sorted)) == len(numbers)
}
