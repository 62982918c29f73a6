// Package report writes reports on traces, as text for people and as JSON for
// programs: the report of a file, the state of a running program, a gate that
// checks a trace against limits, the difference of two traces, and the results of
// changed settings.
//
// It takes all judgements from [analysis]. Text is plain, in lines of a given
// width; JSON has a stable schema, in bytes. It opens no file and no socket.
package report
