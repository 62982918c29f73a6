// Package killtest says how often tests kill programs that write files.
package killtest

import (
	"os"
	"strconv"
	"testing"
)

// Times returns how often a test is to kill: $MEMTOP_TEST_KILLS, or else a few
// times.
func Times(t *testing.T) int {
	t.Helper()
	text := os.Getenv("MEMTOP_TEST_KILLS")
	if text == "" {
		return 3
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal("$MEMTOP_TEST_KILLS: ", err)
	}
	return n
}
