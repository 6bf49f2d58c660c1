// Package comment is the command that keeps one comment on a pull request.
package comment

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/pullrequest"
)

// Options is the command line of leakgate comment.
type Options struct {
	key    string
	link   string
	report string
}

// FlagSet binds the flags to o.
func (o *Options) FlagSet() *flag.FlagSet {
	f := cli.NewFlagSet("comment")
	f.StringVar(&o.key, "key", "", "")
	f.StringVar(&o.link, "link", "", "")
	return f
}

// Parse reads the command line.
func Parse(args []string) (*Options, error) {
	o := new(Options)
	rest, err := cli.ParseMixed(o.FlagSet(), args)
	switch {
	case err != nil:
		return nil, err
	case len(rest) > 1:
		return nil, errors.New("comment takes one report")
	case strings.ContainsAny(o.key, "<>\n") || strings.Contains(o.key, "--"):
		return nil, fmt.Errorf("-key %q: it may not contain <, >, -- or a new line", o.key)
	}
	o.report = artifacts.DefaultName
	if len(rest) == 1 {
		o.report = rest[0]
	}
	return o, nil
}

// Run is the command "leakgate comment".
func Run(c *cli.Context, args []string) int {
	o, err := Parse(args)
	if err != nil {
		return c.Unparsed(err, "comment")
	}
	run, err := outcome.Read(o.report)
	if err != nil {
		return c.Failure("%v", err)
	}
	env := func(name string) string { return cli.Lookup(c.Env, name) }
	thread, err := pullrequest.Open(env)
	if errors.Is(err, pullrequest.ErrNoPullRequest) {
		fmt.Fprintf(c.Stdout, "no comment: %v\n", err)
		return cli.Pass
	}
	if err != nil {
		return c.Failure("%v", err)
	}
	body, err := o.body(run, env)
	if err != nil {
		return c.Failure("%v", err)
	}
	done, err := pullrequest.Put(context.Background(), thread, o.marker(), body, run.Outcome == outcome.Pass)
	if err != nil {
		return c.Failure("%v", err)
	}
	if done == pullrequest.Needless {
		fmt.Fprintln(c.Stdout, "no comment: all passed, and there is none of an earlier run to edit")
	} else {
		fmt.Fprintf(c.Stdout, "comment %s\n", done)
	}
	return cli.Pass
}

// marker returns the first line of the comment, by which a later run finds it.
func (o *Options) marker() string {
	if o.key == "" {
		return present.Marker
	}
	return strings.Replace(present.Marker, " -->", " "+o.key+" -->", 1)
}

// body returns the run as Markdown, with a link to the page and the profiles.
func (o *Options) body(run *outcome.Run, env func(string) string) (string, error) {
	end := ""
	if link := o.artifactsLink(env); link != "" {
		end = fmt.Sprintf("\n[Page, profiles and reports of this run](%s)\n", link)
	}
	var b strings.Builder
	if err := (present.Markdown{Size: present.CommentSize - len(end)}).Present(&b, run); err != nil {
		return "", err
	}
	return strings.TrimPrefix(b.String(), present.Marker+"\n") + end, nil
}

// artifactsLink returns the address where CI keeps the run's artifacts; "" if it is not known.
func (o *Options) artifactsLink(env func(string) string) string {
	switch {
	case o.link != "":
		return o.link
	case env("GITHUB_RUN_ID") != "" && env("GITHUB_SERVER_URL") != "":
		return fmt.Sprintf("%s/%s/actions/runs/%s#artifacts", env("GITHUB_SERVER_URL"), env("GITHUB_REPOSITORY"), env("GITHUB_RUN_ID"))
	case env("CI_JOB_URL") != "":
		return env("CI_JOB_URL") + "/artifacts/browse"
	}
	return ""
}
