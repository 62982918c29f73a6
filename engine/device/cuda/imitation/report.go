package imitation

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
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
	Now, Most uint64
	Refused   uint64 // the last request for which there was no room, 0 for none
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
}

// MostDevices is how many devices a process may have, as in library/imitation.h.
const MostDevices = 64

// ReadReport reads the reports so far of the processes that used an imitated GPU,
// by pid. A process without files has not used one.
func ReadReport(folder string) (map[int]Process, error) {
	found := make(map[int]Process)
	paths, err := filepath.Glob(filepath.Join(folder, "*.memory"))
	for _, path := range paths {
		pid, is := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".memory"))
		if is != nil {
			continue
		}
		p, failed := readProcess(folder, pid)
		err = errors.Join(err, failed)
		found[pid] = p
	}
	return found, err
}

func readProcess(folder string, pid int) (p Process, err error) {
	at := filepath.Join(folder, strconv.Itoa(pid))
	if p.Devices, err = readTaken(at + ".memory"); err != nil {
		return p, err
	}
	file, err := os.Open(at + ".notes")
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	defer file.Close() // it was only read
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		p.take(strings.Split(lines.Text(), "\t"))
	}
	return p, lines.Err()
}

// readTaken leaves out the devices after the last one that was used.
func readTaken(path string) ([]Taken, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() // it was only read
	var all [MostDevices]Taken
	err = binary.Read(file, binary.LittleEndian, &all)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil // it was just made
	}
	used := len(all)
	for used > 0 && all[used-1] == (Taken{}) {
		used--
	}
	return all[:used], err
}

func (p *Process) take(fields []string) {
	switch {
	case len(fields) == 4 && fields[0] == "refused":
		count, _ := strconv.ParseUint(fields[3], 10, 64) // 0 with every error
		p.Gaps = slices.DeleteFunc(p.Gaps, func(g Gap) bool { return g.Function == fields[1] })
		p.Gaps = append(p.Gaps, Gap{fields[1], fields[2], count})
	case len(fields) == 3 && fields[0] == "modelled":
		p.Modelled = append(p.Modelled, fields[1]+": "+fields[2])
	}
}
