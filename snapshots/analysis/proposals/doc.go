// Package proposals says which settings of a running program would make its memory
// less, by how much, and at what cost in time. It makes no prediction of its own: the
// program rehearses what it is asked. The package chooses the questions, puts the
// answers into an order, and searches for several settings that fit together.
// How far such predictions were off so far it takes from what was measured after
// past ones.
//
// What could be less in the file of a program that cannot be asked is package
// savings' business.
package proposals
