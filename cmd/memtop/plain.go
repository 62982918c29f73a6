package main

import (
	"os"
	"strings"
)

// # Plain terminals
//
// memtop draws with ASCII by default if the locale is not Unicode's or the
// terminal has only ASCII. If no locale is set, it draws with Unicode: most
// containers set none, and the terminal outside of them has Unicode. Flags, the
// environment and the configuration override this.

// plainDefault returns "true" for a flag that this terminal needs, else "".
func plainDefault(flag string) string {
	kind := plainKind(os.Getenv("TERM"))
	switch {
	case flag == "ascii" && (kind || asciiLocale(os.Getenv)), flag == "no-mouse" && kind:
		return "true"
	}
	return ""
}

// plainKind reports whether terminals of a kind have ASCII and no mouse.
func plainKind(kind string) bool {
	switch kind {
	case "dumb", "unknown", "ansi", "cons25":
		return true
	}
	digit := strings.TrimPrefix(kind, "vt")
	return digit != kind && digit != "" && digit[0] >= '0' && digit[0] <= '9'
}

// asciiLocale reports whether the locale has no Unicode. The first variable that
// is set holds, as for every program.
func asciiLocale(getenv func(string) string) bool {
	for _, name := range [...]string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(getenv(name)); value != "" {
			return !strings.Contains(value, "utf-8") && !strings.Contains(value, "utf8")
		}
	}
	return false
}
