//go:build linux

package hostledger

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memtop/memtop/snapshots/procfs"
	"github.com/memtop/memtop/snapshots/trace"
)

// # Whose a file in shared memory is
//
// The kernel does not say who has made a file. It is the program's if the program or a
// worker has it open or mapped, or had it so when the files were last listed, or if its
// name has the number of such a process, as those of PyTorch's have. All others may be
// another program's. Files without a name are those in which processes hand each other
// tensors.

// files lists the files in shared memory of one program.
type files struct {
	pid     int
	began   time.Time
	pids    map[int]bool    // of the program and all its workers so far
	made    map[uint64]bool // inodes of the program's files with a name
	foreign map[uint64]bool // inodes that any process had mapped when that was last asked
	asks    bool            // something seems to be left, so it is to be asked again
	last    listing
	next    time.Time
}

// listing is what a list says, as [trace.Host] has it.
type listing struct {
	step, batches, taken, shared, left int64
	leftFiles                          int
	sharedName, leftName               string
}

const (
	sharedFolder  = "/dev/shm"
	mostFiles     = 4096
	mostProcesses = 1 << 16
	leastFiles    = 1 << 20 // bytes that are worth asking who has mapped them
)

func newFiles(pid int, began time.Time) files {
	// The kernel dates files by a clock that is late by a tick at most.
	return files{pid: pid, began: began.Add(-procfs.Tick), pids: map[int]bool{pid: true}}
}

// remember notes processes of the program. How many it names is the agent's word.
func (f *files) remember(lists ...[]int) {
	for _, pids := range lists {
		for _, pid := range pids {
			if len(f.pids) < mostProcesses {
				f.pids[pid] = true
			}
		}
	}
}

// list adds what the program and its workers have of the files.
func (f *files) list(h *trace.Host, workers []int) {
	if start := time.Now(); start.After(f.next) {
		f.last = f.read(workers)
		f.last.step = h.Step
		f.next = time.Now().Add(share * time.Since(start))
	}
	l := &f.last
	h.Listed, h.Batches, h.Taken, h.SharedFiles, h.SharedName = l.step, l.batches, l.taken, l.shared, l.sharedName
	h.Left, h.LeftFiles, h.LeftName = l.left, l.leftFiles, l.leftName
}

// file is a file in shared memory: what it takes, and its name, "" without one.
type file struct {
	bytes int64
	name  string
}

func (f *files) read(workers []int) (l listing) {
	own, theirs := opened([]int{f.pid}), opened(workers)
	named := namedSince(f.began)
	has := func(inode uint64) bool { return own[inode] != nil || theirs[inode] != nil }
	mapped := mappedIf(named, has, append([]int{f.pid}, workers...))
	made, largest := make(map[uint64]bool), int64(0)
	share := func(each file) {
		l.shared += each.bytes
		if each.bytes > largest {
			largest, l.sharedName = each.bytes, each.name
		}
	}
	for inode, each := range named {
		switch ours := has(inode) || mapped[inode]; {
		case ours:
			share(each)
			made[inode] = true
		case f.made[inode] || f.pids[numberIn(each.name)]:
			made[inode] = true
		}
	}
	for inode, each := range theirs {
		if each.name == "" && own[inode] == nil {
			l.batches += each.bytes
		}
	}
	for _, each := range own {
		if each.name == "" {
			l.taken += each.bytes
			share(*each)
		}
	}
	f.made = made
	f.leave(&l, named, func(inode uint64) bool { return has(inode) || mapped[inode] || f.foreign[inode] })
	return l
}

// leave finds what processes leave that were killed before they deleted it: files of the
// program that nobody has.
func (f *files) leave(l *listing, named map[uint64]file, used func(uint64) bool) {
	largest := int64(-1)
	for inode := range f.made {
		if used(inode) {
			continue
		}
		each := named[inode]
		l.left, l.leftFiles = l.left+each.bytes, l.leftFiles+1
		if each.bytes > largest {
			largest, l.leftName = each.bytes, each.name
		}
	}
	if f.asks = l.left >= leastFiles; !f.asks {
		l.left, l.leftFiles, l.leftName = 0, 0, ""
	}
}

// opened returns the files that processes have open, by inode. No file is opened.
func opened(pids []int) map[uint64]*file {
	found := make(map[uint64]*file)
	for _, pid := range pids {
		folder := procfs.Of(pid, "fd")
		for _, number := range namesIn(folder) {
			path := filepath.Join(folder, number)
			target, _ := os.Readlink(path)
			name, inside := strings.CutPrefix(target, sharedFolder+"/")
			var s unix.Stat_t
			if !inside || unix.Stat(path, &s) != nil || s.Mode&unix.S_IFMT != unix.S_IFREG {
				continue
			}
			if s.Nlink == 0 { // one whose first name was deleted may have another
				name = ""
			}
			found[s.Ino] = &file{s.Blocks * 512, name}
		}
	}
	return found
}

// namedSince returns this user's files in shared memory that were made or written since a
// time, by inode.
func namedSince(began time.Time) map[uint64]file {
	found := make(map[uint64]file)
	for _, name := range namesIn(sharedFolder) {
		var s unix.Stat_t
		if unix.Lstat(filepath.Join(sharedFolder, name), &s) == nil && s.Mode&unix.S_IFMT == unix.S_IFREG &&
			int(s.Uid) == os.Geteuid() && !time.Unix(s.Mtim.Unix()).Before(began) {
			found[s.Ino] = file{s.Blocks * 512, name}
		}
	}
	return found
}

// namesIn returns the first names in a folder.
func namesIn(folder string) []string {
	f, err := os.Open(folder)
	if err != nil {
		return nil
	}
	defer f.Close() // it was only read
	names, _ := f.Readdirnames(mostFiles)
	return names
}

// mappedIf returns which files processes have mapped, unless what is not open is not worth
// it.
func mappedIf(named map[uint64]file, open func(uint64) bool, pids []int) map[uint64]bool {
	bytes := int64(0)
	for inode, each := range named {
		if !open(inode) {
			bytes += each.bytes
		}
	}
	if bytes < leastFiles {
		return nil
	}
	return mappedBy(pids)
}

var mapping = regexp.MustCompile(` (\d+) +` + sharedFolder + `/`)

// mappedBy returns the inodes of shared memory that processes have mapped, as far as they
// may be asked.
func mappedBy(pids []int) map[uint64]bool {
	found := make(map[uint64]bool)
	for _, pid := range pids {
		text, _ := procfs.Read(procfs.Of(pid, "maps"))
		for _, match := range mapping.FindAllSubmatch(text, -1) {
			if inode, err := strconv.ParseUint(string(match[1]), 10, 64); err == nil {
				found[inode] = true
			}
		}
	}
	return found
}

// mappedByAny returns the inodes that any process has mapped.
func mappedByAny() map[uint64]bool {
	pids, _ := procfs.Processes()
	return mappedBy(pids)
}

var numbers = regexp.MustCompile(`[[:alnum:]]+`)

// numberIn returns the first number in a name, such as 4711 in torch_4711_1804289383_0;
// 0 without one.
func numberIn(name string) int {
	for _, word := range numbers.FindAllString(name, -1) {
		if n, err := strconv.Atoi(word); err == nil {
			return n
		}
	}
	return 0
}
