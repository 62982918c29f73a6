package proposals

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// # The file of the ledger
//
// memtop keeps the errors of predictions for each user, in the folder in which
// programs that ran out of memory leave their files. So the error of predictions
// is known before a run has made any. Several memtops add to the file one after
// another. It counts each change once, however many memtops watched it.

// ledgerSchema names the version of the file. The errors of version 1 were parts of
// the levels before the changes, which it did not keep.
const ledgerSchema = "memtop.ledger/2"

type ledgerFile struct {
	Schema  string `json:"schema"`
	Entries Ledger `json:"entries"`
}

// LedgerFile is the file that keeps a user's ledger.
type LedgerFile struct {
	Path string // "" for nowhere
	// Exclusive calls a function while no other program does so for the path.
	Exclusive func(path string, change func() error) error
	// Replace has a file be written whole in the place of another, or not at all.
	Replace func(path string, write func(io.Writer) error) error
}

// Add adds entries to the file and returns all of its entries. After an error it
// returns only the given entries, and the file is unchanged.
func (f *LedgerFile) Add(more Ledger) (Ledger, error) {
	path := f.Path
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
	err = f.Exclusive(path, func() error {
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
		return errors.Join(damaged, f.Replace(path, all.write))
	})
	return all, err
}

// damagedLedger is a file that is no ledger, or one of another version.
type damagedLedger struct{ path, cause string }

func (e damagedLedger) Error() string {
	return fmt.Sprintf("%s is no ledger that this memtop reads (%s): it is kept as %s.damaged, and a new one begins", e.path, e.cause, filepath.Base(e.path))
}

// mostLedgerBytes bounds what is read: as many entries as are kept take less.
const mostLedgerBytes = 4 << 20

func readLedger(path string) (Ledger, error) {
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

func (l Ledger) write(w io.Writer) error {
	return json.NewEncoder(w).Encode(ledgerFile{ledgerSchema, l})
}
