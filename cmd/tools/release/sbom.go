package main

import (
	"debug/buildinfo"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// writeParts writes the components of a program: the modules that the linker put
// into it, with their sums as in go.sum, and Go itself.
func writeParts(w io.Writer, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("reading what %s is made of: %w", program, err)
	}
	main := partOf(cdx.ComponentTypeApplication, &info.Main)
	main.Properties = settingsOf(info)
	parts := []cdx.Component{partOf(cdx.ComponentTypeLibrary, &debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")})}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		parts = append(parts, partOf(cdx.ComponentTypeLibrary, m))
	}
	on := make([]string, len(parts))
	for i := range parts {
		on[i] = parts[i].BOMRef
	}
	all := cdx.NewBOM()
	all.Metadata = &cdx.Metadata{Component: &main}
	all.Components, all.Dependencies = &parts, &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &on}}
	return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).EncodeVersion(all, cdx.SpecVersion1_6)
}

func partOf(kind cdx.ComponentType, m *debug.Module) cdx.Component {
	url := "pkg:golang/" + m.Path + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
	if m.Version == "" || m.Version == "(devel)" {
		url = "pkg:golang/" + m.Path
	}
	c := cdx.Component{Type: kind, BOMRef: url, Name: m.Path, Version: m.Version, PackageURL: url}
	if m.Sum != "" {
		c.Properties = &[]cdx.Property{{Name: "go:sum", Value: m.Sum}}
	}
	return c
}

// settingsOf returns the build settings of the program, without the linker's
// flags, which only name release and commit.
func settingsOf(info *debug.BuildInfo) *[]cdx.Property {
	var all []cdx.Property
	for _, s := range info.Settings {
		if !strings.Contains(s.Key, "ldflags") {
			all = append(all, cdx.Property{Name: "go:build:" + s.Key, Value: s.Value})
		}
	}
	return &all
}
