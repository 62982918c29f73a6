package screen

import (
	"image/color"

	"charm.land/lipgloss/v2"
)

// palette is a set of colours that the user can choose.
type palette struct {
	name, about string
	ground      ground
	dark        colours
	light       colours // used on a light background, where dark is unreadable
}

// ground is the background for which a palette is made.
type ground uint8

const (
	anyGround ground = iota // memtop asks the terminal
	darkGround
	lightGround
)

// colours are colours by role, nil for the terminal's own.
type colours [roleCount]color.Color

// palettes have all colours of memtop. The first is the default.
//
// Bands are light enough for dark text. Those for all eyes differ by at least 0.09 in
// OKLab, seen normally or without one of the three kinds of cones, neighbours by 0.17:
// they were found by a search, and a test measures them.
var palettes = []palette{
	{"default", "as the terminal's background needs it", anyGround, usual, usualOnLight},
	{"dark", "the same, for a dark background", darkGround, usual, usualOnLight},
	{"light", "the same, for a light background", lightGround, usual, usualOnLight},
	{"contrast", "texts of at least 7:1 against the background", anyGround, strong, strongOnLight},
	{"color-blind", "told apart without red, green or blue cones", anyGround, forAll, forAllOnLight},
}

// Palettes returns the names of all palettes, the default first, and the purpose
// of each.
func Palettes() (names, about []string) {
	for _, p := range palettes {
		names, about = append(names, p.name), append(about, p.about)
	}
	return names, about
}

var (
	usual = of(colours{}, map[Role]string{
		Muted: "#8a8f98", Accent: "#5fafd7", Good: "#6fbf73", Warning: "#e0a030", Alarm: "#f0524f",
		OnBand: "#16181c", Held: "#6b7280", Pending: "#d98e8b", Rest: "#9aa0a6", Selection: "#2f4a68",
	}, "#5b8fd0", "#f2a14a", "#b583c9", "#63b8a5", "#f3a6b5", "#e7cf58", "#a98467", "#e2736f", "#8cc265", "#6fc7de", "#f7f3a8", "#a9b0ba")
	usualOnLight = of(colours{}, map[Role]string{
		Muted: "#6b7078", Accent: "#1f6fa8", Good: "#2e7d32", Warning: "#a86400", Alarm: "#c62828", Selection: "#cfe3f7",
	})

	strong = of(colours{}, map[Role]string{
		Muted: "#c8c8c8", Accent: "#6cd0ff", Good: "#5df05d", Warning: "#ffd000", Alarm: "#ff8f8f",
		OnBand: "#000000", Held: "#a8b0bc", Pending: "#ffb3b0", Rest: "#c4c9d0", Selection: "#003a80",
	}, "#7fb2ff", "#ffb366", "#d9a3f0", "#5fe0c4", "#ffb8c8", "#ffec70", "#d9b48f", "#ff9a94", "#a8f070", "#8fe6ff", "#fc6c0c", "#d0d6de")
	strongOnLight = of(colours{}, map[Role]string{
		Muted: "#404040", Accent: "#003c8f", Good: "#005a00", Warning: "#6b4000", Alarm: "#9b0000", Selection: "#ffe27a",
	})

	forAll = of(usual, map[Role]string{
		Good: "#56b4e9", Warning: "#f0e442", Alarm: "#ff6a3d",
	}, "#2cb0fd", "#eac41c", "#169356", "#f1f542", "#e7931b", "#9863ff", "#d1cdff", "#f9001d", "#1be88c", "#be6ab4", "#c7fef3", "#a9b0ba")
	forAllOnLight = of(usualOnLight, map[Role]string{
		Good: "#0057c2", Warning: "#8a6400", Alarm: "#5c0012",
	})
)

// of returns colours with some replaced by the given codes.
func of(c colours, roles map[Role]string, bands ...string) colours {
	for role, code := range roles {
		c[role] = lipgloss.Color(code)
	}
	for i, code := range bands {
		c[Band(i)] = lipgloss.Color(code)
	}
	return c
}
