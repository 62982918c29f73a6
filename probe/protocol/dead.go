package protocol

import (
	"os"
	"path/filepath"
)

// DeadFolder returns where an agent of this user leaves what held the memory of a
// program that ran out of it, and where viewers look for that: a folder that
// outlives the session. It is "" where the home folder is not known.
func DeadFolder() string {
	home, _ := os.UserHomeDir() // "" where it is not known
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
