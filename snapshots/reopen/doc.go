// Package reopen opens a large snapshot again without decoding it: the first time,
// what decoding and indexing found is stored in a folder of the user's, as arrays that
// are used where they lie; the next time these are mapped and checked.
//
// It knows what a trace and an index are and nothing of the formats that they come
// from: package snapshots decodes. An entry is never believed to be about a file
// because of the file's name or time; see "Which entry is about which file" in
// identity.go. Entries that do not fit, are damaged or belong to somebody else are as
// good as none. Nothing here is an error of opening a file.
package reopen
