// Package ranks puts the programs of one job side by side: what each rank holds, how
// the ranks differ, and why. It knows rows of numbers and not where they come from,
// so that running programs and files of ended ones are compared in the same way.
//
// What one rank's memory is for is not its question: that is for the packages about
// one trace.
package ranks
