// Package growing says how memory grows with a number that a program is given, such as
// its batch: a law for it, and the search for the largest number with which the program
// still fits. It runs no program: it is told what runs took, and says which to make next.
package growing
