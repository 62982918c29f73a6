package whatif

import (
	"regexp"
	"strings"
)

// useful are settings that often help, each a change by itself but for the last.
var useful = []string{
	"expandable_segments:True",
	"max_split_size_mb:128",
	"max_split_size_mb:512",
	"roundup_power2_divisions:4",
	"roundup_power2_divisions:[256:1,512:2,1024:4,>:8]",
	"expandable_segments:True,roundup_power2_divisions:8",
}

// collecting takes a device whose memory is known.
const collecting = "garbage_collection_threshold:0.8,per_process_memory_fraction:0.95"

// reserves finds the settings that make expandable segments smaller, of which a
// large request asks too much.
var reserves = regexp.MustCompile(`,?\s*expandable_segments_reserve(_by_class)?\s*:\s*(\[[^\]]*\]|[^,]*)`)

// Useful returns settings that are worth trying on a program, given its recorded
// settings: those with one change each, and the defaults if they differ. memory
// is the device's memory in bytes, 0 if not known.
func Useful(recorded string, memory int64) []string {
	var list []string
	if recorded != "" {
		list = append(list, "")
	}
	if without := strings.Trim(reserves.ReplaceAllString(recorded, ""), ", "); without != "" && reserves.MatchString(recorded) {
		list = append(list, without)
	}
	for _, change := range useful {
		if !strings.Contains(recorded, change) {
			list = append(list, With(recorded, change))
		}
	}
	if memory > 0 {
		list = append(list, collecting)
	}
	return list
}

// With returns recorded settings with a change.
func With(recorded, change string) string {
	return strings.TrimLeft(strings.TrimRight(recorded, ", ")+","+change, ",")
}
