// Package blackbox is the layout of a black box: a file of fixed size in which a
// program keeps what it did last, so that it can be looked at when the program was
// killed.
//
// The program has the file in its memory. [Ring.Record] stores an event there and
// [Writer] what the events refer to; both write into a slice of bytes and know no
// file. What was stored is in the file at once and stays there however the program
// ends: the kernel has it. [Read] makes a trace of a file.
//
// A box is a page of header, two slots and a ring of events for each device; see
// layout.go, and docs/blackbox.md of the project for every byte. A slot is a stream as
// package wire has it: the state of memory at one moment, all names, the last steps.
// The state at the end is that state and the events of the ring that came after it;
// the events before it are what led there.
//
// How a file is made, mapped and removed is no business of this package: see
// packages probe and protocol. [Held] alone asks the system whether a program
// still has a file.
package blackbox
