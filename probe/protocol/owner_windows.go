package protocol

import "io/fs"

// checkOwner accepts any folder: file modes say nothing here, and the
// temporary folder is the user's own already.
func checkOwner(string, fs.FileInfo, int) error { return nil }
