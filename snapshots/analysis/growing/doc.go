// Package growing describes how memory grows with a number that the user gives a
// program, such as the batch size. It finds a law for the growth, and searches
// for the largest number with which the program still fits. It runs no program:
// the caller reports the memory of each run, and the package proposes the next
// run.
package growing
