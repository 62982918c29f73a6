package main

import (
	_ "embed" // for the formula
	"fmt"
	"io"
	"os"
	"strings"
	"text/template"
)

//go:embed memtop.rb.tmpl
var formula string

// writeFormula fills the formula with the checksums of a release.
func writeFormula(w io.Writer, checksums, version string) error {
	list, err := os.ReadFile(checksums)
	if err != nil {
		return err
	}
	sums := make(map[string]string)
	for line := range strings.Lines(string(list)) {
		if fields := strings.Fields(line); len(fields) == 2 {
			sums[fields[1]] = fields[0]
		}
	}
	t, err := template.New("formula").Funcs(template.FuncMap{
		"platform": func(system, arch string) map[string]string {
			return map[string]string{"platform": system + "_" + arch, "arch": arch, "version": version}
		},
		"archive": func(platform string) string { return "memtop_" + version + "_" + platform + ".tar.gz" },
		"sum": func(archive string) (string, error) {
			if sums[archive] == "" {
				return "", fmt.Errorf("%s has no sum of %s", checksums, archive)
			}
			return sums[archive], nil
		},
	}).Parse(formula)
	if err != nil {
		return err
	}
	return t.Execute(w, map[string]string{"Version": version})
}
