package main

import (
	stdcontext "context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/pullrequest"
)

// commentOptions is the command line of leakgate comment.
type commentOptions struct {
	key    string
	link   string
	report string
}

func (o *commentOptions) flagSet() *flag.FlagSet {
	f := newFlagSet("comment")
	f.StringVar(&o.key, "key", "", "")
	f.StringVar(&o.link, "link", "", "")
	return f
}

func parseComment(args []string) (*commentOptions, error) {
	o := new(commentOptions)
	rest, err := parseMixed(o.flagSet(), args)
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

// commentOnPullRequest is the command "leakgate comment".
func commentOnPullRequest(c *context, args []string) int {
	o, err := parseComment(args)
	if err != nil {
		return c.unparsed(err, "comment")
	}
	run, err := outcome.Read(o.report)
	if err != nil {
		return c.failure("%v", err)
	}
	env := func(name string) string { return lookup(c.env, name) }
	thread, err := pullrequest.Open(env)
	if errors.Is(err, pullrequest.ErrNoPullRequest) {
		fmt.Fprintf(c.stdout, "no comment: %v\n", err)
		return exitPass
	}
	if err != nil {
		return c.failure("%v", err)
	}
	body, err := o.body(run, env)
	if err != nil {
		return c.failure("%v", err)
	}
	done, err := pullrequest.Put(stdcontext.Background(), thread, o.marker(), body, run.Outcome == outcome.Pass)
	if err != nil {
		return c.failure("%v", err)
	}
	if done == pullrequest.Needless {
		fmt.Fprintln(c.stdout, "no comment: all passed, and there is none of an earlier run to edit")
	} else {
		fmt.Fprintf(c.stdout, "comment %s\n", done)
	}
	return exitPass
}

// marker is the first line of the comment, by which it is found again.
func (o *commentOptions) marker() string {
	if o.key == "" {
		return present.Marker
	}
	return strings.Replace(present.Marker, " -->", " "+o.key+" -->", 1)
}

// body is the run as Markdown, and a link to the page and the profiles.
func (o *commentOptions) body(run *outcome.Run, env func(string) string) (string, error) {
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

// artifactsLink is where CI keeps what the run has left.
func (o *commentOptions) artifactsLink(env func(string) string) string {
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
