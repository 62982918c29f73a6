// Package savings says what of the memory that a device holds at one moment could
// be less, by what means, and by how much.
//
// It looks at a [Scene]: what is alive, of which category, from which stacks. Each
// [Kind] knows one thing that programs do and when a saving by it would be none: what
// is on already is not recommended. Where bytes lie and what went wrong, such as
// leaks and requests that failed, is not its business.
package savings
