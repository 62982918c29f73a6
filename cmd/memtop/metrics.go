package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/probe/collector"
	"github.com/memtop/memtop/probe/exposition"
	"github.com/memtop/memtop/snapshots/cause"
)

// metricFormats are the values of --to.
var metricFormats = map[string]exposition.Format{"openmetrics": exposition.OpenMetrics, "text": exposition.Text}

func (a *app) metricsCommand() *cobra.Command {
	var listen, to string
	var remote bool
	names := slices.Sorted(maps.Keys(metricFormats))
	cmd := &cobra.Command{
		Use:   "metrics",
		Short: "Print or serve the metrics of every probe on this machine, for Prometheus",
		Long: `Print the metrics of every program with a probe on this machine: bytes allocated,
reserved and by category, steps, failed requests, the device's memory, and whether
each probe is up. --listen serves them at /metrics until Ctrl-C or SIGTERM. Each scrape
asks every program once. A program that does not answer within 3 seconds, or within
most of the scraper's timeout, counts as down.

Every user of this machine can connect to the port. They see these numbers and, as
labels, the pid, user, program, script, rank and job of each program, but no arguments.
Other machines can connect only if you listen on an address of the network and add
--allow-remote: there is no encryption and no password.`,
		Example: `  memtop metrics
  memtop metrics --to text > /var/lib/node_exporter/memtop.prom
  memtop metrics --listen 127.0.0.1:9400`,
		Args: files(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, known := metricFormats[to]
			switch {
			case !known:
				return usage(cmd, fmt.Sprintf("--to is %s, not %q", strings.Join(names, " or "), to))
			case listen == "":
				return a.printMetrics(cmd.Context(), format)
			}
			l, err := listenTCP(cmd, listen, remote)
			if err != nil {
				return err
			}
			return a.serveMetrics(cmd.Context(), l)
		},
	}
	f := cmd.Flags()
	f.StringVar(&listen, "listen", "", "serve at this `ADDRESS`, such as 127.0.0.1:9400")
	f.BoolVar(&remote, "allow-remote", false, "allow --listen on an address that other machines reach; there is no password")
	f.StringVar(&to, "to", "openmetrics", "`FORMAT` to print: "+strings.Join(names, ", "))
	complete(cmd, "to", names)
	return cmd
}

func (a *app) printMetrics(ctx context.Context, format exposition.Format) error {
	families, err := collector.New(a.gauges()).Collect(ctx, time.Minute)
	if err != nil {
		return err
	}
	return exposition.Write(a.stdout, format, families)
}

// listenTCP listens at an address, which must be this machine's own unless others
// are let in.
func listenTCP(cmd *cobra.Command, address string, remote bool) (net.Listener, error) {
	resolved, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, usage(cmd, fmt.Sprintf("%q is not an address to listen at, such as 127.0.0.1:9400", address))
	}
	if !resolved.IP.IsLoopback() && !remote {
		return nil, command.Usage(address+" is open to other machines", "127.0.0.1:9400, or --allow-remote if they may see it")
	}
	l, err := net.ListenTCP("tcp", resolved)
	if err != nil {
		return nil, listenError{address, err}
	}
	return l, nil
}

// listenError says that the system does not let memtop listen at an address.
type listenError struct {
	address string
	cause   error
}

func (e listenError) Error() string { return e.address + ": " + cause.Of(e.cause) }

// serveMetrics serves until ctx is done; that is not a failure.
func (a *app) serveMetrics(ctx context.Context, l net.Listener) error {
	command.GiveWay()
	fmt.Fprintf(a.stderr, "memtop: metrics are at http://%s/metrics; Ctrl-C ends it\n", l.Addr())
	return collector.New(a.gauges()).Serve(ctx, l)
}
