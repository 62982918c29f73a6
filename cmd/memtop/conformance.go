package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/probe/conformance"
)

func (a *app) conformanceCommand() *cobra.Command {
	var o conformance.Options
	cmd := &cobra.Command{
		Use:   "conformance PID|SOCKET",
		Short: "Check a probe against docs/protocol.md, rule by rule",
		Long: `Check whether the probe of a process keeps the rules of docs/protocol.md, as far as
a viewer can tell. memtop watches several streams at once, sends every request that
the protocol has, and some that are malformed. Each rule is passed, broken or not
seen; for a broken rule memtop prints what it saw and what the page requires. The
exit code is 1 if a rule is broken.

This costs the process as much as a few viewers. memtop sets one setting to the
value that it already has.`,
		Example: `  memtop conformance 4711
  memtop conformance /run/user/1000/memtop/4711-123456.sock --json`,
		Args: oneProcess(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.For < time.Second || o.For > time.Hour {
				return usage(cmd, fmt.Sprintf("--for %v is not between 1s and 1h", o.For))
			}
			return a.conformance(cmd.Context(), args[0], o)
		},
	}
	f := cmd.Flags()
	a.settings.jsonFlag(f)
	f.DurationVar(&o.For, "for", conformance.DefaultFor, "how long to watch, 1s to 1h")
	return cmd
}

// conformance tests a probe and prints the results.
func (c *console) conformance(ctx context.Context, target string, o conformance.Options) error {
	r, err := conformance.Examine(ctx, target, o)
	if err != nil {
		return err
	}
	err = c.print(r)
	if err == nil && r.Broken > 0 {
		cause := "the probe breaks a rule of docs/protocol.md"
		if r.Broken > 1 {
			cause = fmt.Sprintf("the probe breaks %d rules of docs/protocol.md", r.Broken)
		}
		err = command.Failure{Code: command.ExitError, Cause: cause, Remedy: "mend it by what is wanted above"}
	}
	return err
}
