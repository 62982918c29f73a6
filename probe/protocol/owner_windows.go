package protocol

import "io/fs"

// CheckOwner accepts any folder: file modes say nothing here, and the
// temporary folder is the user's own already.
func CheckOwner(string, fs.FileInfo, int) error { return nil }
