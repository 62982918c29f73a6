package nccl

import (
	"encoding/binary"
	"hash/fnv"
	"os"

	"golang.org/x/sys/unix"

	"github.com/memtop/memtop/snapshots/procfs"
)

// peers are the other processes of this machine, by file descriptors that say when one
// has ended.
type peers struct {
	ranks, pids []int
	list        []unix.PollFd
}

// identity returns what tells this process from all others: its machine, as it was
// started last, with its namespace of process numbers, and the number. It is all zeros
// where the machine does not say what it is.
func identity() []byte {
	boot, _ := procfs.Read("/proc/sys/kernel/random/boot_id")
	space, err := os.Readlink("/proc/self/ns/pid")
	if len(boot) == 0 || err != nil {
		return make([]byte, identityBytes)
	}
	h := fnv.New64a()
	_, _ = h.Write(append(boot, space...))
	return binary.LittleEndian.AppendUint64(h.Sum(nil), uint64(os.Getpid()))
}

// The first bytes of an identity are those of the machine.
const (
	machineBytes  = 8
	identityBytes = machineBytes + 8
)

// open finds those that are on this machine. Of others, and where the kernel has no
// such descriptors, nothing is known but what NCCL reports.
func (p *peers) open(all []byte, own int) {
	here := string(all[own*identityBytes:][:machineBytes])
	for rank := range len(all) / identityBytes {
		is := all[rank*identityBytes:][:identityBytes]
		pid := int(binary.LittleEndian.Uint64(is[machineBytes:]))
		if rank == own || pid == 0 || string(is[:machineBytes]) != here {
			continue
		}
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			p.list = append(p.list, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
			p.ranks, p.pids = append(p.ranks, rank), append(p.pids, pid)
		}
	}
}

// ended returns the first that has ended, without waiting.
func (p *peers) ended() (rank, pid int, ended bool) {
	if n, err := unix.Poll(p.list, 0); err != nil || n == 0 {
		return 0, 0, false
	}
	for i := range p.list {
		if p.list[i].Revents != 0 {
			return p.ranks[i], p.pids[i], true
		}
	}
	return 0, 0, false
}

func (p *peers) close() {
	for _, f := range p.list {
		_ = unix.Close(int(f.Fd))
	}
}
