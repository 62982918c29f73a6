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
	var long time.Duration
	cmd := &cobra.Command{
		Use:   "conformance PID|SOCKET",
		Short: "Check a probe against docs/protocol.md, rule by rule",
		Long: `Check whether a probe keeps the rules of docs/protocol.md, as far as a viewer can
tell. This is for who writes a probe. memtop watches a stream, then asks for all that
the protocol has, and for some that makes no sense. A group of rules is passed, broken
or not seen; memtop prints what it saw first of a broken one. The exit code is 1 if a
rule is broken.

This costs the process as much as two viewers, and changes no setting.`,
		Example: `  memtop conformance 4711
  memtop conformance /run/user/1000/memtop/4711-123456.sock --json`,
		Args: oneProcess(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if long < time.Second || long > time.Hour {
				return usage(cmd, fmt.Sprintf("--for %v is not between 1s and 1h", long))
			}
			return a.conformance(cmd.Context(), args[0], long)
		},
	}
	f := cmd.Flags()
	a.settings.jsonFlag(f)
	f.DurationVar(&long, "for", conformance.DefaultFor, "how long to watch, 1s to 1h")
	return cmd
}

// conformance tests a probe and prints the results.
func (c *console) conformance(ctx context.Context, target string, long time.Duration) error {
	r, err := conformance.Examine(ctx, target, long)
	if err != nil {
		return err
	}
	err = c.print(r)
	if n := len(r.Broken()); err == nil && n > 0 {
		cause := "the probe breaks a rule of docs/protocol.md"
		if n > 1 {
			cause = fmt.Sprintf("the probe breaks %d groups of rules of docs/protocol.md", n)
		}
		err = command.Failure{Code: command.ExitError, Cause: cause, Remedy: "mend what is broken above"}
	}
	return err
}
