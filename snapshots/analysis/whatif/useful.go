package whatif

import (
	"regexp"
	"slices"
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
var reserves = regexp.MustCompile(`,?expandable_segments_reserve(_by_class)?:(\[[^\]]*\]|[^,]*)`)

// setting finds each setting of a text without spaces.
var setting = regexp.MustCompile(`\w+:(\[[^\]]*\]|[^,]*)`)

// Useful returns settings that are worth trying on a program, given its recorded
// settings: those with one change each, and the defaults if they differ. memory
// is the device's memory in bytes, 0 if not known.
func Useful(recorded string, memory int64) []string {
	var list []string
	if recorded = With(recorded, ""); recorded != "" {
		list = append(list, "")
	}
	if without := strings.Trim(reserves.ReplaceAllString(recorded, ""), ","); without != "" && without != recorded {
		list = append(list, without)
	}
	for _, change := range useful {
		if changed := With(recorded, change); changed != recorded && !slices.Contains(list, changed) {
			list = append(list, changed)
		}
	}
	if memory > 0 {
		list = append(list, collecting)
	}
	return list
}

// With returns recorded settings with a change, each setting once and without spaces.
func With(recorded, change string) string {
	var list []string
	for _, s := range setting.FindAllString(strings.Join(strings.Fields(recorded+","+change), ""), -1) {
		key, _, _ := strings.Cut(s, ":")
		if at := slices.IndexFunc(list, func(other string) bool { return strings.HasPrefix(other, key+":") }); at >= 0 {
			list[at] = s
		} else {
			list = append(list, s)
		}
	}
	return strings.Join(list, ",")
}
