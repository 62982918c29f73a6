package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/snapshots/mutate"
)

// sample is a mutated file on disk, and what it was made of beside it.
type sample struct {
	*trial
	number         uint64
	folder         string
	name           string // with the extensions
	changes        []string
	path, original string
	exported       string // a pickle that the program made of the mutant
}

// makeSample writes a mutant and its original to a new folder, and prints their
// name and the changes.
func makeSample(seed, number uint64, folder string) error {
	m := mutate.New(seed, number)
	return errors.Join(
		os.Mkdir(folder, 0o700),
		os.WriteFile(filepath.Join(folder, "mutant."+m.Name), m.Bytes, 0o600),
		os.WriteFile(filepath.Join(folder, "original."+m.Name), m.Original, 0o600),
		json.NewEncoder(os.Stdout).Encode(append([]string{m.Name}, m.Changes...)),
	)
}

// obtain has the files made by a process of its own. This one stays small: what a
// process has resident when it starts another one counts as that one's.
func (s *sample) obtain() error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	out, err := exec.Command(own, "-seed", fmt.Sprint(s.seed), "-from", fmt.Sprint(s.number), "-make", s.folder).Output()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, &s.changes); err != nil {
		return err
	}
	s.name, s.changes = s.changes[0], s.changes[1:]
	s.path, s.original = filepath.Join(s.folder, "mutant."+s.name), filepath.Join(s.folder, "original."+s.name)
	s.exported = filepath.Join(s.folder, "exported.pickle")
	return nil
}

// invocation is one way to run the program.
type invocation struct {
	name   string
	args   []string
	codes  []int  // that it may leave with
	binary bool   // what it writes is no text
	output string // where that is kept, "" for nowhere
	// notices says that beside a failure it may say what the output lacks.
	notices bool
	screen  bool // in a pseudo-terminal
}

// fileCodes are the exit codes for a file that can be read, whatever it is.
var fileCodes = []int{command.ExitOK, command.ExitVersion, command.ExitCorrupt}

// gateCodes are those of check: a limit is exceeded, or the file has too few
// steps to be measured by it.
var gateCodes = append(slices.Clone(fileCodes), command.ExitThreshold, command.ExitUsage)

// binaryFormats of export are no text.
var binaryFormats = []string{"pickle", "pprof"}

// commands returns all ways to run the program without a screen.
func (s *sample) commands() []invocation {
	all := []invocation{
		{name: "report", args: s.bounded("report", s.path), codes: fileCodes},
		{name: "report --json", args: s.bounded("report", "--json", s.path), codes: fileCodes},
		{name: "check", args: s.bounded("check", s.path, "--max-peak", "1MiB"), codes: gateCodes},
		{name: "check --json", args: s.bounded("check", "--json", s.path, "--max-growth", "1KiB/step"), codes: gateCodes},
		{name: "replay --json", args: s.bounded("replay", "--json", s.path), codes: append(slices.Clone(fileCodes), command.ExitUsage)},
		{name: "diff", args: s.bounded("diff", s.original, s.path), codes: fileCodes},
		{name: "diff --json", args: s.bounded("diff", "--json", s.path, s.original), codes: fileCodes},
	}
	for _, format := range s.formats {
		i := invocation{
			name: "export --to " + format, args: s.bounded("export", s.path, "--to", format, "-o", "-"), codes: fileCodes,
			binary: slices.Contains(binaryFormats, format), notices: true,
		}
		if format == "pickle" {
			i.output = s.exported
		}
		all = append(all, i)
	}
	return all
}

// again returns the way to read what was exported. It must be a file without
// fault, whatever it was made of.
func (s *sample) again() invocation {
	return invocation{name: "report of the export", args: []string{"report", s.exported}, codes: []int{command.ExitOK}}
}

// screen returns the way to look at the file. The log has what a panic says.
func (s *sample) screen() invocation {
	return invocation{name: "open", args: s.bounded("open", s.path, "--log", filepath.Join(s.folder, "log")), codes: fileCodes, screen: true}
}

// bound is the bound on memory that most files are opened with, in bytes. Every
// eighth is opened with the default.
const (
	bound     = 64 << 20
	maxMemory = "--max-memory"
)

func (s *sample) bounded(args ...string) []string {
	if s.number%8 == 0 {
		return args
	}
	return append(args, maxMemory, fmt.Sprint(bound))
}
