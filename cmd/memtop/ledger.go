package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/memtop/memtop/cmd/output"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/analysis/proposals"
	"github.com/memtop/memtop/snapshots/trace"
)

// # The ledger
//
// What became of predictions is kept for each user, beside what programs leave that ran
// out of memory, so that the error of the next ones is known before a run has made any.
// Several memtops add to it one after another, and each change is counted once, however
// many watched it.

// ledgerSchema names the version of the file.
const ledgerSchema = "memtop.ledger/1"

type ledgerFile struct {
	Schema  string           `json:"schema"`
	Entries proposals.Ledger `json:"entries"`
}

// ledgerPath is where the ledger is, "" where the home folder is not known.
func ledgerPath() string {
	if dead := protocol.DeadFolder(); dead != "" {
		return filepath.Join(filepath.Dir(dead), "ledger.json")
	}
	return ""
}

// past stores what was measured of a process's changes, and returns that and what was
// measured before of programs like it. Safe for concurrent use.
func (s *screen) past(t *trace.Trace, device int) proposals.Ledger {
	measured := proposals.Measured(t, device)
	all, err := store(ledgerPath(), measured)
	if err != nil {
		s.warn(err)
	}
	return all.About(proposals.KindOf(t, device))
}

// warn prints what is wrong and does not end the command, or has the log take it while
// a screen is shown.
func (s *screen) warn(err error) {
	s.log.Info("ledger", "error", err)
	if s.display.Load() == nil {
		fmt.Fprintln(s.stderr, "memtop: past predictions: "+err.Error())
	}
}

// store adds entries to the ledger's file and returns all of it. After an error these
// are what was given, and what was there is still there.
func store(path string, more proposals.Ledger) (proposals.Ledger, error) {
	known, err := readLedger(path)
	all, added := known.With(more)
	if path == "" || err == nil && !added {
		return all, nil
	}
	var unlike damagedLedger
	if err != nil && !errors.As(err, &unlike) {
		return more, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return more, err
	}
	err = output.Exclusive(path, func() error {
		known, damaged := readLedger(path) // others may have added to it meanwhile
		if damaged != nil && !errors.As(damaged, &unlike) {
			return damaged
		}
		if damaged != nil {
			if err := os.Rename(path, path+".damaged"); err != nil {
				return err
			}
		}
		all, _ = known.With(more)
		if len(all) == 0 {
			return damaged
		}
		return errors.Join(damaged, writeLedger(path, all))
	})
	return all, err
}

// damagedLedger is a file that is no ledger.
type damagedLedger struct{ path, cause string }

func (e damagedLedger) Error() string {
	return fmt.Sprintf("%s is damaged (%s): it is kept as %s.damaged, and a new one begins", e.path, e.cause, filepath.Base(e.path))
}

// mostLedgerBytes bounds what is read: as many entries as are kept take less.
const mostLedgerBytes = 4 << 20

func readLedger(path string) (proposals.Ledger, error) {
	f, err := os.Open(path)
	if path == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read from
	text, err := io.ReadAll(io.LimitReader(f, mostLedgerBytes))
	if err != nil {
		return nil, err
	}
	var l ledgerFile
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, damagedLedger{path, err.Error()}
	}
	if l.Schema != ledgerSchema {
		return nil, damagedLedger{path, fmt.Sprintf("it is %.40q, not %s", l.Schema, ledgerSchema)}
	}
	return l.Entries, nil
}

func writeLedger(path string, l proposals.Ledger) error {
	return output.File{Path: path, Overwrite: true}.Write(func(w io.Writer) error {
		return json.NewEncoder(w).Encode(ledgerFile{ledgerSchema, l})
	})
}
