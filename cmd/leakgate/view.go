package main

import (
	"bytes"
	stdcontext "context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/pprof/driver"
	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/flamegraph"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/internal/wholefile"
)

// viewOptions is the command line of leakgate view.
type viewOptions struct {
	address string // -http
	objects bool
	output  string // -o
	test    string
	source  string
}

func (o *viewOptions) flagSet() *flag.FlagSet {
	f := newFlagSet("view")
	f.StringVar(&o.address, "http", "localhost:0", "")
	f.StringVar(&o.output, "o", "", "")
	f.BoolVar(&o.objects, "objects", false, "")
	f.StringVar(&o.test, "test", "", "")
	return f
}

func parseView(args []string) (*viewOptions, error) {
	o := new(viewOptions)
	rest, err := parseMixed(o.flagSet(), args)
	if err != nil {
		return nil, err
	}
	switch len(rest) {
	case 0:
		o.source = artifacts.DefaultName
	case 1:
		o.source = rest[0]
	default:
		return nil, fmt.Errorf("one report or profile at a time, not %s too", rest[1])
	}
	switch filepath.Ext(o.output) {
	case ".svg", ".html":
	default:
		if o.output != "" {
			return nil, fmt.Errorf("-o %s: its name must end in .svg or .html", o.output)
		}
	}
	host, _, err := net.SplitHostPort(o.address)
	if err != nil {
		return nil, fmt.Errorf("-http %s: it must be host:port, such as localhost:8080", o.address)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("-http %s: the page shows what a program has in memory, so it is served to this machine only: use localhost", o.address)
	}
	return o, nil
}

// viewProfile is the command "leakgate view".
func viewProfile(c *context, args []string) int {
	o, err := parseView(args)
	if err != nil {
		return c.unparsed(err, "view")
	}
	if err := o.view(c); err != nil {
		return c.failure("%v", err)
	}
	return exitPass
}

func (o *viewOptions) view(c *context) error {
	path, title, err := o.choose(c.stdout)
	if err != nil {
		return err
	}
	p, err := readProfileFile(path)
	if err != nil {
		return err
	}
	if o.output != "" {
		return o.draw(p, title)
	}
	ctx, stop := signal.NotifyContext(stdcontext.Background(), os.Interrupt)
	defer stop()
	return o.serve(ctx, c, p)
}

// choose returns the profile to show: the source itself, or that of an assertion of the run, a failed one first.
func (o *viewOptions) choose(w io.Writer) (path, title string, err error) {
	c, err := readComparand(o.source)
	if err != nil {
		return "", "", err
	}
	if c.profile != nil {
		return o.source, o.source, nil
	}
	var best *outcome.Assertion
	count := 0
	for _, p := range c.run.Packages {
		for _, a := range p.Assertions {
			if a.Artifacts["retained"] == "" || !strings.Contains(p.ImportPath+"."+a.Test, o.test) {
				continue
			}
			count++
			if best == nil || best.Verdict != verdict.Fail && a.Verdict == verdict.Fail {
				best = a
			}
		}
	}
	if best == nil {
		return "", "", fmt.Errorf("%s has no profile of an assertion%s: those that pass have one with leakgate run -artifacts all", o.source, o.ofTest())
	}
	title = fmt.Sprintf("%s.%s", best.Package, best.Test)
	if count > 1 {
		fmt.Fprintf(w, "%s, one of %d profiles; -test chooses\n", title, count)
	}
	return filepath.Join(c.dir, filepath.FromSlash(best.Artifacts["retained"])), title, nil
}

func (o *viewOptions) ofTest() string {
	if o.test == "" {
		return ""
	}
	return fmt.Sprintf(" in a test with %q in its name", o.test)
}

// draw writes the flame graph.
func (o *viewOptions) draw(p *profile.Profile, title string) error {
	unit := "bytes"
	if o.objects {
		unit = "count"
	}
	g, err := flamegraph.New(p, unit, title)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	write := g.HTML
	if filepath.Ext(o.output) == ".svg" {
		write = g.SVG
	}
	if err := write(&b); err != nil {
		return err
	}
	return wholefile.WriteData(o.output, 0o666, b.Bytes())
}

