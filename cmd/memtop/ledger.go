package main

import (
	"io"
	"path/filepath"

	"github.com/memtop/memtop/cmd/output"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/analysis/proposals"
	"github.com/memtop/memtop/snapshots/trace"
)

// ledgerPath returns the path of the ledger, "" if the home folder is not known.
func ledgerPath() string {
	if dead := protocol.DeadFolder(); dead != "" {
		return filepath.Join(filepath.Dir(dead), "ledger.json")
	}
	return ""
}

// past stores the measured effects of a process's changes. It returns these and
// earlier measurements of similar programs. Safe for concurrent use.
func (s *screen) past(t *trace.Trace, device int) proposals.Ledger {
	all, err := store(ledgerPath(), proposals.Measured(t, device))
	if err != nil {
		s.warn(err)
	}
	return all.About(proposals.KindOf(t, device))
}

// warn prints a problem that does not end the command. While a screen is shown,
// it writes to the log instead.
func (s *screen) warn(err error) {
	s.log.Info("ledger", "error", err)
	if s.display.Load() == nil {
		s.note("past predictions: " + err.Error())
	}
}

// store adds entries to the ledger at a path and returns all of it.
func store(path string, more proposals.Ledger) (proposals.Ledger, error) {
	f := proposals.LedgerFile{Path: path, Exclusive: output.Exclusive, Replace: func(path string, write func(io.Writer) error) error {
		return output.File{Path: path, Overwrite: true}.Write(write)
	}}
	return f.Add(more)
}
