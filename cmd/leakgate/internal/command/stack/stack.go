// Package stack is the command that says which functions use goroutine stack memory.
package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/internal/wholefile"
	"github.com/leakgate/leakgate/stackprof"
)

const (
	// fetchTime bounds how long a process may take for its profile; the first one may have to find
	// debug information.
	fetchTime = 3 * time.Minute
)

// Options is the command line of leakgate stack.
type Options struct {
	count  int    // -n
	output string // -o
	growth bool   // -growth
	source string
}

// Parse reads the command line.
func Parse(args []string) (*Options, error) {
	var o Options
	f := cli.NewFlagSet("stack")
	f.IntVar(&o.count, "n", 20, "")
	f.StringVar(&o.output, "o", "", "")
	f.BoolVar(&o.growth, "growth", false, "")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case f.NArg() == 0:
		return nil, errors.New("name a profile: a file, or the address of a server's /debug/pprof/stackmem")
	case f.NArg() > 1:
		return nil, fmt.Errorf("one profile at a time, not %s too (flags stand before it)", f.Arg(1))
	case o.count < 0:
		return nil, fmt.Errorf("-n %d is no number of functions", o.count)
	}
	o.source = f.Arg(0)
	return &o, nil
}

// Run is the command "leakgate stack".
func Run(c *cli.Context, args []string) int {
	o, err := Parse(args)
	if err != nil {
		return c.Unparsed(err, "stack")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.show(ctx, c.Stdout); err != nil {
		c.Failure("%v", err)
		return cli.Unknown
	}
	return cli.Pass
}

// show reads the profile, writes it to -o and prints its functions.
func (o *Options) show(ctx context.Context, w io.Writer) error {
	data, err := readProfile(ctx, o.source)
	if err != nil {
		return err
	}
	p, err := cli.ParseProfile(data)
	if err != nil {
		return fmt.Errorf("%s is no profile: %w", o.source, err)
	}
	if o.growth {
		return o.showGrowth(w, p)
	}
	top, err := topFunctions(p)
	if err != nil {
		return fmt.Errorf("%s: %w", o.source, err)
	}
	if o.output != "" {
		if err := cli.WriteData(o.output, data); err != nil {
			return err
		}
	}
	return stackprof.WriteTable(w, top, o.count)
}

func readProfile(ctx context.Context, source string) ([]byte, error) {
	if strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://") {
		return fetchProfile(ctx, source)
	}
	return cli.ReadFile(source)
}

func fetchProfile(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		// The handler's text says what is wrong.
		text, _ := io.ReadAll(io.LimitReader(response.Body, 2000))
		return nil, fmt.Errorf("%s: %s: %s", url, response.Status, strings.TrimSpace(string(text)))
	}
	return wholefile.ReadAll(response.Body, url, wholefile.Most)
}
