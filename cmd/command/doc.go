// Package command is what memtop's programs have in common on the command line:
// exit codes, failures reported in one line, sizes as flags. What a program does
// with them is its own.
package command
