package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHostsAreNamedWithCommasOrWhiteSpace(t *testing.T) {
	for text, want := range map[string]hostList{
		"a": {"a"}, "a,b": {"a", "b"}, "a\nb\n": {"a", "b"}, "a, b\t,,c": {"a", "b", "c"}, "": nil, " ,\n": nil,
	} {
		var got hostList
		if err := got.Set(text); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
