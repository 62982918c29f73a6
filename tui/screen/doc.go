// Package screen turns the content of a page into terminal text: it has a grid of
// cells, all colours, all layout arithmetic, and the formats of sizes, counts and
// times.
//
// A page draws on a [Canvas], and at the end takes its text. A canvas has a fixed
// size and nothing can be drawn outside of it, so no page can return a line that
// is too long. The canvas makes text from files harmless: control characters
// never reach the terminal.
package screen
