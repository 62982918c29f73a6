package blackbox

import "os"

// Held reports false: programs write boxes on Linux only, and one that was copied here
// is no program's.
func Held(*os.File) bool { return false }
