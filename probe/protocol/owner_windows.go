package protocol

import "io/fs"

// stranger finds none: this system's owners are not checked, and the temporary
// folder already belongs to the user.
func stranger(fs.FileInfo, int) string { return "" }

// unlocked finds nothing: file modes have no meaning here.
func unlocked(fs.FileInfo) string { return "" }

func takes(info fs.FileInfo) int64 { return info.Size() }
