// Package command holds what memtop's programs share on the command line: exit
// codes, failures reported in one line, and sizes as flags. Each program decides
// what to do with them.
package command
