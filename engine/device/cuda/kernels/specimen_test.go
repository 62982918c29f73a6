package kernels_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unsafe"

	"github.com/memtop/memtop/cmd/testing/ptx"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

// specimen is a launch that was kept with its memory, so that it can be repeated with a
// kernel that is spoilt.
type specimen struct {
	launch   ptx.Launch
	memory   []remains
	executed []bool // by place in the program
	cost     uint64 // instructions of warps
	branched int    // times that warps went back in a loop
	longest  bool   // it is there only for its length
}

// remains is an array of a launch: memory of its own, and what it held before and after.
type remains struct{ original, bytes, before, after []byte }

// specimens are by kernel: of what tests have launched those that execute what no other
// does, some that take other ways through it, the longest one and short ones.
var specimens [kernels.Count][]*specimen

// What a specimen may cost and hold, so that it can be repeated many times.
const (
	mostCost  = 1_000_000
	mostKept  = 24
	mostBytes = 1 << 20
)

// keep runs a launch, and keeps it if it executes what no specimen does, and gives results
// that it would give again.
func (c *compiled) keep(p *ptx.Program, k kernels.Kernel, l ptx.Launch) error {
	s := &specimen{launch: l, executed: make([]bool, p.Len())}
	if !thorough || c.Freedom != ptx.Nearest || !s.hold(&c.Memory) {
		return c.Run(p, l)
	}
	before := times(p)
	if err := c.Run(p, l); err != nil {
		return err
	}
	s.branched = c.Branched
	fresh := false
	for i, n := range times(p) {
		if n -= before[i]; n > 0 {
			s.executed[i] = true
			s.cost += uint64(n)
			fresh = fresh || !slices.ContainsFunc(specimens[k], func(s *specimen) bool { return s.executed[i] })
		}
	}
	another := len(specimens[k]) < mostKept && !slices.ContainsFunc(specimens[k], func(other *specimen) bool { return slices.Equal(other.executed, s.executed) })
	longest := !slices.ContainsFunc(specimens[k], func(other *specimen) bool { return other.cost >= s.cost })
	shortest := !slices.ContainsFunc(specimens[k], func(other *specimen) bool { return other.cost <= s.cost })
	if !fresh && !another && !longest && !shortest || s.cost > mostCost {
		return nil
	}
	for i := range s.memory {
		s.memory[i].after = bytes.Clone(s.memory[i].original[:len(s.memory[i].bytes)])
		s.memory[i].original = nil
	}
	if same, err := s.repeat(p); !same || err != nil { // it needs more memory than is held
		return nil
	}
	if longest && !fresh && !another {
		specimens[k] = slices.DeleteFunc(specimens[k], func(s *specimen) bool { return s.longest })
		s.longest = true
	}
	specimens[k] = append(specimens[k], s)
	return nil
}

func times(p *ptx.Program) []uint32 {
	all := make([]uint32, p.Len())
	for i := range all {
		_, all[i], _ = p.At(i)
	}
	return all
}

// hold copies the arrays whose addresses are in the launch's arguments, and has the
// arguments name the copies. Of the scratch it holds the beginning.
func (s *specimen) hold(m *ptx.Memory) bool {
	s.launch.Args = slices.Clone(s.launch.Args)
	for i := 0; i+8 <= len(s.launch.Args); i += 8 {
		word := s.launch.Args[i : i+8]
		address := binary.LittleEndian.Uint64(word)
		area := m.Area(address)
		if area == nil {
			continue
		}
		if len(area) > mostBytes && len(area) != kernels.ScratchBytes {
			return false
		}
		r := s.remainsOf(area)
		binary.LittleEndian.PutUint64(word, address-addressOf(area)+addressOf(r.bytes))
	}
	return true
}

// remainsOf returns the copy of an array, which lies as that does.
func (s *specimen) remainsOf(area []byte) *remains {
	for i := range s.memory {
		if addressOf(s.memory[i].original) == addressOf(area) {
			return &s.memory[i]
		}
	}
	n := min(len(area), mostBytes)
	room := make([]byte, n+2*unit)
	skip := int((addressOf(area) - addressOf(room)) % unit)
	s.memory = append(s.memory, remains{original: area, bytes: room[skip : skip+n : skip+n], before: bytes.Clone(area[:n])})
	return &s.memory[len(s.memory)-1]
}

// unit is what the places of arrays are multiples of.
const unit = 512

func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// repeat runs the launch again. It reports whether memory is as it was left before.
func (s *specimen) repeat(p *ptx.Program) (same bool, err error) {
	m := &ptx.Machine{Most: 2*s.branched + 1000}
	for _, r := range s.memory {
		copy(r.bytes, r.before)
		m.Memory.Add(r.bytes, false)
	}
	if err := m.Run(p, s.launch); err != nil {
		return false, err
	}
	for _, r := range s.memory {
		if !bytes.Equal(r.bytes, r.after) {
			return false, nil
		}
	}
	return true, nil
}
