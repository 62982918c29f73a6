// Package choice handles values with names. Flags, help, messages and viewers
// offer lists of them.
package choice

import (
	"fmt"
	"strings"
)

// Find returns the value with a name.
func Find[T fmt.Stringer](list []T, name string) (value T, ok bool) {
	for _, v := range list {
		if v.String() == name {
			return v, true
		}
	}
	return value, false
}

// Parse returns the value with a name. what says in the error whose name it is not,
// such as "attention".
func Parse[T fmt.Stringer](what string, list []T, name string) (T, error) {
	value, ok := Find(list, name)
	if !ok {
		return value, fmt.Errorf("%s %q: want %s", what, name, Or(list))
	}
	return value, nil
}

// Names returns the values' names.
func Names[T fmt.Stringer](list []T) []string {
	names := make([]string, len(list))
	for i, v := range list {
		names[i] = v.String()
	}
	return names
}

// Or returns the names of two or more values as "a, b or c".
func Or[T fmt.Stringer](list []T) string { return sentence(Names(list), " or ") }

// And returns the names of two or more values as "a, b and c".
func And[T fmt.Stringer](list []T) string { return sentence(Names(list), " and ") }

func sentence(names []string, last string) string {
	n := len(names) - 1
	return strings.Join(names[:n], ", ") + last + names[n]
}
