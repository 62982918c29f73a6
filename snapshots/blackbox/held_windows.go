package blackbox

import "os"

// Held reports false: programs write boxes only on Linux, and a copied box
// belongs to no program.
func Held(*os.File) bool { return false }