// serve shows the profile in pprof's web interface until ctx ends.
func (o *viewOptions) serve(ctx stdcontext.Context, c *context, p *profile.Profile) error {
	listener, err := net.Listen("tcp", o.address)
	if err != nil {
		return err
	}
	index := "inuse_space"
	if o.objects {
		index = "inuse_objects"
	}
	return driver.PProf(&driver.Options{
		Flagset: newPprofFlags("-http="+listener.Addr().String(), "-no_browser", "-sample_index="+index, "profile"),
		Fetch:   fixedProfile{p},
		UI:      quietUI{c.stderr},
		Sym:     noSymbols{},
		HTTPServer: func(args *driver.HTTPServerArgs) error {
			fmt.Fprintf(c.stdout, "http://%s/ui/flamegraph (Ctrl-C ends it)\n", listener.Addr())
			return serveHandlers(ctx, listener, args.Handlers)
		},
	})
}

// serveHandlers serves pprof's pages below /ui, where they expect to be.
func serveHandlers(ctx stdcontext.Context, listener net.Listener, handlers map[string]http.Handler) error {
	mux := http.NewServeMux()
	for path, h := range handlers {
		mux.Handle("/ui"+path, h)
	}
	mux.Handle("/", http.RedirectHandler("/ui/flamegraph", http.StatusTemporaryRedirect))
	host := listener.Addr().String()
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A page of somebody else's must not read ours through a name that it makes point here.
		if name, _, err := net.SplitHostPort(r.Host); r.Host != host && (err != nil || name != "localhost") {
			http.Error(w, "ask for "+host, http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// fixedProfile gives pprof the profile that is there already.
type fixedProfile struct{ profile *profile.Profile }

// Fetch implements driver.Fetcher.
func (f fixedProfile) Fetch(string, time.Duration, time.Duration) (*profile.Profile, string, error) {
	return f.profile.Copy(), "", nil
}

// noSymbols leaves a profile as it is: its names are complete.
type noSymbols struct{}

// Symbolize implements driver.Symbolizer.
func (noSymbols) Symbolize(string, driver.MappingSources, *profile.Profile) error { return nil }

// quietUI takes what pprof has to say.
type quietUI struct{ w io.Writer }

// ReadLine implements driver.UI.
func (quietUI) ReadLine(string) (string, error) { return "", io.EOF }

// Print implements driver.UI: pprof's chatter is of no use here.
func (quietUI) Print(...any) {}

// PrintErr implements driver.UI.
func (u quietUI) PrintErr(args ...any) { fmt.Fprintln(u.w, args...) }

// IsTerminal implements driver.UI.
func (quietUI) IsTerminal() bool { return false }

// WantBrowser implements driver.UI.
func (quietUI) WantBrowser() bool { return false }

// SetAutoComplete implements driver.UI.
func (quietUI) SetAutoComplete(func(string) string) {}

// pprofFlags are a command line for pprof.
type pprofFlags struct {
	*flag.FlagSet
	args []string
}

func newPprofFlags(args ...string) *pprofFlags {
	f := newFlagSet("pprof")
	return &pprofFlags{f, args}
}

// StringList implements driver.FlagSet.
func (f *pprofFlags) StringList(name, value, usage string) *[]*string {
	return &[]*string{f.String(name, value, usage)}
}

// ExtraUsage implements driver.FlagSet.
func (f *pprofFlags) ExtraUsage() string { return "" }

// AddExtraUsage implements driver.FlagSet.
func (f *pprofFlags) AddExtraUsage(string) {}

// Parse implements driver.FlagSet.
func (f *pprofFlags) Parse(func()) []string {
	if err := f.FlagSet.Parse(f.args); err != nil {
		return nil
	}
	return f.Args()
}
