// Package mutate makes damaged and hostile files for tests: consistent
// snapshots, plots and recordings, small and of every layout, in which some
// things have been changed. Some changes keep the structure of the file and make
// its contents absurd; others hit opcodes, frames and bytes. Everything follows
// from a seed and a number, so a file that did harm can be made again.
package mutate

import (
	"bytes"
	"math/rand/v2"
)

// Mutant is a changed file and what it was made of.
type Mutant struct {
	Original, Bytes []byte
	// Name is the file's name; its extension says what it was before.
	Name string
	// Changes are the names of what was done, in order.
	Changes []string
}

// document is the content of a file as a structure.
type document interface {
	// change does something at random and names it, or returns "" where there
	// is nothing to do it to.
	change(r *rand.Rand) string
	encode() []byte
}

// form is a kind of file.
type form struct {
	name   string
	weight int
	make   func(r *rand.Rand) document
	// damage changes the encoded file beyond its structure.
	damage func(r *rand.Rand, file []byte) ([]byte, string)
}

var forms = []form{
	{"pickle", 16, newPickle, damagePickle},
	{"json", 2, newJSON, damageBytes},
	{"html", 2, newPlot, damageBytes},
	{"mtr", 5, newRecording, damageBytes},
}

// New returns the mutant of that number.
func New(seed, number uint64) Mutant {
	r := rand.New(rand.NewPCG(seed, number))
	f := chooseForm(r)
	pack, packed := chooseContainer(r)
	d := f.make(r)
	original := d.encode()
	m := Mutant{Original: pack(original), Name: f.name + packed}
	for tries := 0; len(m.Changes) == 0 || bytes.Equal(m.Bytes, m.Original); tries++ {
		m.mutate(r, d, f, pack)
	}
	return m
}

// mutate does one of four things: it changes the structure, the encoded file,
// both, or the container around it.
func (m *Mutant) mutate(r *rand.Rand, d document, f form, pack func([]byte) []byte) {
	how := r.IntN(20)
	if how < 15 {
		for range 1 + r.IntN(3) {
			m.note(d.change(r))
		}
	}
	file := d.encode()
	if how >= 14 && how < 19 {
		for range 1 + r.IntN(2) {
			var name string
			file, name = f.damage(r, file)
			m.note(name)
		}
	}
	m.Bytes = pack(file)
	if how == 19 {
		var name string
		m.Bytes, name = damageBytes(r, m.Bytes)
		m.note("outer " + name)
	}
}

func (m *Mutant) note(change string) {
	if change != "" {
		m.Changes = append(m.Changes, change)
	}
}

func chooseForm(r *rand.Rand) form {
	total := 0
	for _, f := range forms {
		total += f.weight
	}
	at := r.IntN(total)
	for _, f := range forms {
		if at -= f.weight; at < 0 {
			return f
		}
	}
	panic("mutate: weights do not add up")
}

// choose returns one of them.
func choose[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }
