// Package advice says what of the memory that a device holds at one moment could
// be less, by what means, and by how much.
//
// It looks at a [Scene]: what is alive, of which category, from which stacks. Each
// [Kind] knows one thing that programs do and when its advice would be wrong: what
// is on already is not recommended. Where bytes lie and what went wrong, such as
// leaks and requests that failed, is not its business.
package advice
