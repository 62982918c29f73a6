// Package trace is the vocabulary of memtop: what a memory trace is.
//
// A trace is a base state followed by events. A state is a set of segments, each
// cut into blocks; an event changes it. A saved file gives the state at its end,
// and [Rewind] undoes the events to find the base. A live source gives the base
// at the moment when memtop attaches. After that, a saved file and a live source
// are alike.
//
// Stacks, strings, frames and notes are interned in [Tables] and referred to
// by number, so an event is one flat 40-byte struct and a million of them fit
// in 40 MB. Number 0 means "absent" in every table.
//
// The package knows no file format, no wire format, no terminal and no
// device. It imports the standard library only.
package trace
