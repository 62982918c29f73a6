package snapshots

import (
	"path"
	"strings"
)

// IsSnapshotName reports whether a file's name is one that snapshots and recordings
// usually have. Open knows a file by its content, whatever its name is.
func IsSnapshotName(name string) bool {
	for _, compressed := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, compressed)
	}
	switch path.Ext(name) {
	case ".pickle", ".pkl", ".mtr":
		return true
	}
	return false
}
