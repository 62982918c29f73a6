// Package export writes a trace for other programs to read: profilers' viewers,
// spreadsheets, browsers and scripts. Each format has a file of its own; format.go
// lists them.
//
// It only writes. Package pytorch has PyTorch's own format, and the command
// chooses the output file.
//
// Names in a trace come from an untrusted file. Every format makes them printable
// and quotes them by its own rules, so that no name can end a cell, a tag or a
// line.
package export
