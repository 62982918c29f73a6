// Package procfs reads the files of /proc. Another process decides how long some of
// its files are, such as its environment, so every read has a bound.
package procfs

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	most     = 16 << 20  // bytes of a file: a list of mappings or of mounts can be long
	mostText = 128 << 10 // bytes of a command line or an environment

	shortCommand = 120 // bytes
)

// Read returns a whole file, given by its absolute path, or an error if it is longer than
// 16 MiB: a part could say something else, such as another number at its end.
func Read(path string) ([]byte, error) { return ReadIn(os.DirFS("/"), path[1:]) }

// ReadIn is Read in a file system.
func ReadIn(files fs.FS, name string) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if len(text) > most {
		return nil, fmt.Errorf("/%s is longer than %d bytes", name, most)
	}
	return text, err
}

// Beginning returns the first bytes of a process's file, at most most: "" if it cannot
// be read.
func Beginning(pid int, name string, most int64) string {
	f, err := os.Open(Of(pid, name))
	if err != nil {
		return ""
	}
	defer f.Close()                                // it was only read
	text, _ := io.ReadAll(io.LimitReader(f, most)) // a part is enough
	return string(text)
}

// Processes returns the processes that run.
func Processes() (pids []int, err error) {
	entries, err := os.ReadDir("/proc")
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, err
}

// Of returns the path of a process's file.
func Of(pid int, name string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), name)
}

// Status returns the lines of a status file, as fields by their names. The error is
// fs.ErrNotExist when there is no such process.
func Status(path string) (map[string][]string, error) {
	text, err := Read(path)
	if err != nil {
		return nil, Gone(err)
	}
	lines := make(map[string][]string)
	for line := range strings.Lines(string(text)) {
		name, values, _ := strings.Cut(line, ":")
		lines[name] = strings.Fields(values)
	}
	return lines, nil
}

// Number returns one of the fields of a line, or the other number if there is none.
func Number(fields []string, at, otherwise int) int {
	if at >= 0 && at < len(fields) {
		if n, err := strconv.Atoi(fields[at]); err == nil {
			return n
		}
	}
	return otherwise
}

// Arguments returns a process's command line, its first 128 KiB. It has at least one
// argument, which is empty if nothing is known.
func Arguments(pid int) []string {
	return strings.Split(strings.TrimRight(Beginning(pid, "cmdline", mostText), "\x00"), "\x00")
}

// Command returns a process's command line as a text, "" if nothing is known.
func Command(pid int) string { return strings.TrimSpace(strings.Join(Arguments(pid), " ")) }

// ShortCommand returns the beginning of a process's command line, "" if nothing is known:
// enough to tell processes on a device apart.
func ShortCommand(pid int) string {
	text := Command(pid)
	return text[:min(len(text), shortCommand)]
}

// Environment returns the variables with which a process began, in the first 128 KiB of
// them, "" for one that it does not have. If this user may not read them, all are "".
func Environment(pid int) func(name string) string {
	variables := make(map[string]string)
	for entry := range strings.SplitSeq(Beginning(pid, "environ", mostText), "\x00") {
		name, value, _ := strings.Cut(entry, "=")
		variables[name] = value
	}
	return func(name string) string { return variables[name] }
}

// Mount is a line of /proc/PID/mountinfo.
type Mount struct {
	Root, At string   // what of the file system is mounted, and its folder
	Kind     string   // of file system
	Options  []string // of the file system
}

// Mounts reads a text of /proc/PID/mountinfo, whose lines are
//
//	36 35 98:0 /root /at rw,noatime master:1 - kind source options
func Mounts(text []byte) (all []Mount) {
	for line := range strings.Lines(string(text)) {
		before, after, _ := strings.Cut(line, " - ")
		place, what := strings.Fields(before), strings.Fields(after)
		if len(place) >= 5 && len(what) >= 3 {
			all = append(all, Mount{place[3], place[4], what[0], strings.Split(what[2], ",")})
		}
	}
	return all
}

// Groups reads a text of /proc/PID/cgroup, whose lines are "4:memory:/a/b" and, of version
// 2, "0::/a/b": the control groups by the controllers of their hierarchy, which version 2
// does not name.
func Groups(text []byte) map[string]string {
	groups := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		if fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3); len(fields) == 3 {
			groups[fields[1]] = fields[2]
		}
	}
	return groups
}
