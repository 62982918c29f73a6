// Package job follows all ranks of a job at once: it asks each of them again and again
// how it is, and keeps a row of each for a screen. What is inside of one rank is for
// [attach.Client].
package job
