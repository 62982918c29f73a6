package main

import (
	"fmt"
	"io"
	"time"
)

// writeChangelog writes the changelog that Debian requires of a package's
// release, compressed. The changes themselves are in the history of the project.
func writeChangelog(w io.Writer, version, maintainer string, created time.Time) error {
	text, err := compressed(fmt.Appendf(nil, "memtop (%s) unstable; urgency=medium\n\n  * The changes are listed with the release at https://github.com/memtop/memtop\n\n -- %s  %s\n",
		version, maintainer, created.Format("Mon, 02 Jan 2006 15:04:05 -0700")))
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}
