// Package ranks compares the programs of one job: how much memory each rank
// holds, how the ranks differ, and why. It works on rows of numbers and does not
// know their source, so it compares running programs and the files of ended
// programs in the same way.
//
// It does not say what the memory of one rank is for: the packages about one
// trace do.
package ranks
