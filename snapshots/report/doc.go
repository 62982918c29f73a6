// Package report says what a trace shows, as text for people and as JSON for
// programs: the report of a file, the state of a running program, a gate that
// holds a trace to limits, the difference of two traces, and what came of changed
// settings.
//
// It asks [analysis] and judges nothing itself. Text is plain, in lines of a
// given width; JSON has a stable schema, in bytes. It opens no file and no
// socket.
package report
