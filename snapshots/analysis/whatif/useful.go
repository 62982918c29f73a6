package whatif

import "memtop/snapshots/trace"

// useful are settings that often help.
var useful = []string{
	"expandable_segments:True",
	"max_split_size_mb:128",
	"max_split_size_mb:512",
	"roundup_power2_divisions:4",
	"expandable_segments:True,roundup_power2_divisions:8",
}

// Useful returns settings that are worth trying on a trace.
func Useful(t *trace.Trace, memory int64) []string {
	list := append([]string{}, useful...)
	if memory > 0 {
		list = append(list, "per_process_memory_fraction:0.9,garbage_collection_threshold:0.8")
	}
	return list
}
