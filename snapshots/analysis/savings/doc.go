// Package savings finds memory that a program could save: which part of the
// memory that a device holds at one moment could be smaller, by what means, and
// by how much.
//
// It looks at a [Scene]: the live memory with its categories and stacks. Each
// [Kind] knows one habit of programs that costs memory, and the cases in which
// changing it saves nothing; it does not recommend a setting that is already on.
// The package does not look at addresses, or at faults such as leaks and failed
// requests.
package savings
