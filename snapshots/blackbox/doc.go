// Package blackbox is the layout of a black box: a file of fixed size in which a
// program keeps its last events, so that a user can read them after the program
// was killed.
//
// The program has the file in its memory. [Ring.Record] stores an event there and
// [Writer] what the events refer to; both write into a slice of bytes and know no
// file. Stored data is in the file at once, and stays there however the program
// ends, because the kernel has it. [Read] makes a trace of a file.
//
// A box is a page of header, two slots and a ring of events for each device; see
// layout.go, and docs/blackbox.md of the project for every byte. A slot is a
// stream as package wire has it: the state of memory at one moment, all names,
// the last steps. The final state is that state plus the later events of the
// ring. The earlier events led to that state.
//
// This package does not make, map or remove files: packages probe and protocol
// do. Only [Held] asks the system, whether a program still has a file.
package blackbox
