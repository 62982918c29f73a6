package imitation

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ReportVariable is the environment variable with the folder for reports. There
// the library writes how much memory each process took and which functions it
// does not imitate, see library/report.c.
const ReportVariable = "MEMTOP_IMITATION_REPORT"

// Taken is how much memory a process took of a device, in bytes, without the CUDA
// context.
type Taken struct {
	Place     uint64 // of the device among those of the machine
	Now, Most uint64
	Refused   uint64 // the last request for which there was no room, 0 for none
	// Together is the most that all processes had of the device when this one took
	// something, with their contexts, and Sharing is how many they were.
	Together, Sharing uint64
}

// Gap is a function that the library does not imitate: it answered "not
// supported".
type Gap struct {
	Function string `json:"function"`
	Caller   string `json:"caller"` // the library that called it
	Count    uint64 `json:"count"`  // at least so often
}

// Process is what the library reports about one process.
type Process struct {
	Devices  []Taken // by device, as far as it used any
	Gaps     []Gap
	Modelled []string // answers that come from a model: a sentence each
	Waits    bool     // PyTorch's allocator frees blocks when another stream has passed them
}

// MostDevices is how many devices a process may have, as in library/imitation.h.
const MostDevices = 64

// ReadReport reads the reports so far of the processes that used an imitated GPU,
// by pid.
func ReadReport(folder string) (map[int]Process, error) {
	found := make(map[int]Process)
	file, err := os.Open(filepath.Join(folder, "memory"))
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close() // it was only read
	rows := bufio.NewReader(file)
	for first := true; ; first = false { // the first row is no process's
		var row struct {
			PID     uint64
			Devices [MostDevices]Taken
		}
		if binary.Read(rows, binary.LittleEndian, &row) != nil || row.PID == 0 && !first {
			return found, err
		}
		if !first {
			p := Process{Devices: used(row.Devices[:])}
			err = errors.Join(err, p.read(filepath.Join(folder, fmt.Sprintf("%d.notes", row.PID))))
			found[int(row.PID)] = p //nolint:gosec // the kernel's own number
		}
	}
}

// used leaves out the devices after the last one that was used.
func used(all []Taken) []Taken {
	for len(all) > 0 && all[len(all)-1].Most+all[len(all)-1].Refused == 0 {
		all = all[:len(all)-1]
	}
	return all
}

func (p *Process) read(notes string) error {
	file, err := os.Open(notes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close() // it was only read
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		p.take(strings.Split(lines.Text(), "\t"))
	}
	return lines.Err()
}

func (p *Process) take(fields []string) {
	switch {
	case len(fields) == 4 && fields[0] == "refused":
		count, _ := strconv.ParseUint(fields[3], 10, 64) // 0 with every error
		p.Gaps = slices.DeleteFunc(p.Gaps, func(g Gap) bool { return g.Function == fields[1] })
		p.Gaps = append(p.Gaps, Gap{fields[1], fields[2], count})
	case fields[0] == "waits":
		p.Waits = true
	case len(fields) == 3 && fields[0] == "modelled":
		p.Modelled = append(p.Modelled, fields[1]+": "+fields[2])
	}
}
