package protocol

import "io/fs"

// stranger finds none: owners are not looked at here, and the temporary folder is the
// user's own already.
func stranger(fs.FileInfo, int) string { return "" }

// unlocked finds nothing: file modes say nothing here.
func unlocked(fs.FileInfo) string { return "" }

func takes(info fs.FileInfo) int64 { return info.Size() }
