// Package job follows all ranks of a job at once. It regularly asks each rank for
// its state, and keeps a row of each for a screen. For the inside of one rank see
// [attach.Client].
package job
