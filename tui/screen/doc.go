// Package screen turns what a page wants to show into terminal text: a grid of
// cells, the one home of colours, the one home of layout arithmetic, and how
// sizes, counts and times are written.
//
// A page draws on a [Canvas] and asks it for its text at the end. A canvas is
// exactly as large as it was made and nothing can be drawn outside of it, so
// no page can return a line that is too long. Text that comes from a file is
// made harmless on the way in: control characters never reach the terminal.
package screen
