package nccl

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/ebitengine/purego"

	"github.com/memtop/memtop/engine/device/cuda"
)

// names are the names of the library.
var names = []string{"libnccl.so.2"}

// shared is a library of the system.
type shared struct {
	functions   []uintptr
	initRank    func(comm uintptr, size int32, id UniqueID, rank int32) Result
	errorString func(r Result) string
	lastError   func(comm uintptr) string
}

func (s *shared) Call(f Symbol, args ...uintptr) Result {
	r, _, _ := purego.SyscallN(s.functions[f], args...)
	return Result(int32(r))
}

func (s *shared) InitRank(comm uintptr, size int32, id UniqueID, rank int32) Result {
	return s.initRank(comm, size, id, rank)
}

func (s *shared) ErrorString(r Result) string { return s.errorString(r) }

func (s *shared) LastError() string { return s.lastError(0) }

// load loads the first library of this machine that has all functions.
func load() (Library, error) {
	return first(cuda.Libraries(names, append(symbolNames[:], initRankName, errorStringName, lastErrorName)))
}

// first binds the first library that has all functions.
func first(found iter.Seq[cuda.Found]) (Library, error) {
	var refused []string
	for f := range found {
		if f.Err == nil {
			return bind(f.Functions), nil
		}
		refused = append(refused, fmt.Sprintf("%s: %v", f.Path, f.Err))
	}
	if refused == nil {
		return nil, unavailable(fmt.Errorf("%s is nowhere", names[0]))
	}
	return nil, unavailable(errors.New(strings.ReplaceAll(strings.Join(refused, "; "), "\n", ": ")))
}

func bind(functions []uintptr) Library {
	s := &shared{functions: functions[:symbolCount]}
	purego.RegisterFunc(&s.initRank, functions[symbolCount])
	purego.RegisterFunc(&s.errorString, functions[symbolCount+1])
	purego.RegisterFunc(&s.lastError, functions[symbolCount+2])
	return s
}
