// Package tui draws a trace on a terminal. It knows traces and analyses, but no
// files, processes or engines: the program that starts it passes functions that
// load the data.
//
// There is one tea.Model, [Model]. Everything under it is a pointer with
// Update and View. The rules that keep it fast and calm are in RULES.md.
package tui
