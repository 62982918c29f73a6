package main

import (
	"strconv"

	"github.com/memtop/memtop/probe/attach"
)

// ranksOf returns how many processes train together, as launchers tell each of them; 0
// where that is not known.
func ranksOf(pid int) int {
	n, err := strconv.Atoi(attach.EnvironmentOf(pid)("WORLD_SIZE"))
	if err != nil {
		return 0
	}
	return n
}
