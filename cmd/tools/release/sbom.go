package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
)

// The part of CycloneDX 1.6 that a program of Go modules needs.
type (
	bom struct {
		Format       string       `json:"bomFormat"`
		SpecVersion  string       `json:"specVersion"`
		Version      int          `json:"version"`
		Metadata     bomMetadata  `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	bomMetadata struct {
		Component component `json:"component"`
	}
	component struct {
		Type       string     `json:"type"`
		Reference  string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		URL        string     `json:"purl"`
		Properties []property `json:"properties,omitempty"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	dependency struct {
		Reference string   `json:"ref"`
		DependsOn []string `json:"dependsOn"`
	}
)

// writeParts writes what a program is made of: the modules that the linker put
// into it, with their sums as go.sum has them, and Go itself.
func writeParts(w io.Writer, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("reading what %s is made of: %w", program, err)
	}
	main := partOf("application", &info.Main)
	main.Properties = settingsOf(info)
	all := bom{Format: "CycloneDX", SpecVersion: "1.6", Version: 1, Metadata: bomMetadata{main}}
	all.Components = append(all.Components, partOf("library", &debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		all.Components = append(all.Components, partOf("library", m))
	}
	on := dependency{Reference: main.Reference}
	for _, c := range all.Components {
		on.DependsOn = append(on.DependsOn, c.Reference)
	}
	all.Dependencies = []dependency{on}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(all)
}

func partOf(kind string, m *debug.Module) component {
	url := "pkg:golang/" + m.Path + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
	if m.Version == "" || m.Version == "(devel)" {
		url = "pkg:golang/" + m.Path
	}
	c := component{Type: kind, Reference: url, Name: m.Path, Version: m.Version, URL: url}
	if m.Sum != "" {
		c.Properties = []property{{"go:sum", m.Sum}}
	}
	return c
}

// settingsOf returns how the program was built, but for the linker's flags, which
// only name release and commit.
func settingsOf(info *debug.BuildInfo) (all []property) {
	for _, s := range info.Settings {
		if !strings.Contains(s.Key, "ldflags") {
			all = append(all, property{"go:build:" + s.Key, s.Value})
		}
	}
	return all
}
