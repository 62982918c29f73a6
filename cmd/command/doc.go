// Package command holds what memtop's programs share on the command line: exit
// codes, failures reported in one line, and sizes as flags. What a program does
// with them is its own.
package command
