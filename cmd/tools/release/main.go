// Release makes the parts of a release that goreleaser cannot make, or cannot
// make reproducibly: the list of a program's components, the container image, the
// formula for Homebrew and the changelog. .goreleaser.yaml and make release call
// it:
//
//	release sbom PROGRAM FILE
//	release image -arch amd64 -version v1.2.3 -created 2026-11-23T07:13:45Z PROGRAM FILE
//	release formula -version v1.2.3 CHECKSUMS FILE
//	release changelog -version v1.2.3 -created 2026-11-23T07:13:45Z -maintainer "NAME <ADDRESS>" FILE
//
// Its output depends only on its input, not on the clock, the host or the user.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("it needs one of sbom, image, formula")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	version := flags.String("version", "", "the release, without a v before it")
	arch := flags.String("arch", "", "the processor, as Go calls it")
	created := flags.String("created", "", "the time of the commit, as RFC 3339 has it")
	maintainer := flags.String("maintainer", "", "who answers for the package: NAME <ADDRESS>")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339, *created)
	if err != nil && *created != "" {
		return err
	}
	number := strings.TrimPrefix(*version, "v")
	from := flags.Arg(0)
	if args[0] != "changelog" && flags.NArg() != 2 || args[0] == "changelog" && flags.NArg() != 1 {
		return fmt.Errorf("%s needs what it reads and what it writes", args[0])
	}
	return write(flags.Arg(flags.NArg()-1), func(w io.Writer) error {
		switch args[0] {
		case "sbom":
			return writeParts(w, from)
		case "formula":
			return writeFormula(w, from, number)
		case "image":
			return writeImage(w, from, image{*arch, number, at.UTC()})
		case "changelog":
			return writeChangelog(w, number, *maintainer, at.UTC())
		default:
			return fmt.Errorf("there is no %q", args[0])
		}
	})
}

// write writes a file after all of its content is known.
func write(path string, content func(io.Writer) error) error {
	var all bytes.Buffer
	if err := content(&all); err != nil {
		return err
	}
	return os.WriteFile(path, all.Bytes(), 0o644)
}
