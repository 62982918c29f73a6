package host

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/analysis/ledger"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// # Rows that add up
//
// The kernel says how much is charged, and divides it into anonymous memory, shared
// memory, files and its own. The program's allocators say what they handed out,
// which may be more than is resident. So each kind is divided in an order: the next
// row takes what it says, and at most what is left, and the last takes the rest: "other
// processes" if the control group has any. What remains of the whole in the end is the
// row "unexplained".

// Kind says what a row is about.
type Kind uint8

// The kinds, in the order of the rows.
const (
	Tensors Kind = iota
	Pinned
	Python
	Native
	Freed
	Mapped
	Workers
	Batches
	Shared
	Left
	Box
	Files
	Kernel
	Others
	Unexplained
	kinds
)

// lastAnonymous is the last kind of the program's own anonymous memory.
const lastAnonymous = Mapped

var names = [kinds]string{
	"tensors", "pinned", "python", "native", "freed, kept by malloc", "other anonymous",
	"workers", "prefetched batches", "shared memory", "left in /dev/shm", "memtop's black box", "files, cached", "kernel", "other processes", "unexplained",
}

// String returns the row's name, which is also its name in JSON.
func (k Kind) String() string { return names[k] }

// Own reports whether only the program's end gives such memory back: the kernel drops
// files and what it knows of them before it ends a process, and what others have is
// theirs.
func (k Kind) Own() bool { return k != Files && k != Kernel && k != Others }

// Row is a part of a ledger.
type Row = ledger.Row[Kind]

// Ledger is what a program and its workers have of the machine's memory.
type Ledger struct {
	Whose  string // "its control group" or "the program and its workers"
	Bytes  int64  // as the kernel counts them
	Shared int64  // of them, in shared memory
	Rows   []Row  // they sum to Bytes; those of nothing are left out
}

// Of returns the ledger of a moment.
func Of(h *trace.Host) Ledger {
	s := sums(h)
	l := Ledger{s.whose, s.all, s.shared, nil}
	var bytes [kinds]int64
	bytes[Unexplained] = s.all
	take := func(k Kind, from *int64, size int64) {
		taken := ledger.Take(from, size)
		bytes[k] += taken
		bytes[Unexplained] -= taken
	}
	own := min(h.Anonymous, s.anonymous)
	beside := s.anonymous - own
	// Pinned memory is shared memory on most systems, else anonymous.
	take(Box, &s.shared, h.Box)
	take(Left, &s.shared, h.Left)
	take(Batches, &s.shared, h.Batches)
	take(Pinned, &s.shared, min(h.Pinned, h.Shared))
	pinned := h.Pinned - bytes[Pinned]
	shared := s.shared
	if h.GroupOthers > 0 {
		shared = shares(h) - bytes[Pinned]
	}
	take(Shared, &s.shared, shared)
	take(Others, &s.shared, s.shared)

	take(Pinned, &own, pinned)
	take(Python, &own, h.Python)
	take(Tensors, &own, tensors(h))
	take(Native, &own, h.Malloc-bytes[Tensors])
	if h.Malloc > 0 {
		take(Freed, &own, h.MallocFree)
		take(Mapped, &own, own)
	}
	take(Native, &own, own) // nobody says what it is

	workers := beside
	switch {
	case h.Workers == 0:
		workers = 0
	case h.GroupOthers > 0 || h.Group == 0:
		workers = h.WorkersAnonymous
	}
	take(Workers, &beside, workers)
	if h.GroupOthers > 0 {
		take(Others, &beside, beside)
	}
	take(Files, &s.files, s.files)
	take(Kernel, &s.kernel, s.kernel)
	for k := range kinds {
		if bytes[k] != 0 {
			l.Rows = append(l.Rows, Row{Kind: k, Name: k.String(), Bytes: bytes[k], Detail: detail(h, k)})
		}
	}
	return l
}

// Most returns the largest row.
func (l *Ledger) Most() Row {
	most := Row{}
	for _, r := range l.Rows {
		if r.Bytes > most.Bytes {
			most = r
		}
	}
	return most
}

// tensors returns the bytes of tensors that may be anonymous memory: neither pinned nor
// in memory that is shared with workers.
func tensors(h *trace.Host) int64 {
	plain := max(0, h.Tensors-h.PinnedUsed-h.Taken)
	if h.Malloc > 0 {
		return min(plain, h.Malloc)
	}
	return plain
}

// total is what there is to divide.
type total struct {
	whose                                 string
	all, anonymous, shared, files, kernel int64
}

// sums returns what the control group is charged, else what the program and its
// workers have.
func sums(h *trace.Host) total {
	if h.Group > 0 {
		return total{"its control group", h.Group, h.GroupAnonymous, h.GroupShared, h.GroupFiles, h.GroupKernel}
	}
	t := total{
		whose: "the program and its workers", anonymous: h.Anonymous + h.WorkersAnonymous,
		shared: shares(h) + h.Box + h.Left, files: h.Files + h.WorkersFiles,
	}
	t.all = t.anonymous + t.shared + t.files
	return t
}

// shares returns the shared memory that the program and its workers have. Pages of a
// batch that it has taken and not read yet are not resident, as the kernel counts, nor
// are those of a file that it has open or mapped and does not touch.
func shares(h *trace.Host) int64 {
	return max(max(h.Shared, h.Taken)+h.WorkersShared, h.SharedFiles)
}

// PlaceText names what keeps tensors, and what they are, as "cache[…], train.py:9 (input)".
func PlaceText(p trace.Place) string {
	if p.Name == "" {
		return trace.Printable(p.Category)
	}
	return trace.Printable(p.Name + " (" + p.Category + ")")
}

func detail(h *trace.Host, k Kind) string {
	switch {
	case k == Workers && h.Worker > 0:
		return fmt.Sprintf("%s, process %d has most", quantity.Plural(h.Workers, "worker"), h.Worker)
	case k == Tensors && len(h.Places) > 0 && h.PinnedUsed+h.Taken == 0:
		return "most " + PlaceText(h.Places[0])
	case k == Shared && h.SharedName != "":
		return "most /dev/shm/" + trace.Printable(h.SharedName)
	case k == Left:
		return fmt.Sprintf("%s that no process has mapped, such as %s", quantity.Plural(h.LeftFiles, "file"), trace.Printable(h.LeftName))
	case k == Native && h.Malloc == 0:
		return "malloc does not say what it holds"
	}
	return ""
}
