// Package proposals finds the settings of a running program that would reduce its
// memory, and by how much. It makes no prediction of its own: the program
// rehearses the settings that the package asks about. The package chooses the
// questions and sorts the answers.
//
// Package savings does the same for the file of a program that cannot be asked.
package proposals
