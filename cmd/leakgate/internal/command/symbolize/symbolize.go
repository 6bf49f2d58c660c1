// Package symbolize is the command that names the functions in profiles of native memory.
package symbolize

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/native/dump"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/native/symbolize"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/page"
)

// Options is the command line of leakgate symbolize.
type Options struct {
	collapsed string
	debug     string
	html      string
	jit       string
	maps      string
	output    string // -o
	perfMap   string
	root      string
	top       cli.Top
	source    string
}

// FlagSet binds the flags to o.
func (o *Options) FlagSet() *flag.FlagSet {
	f := cli.NewFlagSet("symbolize")
	f.StringVar(&o.collapsed, "collapsed", "", "")
	f.StringVar(&o.debug, "debug", "/usr/lib/debug", "")
	f.StringVar(&o.html, "html", "", "")
	f.StringVar(&o.jit, "jit", "", "")
	f.StringVar(&o.maps, "maps", "", "")
	f.StringVar(&o.output, "o", "", "")
	f.StringVar(&o.perfMap, "perf-map", "", "")
	f.StringVar(&o.root, "root", "", "")
	o.top.Register(f)
	return f
}

// Parse reads the command line. The error is flag.ErrHelp if help was asked for.
func Parse(args []string) (*Options, error) {
	o := new(Options)
	rest, err := cli.ParseMixed(o.FlagSet(), args)
	switch {
	case err != nil:
		return nil, err
	case len(rest) == 0:
		return nil, errors.New("name a profile: what gperftools, tcmalloc or jemalloc wrote, or one of pprof's format")
	case len(rest) > 1:
		return nil, fmt.Errorf("one profile at a time, not %s too", rest[1])
	case o.output != "" && o.output == o.html:
		return nil, fmt.Errorf("-o and -html both name %s", o.output)
	}
	o.source = rest[0]
	return o, nil
}

// Run is the command "leakgate symbolize".
func Run(c *cli.Context, args []string) int {
	o, err := Parse(args)
	if err != nil {
		return c.Unparsed(err, "symbolize")
	}
	c = c.Plain()
	f, result, err := o.symbolize(c)
	if err != nil {
		return c.Failure("%v", err)
	}
	if err := o.write(f); err != nil {
		return c.Failure("%v", err)
	}
	if err := show(c.Stdout, f, result, int(o.top)); err != nil {
		return c.Failure("%v", err)
	}
	if result.Named == 0 && result.Addresses > 0 {
		c.Failure("could not tell: none of the %d addresses in %s has a name", result.Addresses, o.source)
		return cli.Unknown
	}
	return cli.Pass
}

// symbolize reads all files and names what it can. It prints oddities to standard error, as notes.
func (o *Options) symbolize(c *cli.Context) (*dump.HeapProfile, *symbolize.Result, error) {
	data, err := cli.ReadFile(o.source)
	if err != nil {
		return nil, nil, err
	}
	f, err := dump.ParseHeapProfile(data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", o.source, err)
	}
	s, notes, err := o.sources(f)
	if err != nil {
		return nil, nil, err
	}
	for _, note := range append(f.Notes, notes...) {
		fmt.Fprintf(c.Stderr, "leakgate: note: %s\n", note)
	}
	result, err := symbolize.Apply(f, s)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", o.source, err)
	}
	return f, result, nil
}

// sources reads the files that the flags name.
func (o *Options) sources(f *dump.HeapProfile) (*symbolize.Sources, []string, error) {
	s := &symbolize.Sources{Root: o.root}
	if o.debug != "" {
		s.DebugDirs = filepath.SplitList(o.debug)
	}
	// In pprof's format each location has its mapping.
	if f.Format != dump.Pprof {
		s.Maps = f.Maps
	}
	if o.maps != "" {
		data, err := cli.ReadFile(o.maps)
		if err == nil {
			s.Maps, err = dump.ParseMaps(data)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("-maps %s: %w", o.maps, err)
		}
	}
	var notes []string
	if o.perfMap != "" {
		data, err := cli.ReadFile(o.perfMap)
		broken := 0
		if err == nil {
			s.PerfMap, broken, err = symbolize.ParsePerfMap(data)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("-perf-map %s: %w", o.perfMap, err)
		}
		if broken > 0 {
			notes = append(notes, fmt.Sprintf("-perf-map %s: %d lines are not of the form \"begin size name\", and were left out", o.perfMap, broken))
		}
	}
	if o.jit != "" {
		found, err := o.generated(s, f.Maps)
		if err != nil {
			return nil, nil, fmt.Errorf("-jit %s: %w", o.jit, err)
		}
		notes = append(notes, found...)
	}
	return s, notes, nil
}

// generated reads the symbols of generated code from -jit: a folder or a core file.
func (o *Options) generated(s *symbolize.Sources, ofProfile []*dump.Mapping) (notes []string, err error) {
	info, err := os.Stat(o.jit)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		code, err := symbolize.ReadGenerated(o.jit)
		if err != nil {
			return nil, err
		}
		s.Generated = append(s.Generated, code)
		notes = code.Notes
	case dump.IsCore(o.jit):
		if notes, err = symbolize.ReadCore(o.jit, s, ofProfile); err != nil {
			return nil, err
		}
	default:
		return nil, errors.New("it is neither a folder with objects nor a core file (what gcore writes)")
	}
	for i, note := range notes {
		notes[i] = fmt.Sprintf("-jit %s: %s", o.jit, note)
	}
	return notes, nil
}

// write writes -o, -collapsed and -html, each whole or not at all.
func (o *Options) write(f *dump.HeapProfile) error {
	if o.output != "" {
		var b bytes.Buffer
		if err := f.Profile.Write(&b); err != nil {
			return err
		}
		if err := cli.WriteData(o.output, b.Bytes()); err != nil {
			return err
		}
	}
	if o.collapsed != "" {
		if err := cli.WriteFile(o.collapsed, func(w io.Writer) error { return dump.WriteCollapsed(w, f.Profile) }); err != nil {
			return err
		}
	}
	if o.html == "" {
		return nil
	}
	p := f.Profile.Copy()
	p.RemoveUninteresting()
	data, err := page.Profile(p, filepath.Base(o.source), cli.Version())
	if err != nil {
		return fmt.Errorf("-html: %w", err)
	}
	return cli.WriteFile(o.html, data.Write)
}
