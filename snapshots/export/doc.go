// Package export writes a trace for other programs to read: profilers' viewers,
// spreadsheets, browsers and scripts. Each format has a file of its own; format.go
// lists them.
//
// It only writes. PyTorch's own format is package pytorch's, and choosing a file
// to write to is the command's.
//
// Names in a trace come from a file that is not trusted. Every format makes
// them printable and quotes them by its own rules, so that none can end a cell, a
// tag or a line.
package export
