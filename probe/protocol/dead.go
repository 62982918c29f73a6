package protocol

import (
	"os"
	"path/filepath"
)

// DeadFolder returns the folder in which an agent of this user leaves the
// snapshots of programs that ran out of memory. Viewers look there. The folder
// outlives the session. It is "" if the home folder is unknown.
func DeadFolder() string {
	home, _ := os.UserHomeDir() // "" if unknown
	return DeadFolderOf(os.Getenv("MEMTOP_DIR"), os.Getenv("XDG_STATE_HOME"), home)
}

// DeadFolderOf returns the folder of a process whose environment has these
// MEMTOP_DIR and XDG_STATE_HOME, "" for a variable that is not set, and whose user
// has this home folder.
func DeadFolderOf(own, state, home string) string {
	switch {
	case own != "":
		return filepath.Join(own, "dead")
	case state != "":
		return filepath.Join(state, "memtop", "dead")
	case home != "":
		return filepath.Join(home, ".local", "state", "memtop", "dead")
	default:
		return ""
	}
}
